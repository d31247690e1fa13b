import { UPLOAD_LIMITS, type LimitsOf } from '@plumbline/contract/limits'

/** Limits of one uploaded file. */
export interface UploadLimits {
  /** Bytes of the file as uploaded, and unpacked. */
  readonly uploadBytes: number
  readonly rows: number
  readonly columns: number
  /** Bytes of a cell; a longer one refuses its record. */
  readonly cellBytes: number
  /** Bytes of a record with its quoted line breaks; a longer one is refused. */
  readonly lineBytes: number
}

/**
 * Whether a text has more than this many bytes in UTF-8; counts them only if its length does not
 * tell.
 */
export function isOver(text: string, bytes: number): boolean {
  if (text.length > bytes) return true
  return text.length * 3 > bytes && Buffer.byteLength(text) > bytes
}

/** The cells of a record that exceeded the line limit and was skipped. */
export const TOO_LONG: readonly string[] = Object.freeze([])

/** The limits from the settings; defaults by decision 37. */
export function uploadLimits(
  settings: LimitsOf<typeof UPLOAD_LIMITS> = UPLOAD_LIMITS,
): UploadLimits {
  return {
    uploadBytes: settings.UPLOAD_LIMIT_BYTES,
    rows: settings.UPLOAD_LIMIT_ROWS,
    columns: settings.UPLOAD_LIMIT_COLUMNS,
    cellBytes: settings.CELL_LIMIT_BYTES,
    lineBytes: settings.LINE_LIMIT_BYTES,
  }
}
