import { UPLOAD_LIMITS, type LimitsOf } from '@plumbline/contract/limits'

/** Bounds of one uploaded file. */
export interface UploadLimits {
  /** Size of the file as uploaded, and unpacked. */
  readonly uploadBytes: number
  readonly rows: number
  readonly columns: number
  /** A longer cell refuses its record. */
  readonly cellBytes: number
  /** A longer line (a record with its quoted line breaks) refuses its record. */
  readonly lineBytes: number
}

/** Whether a text has more than so many bytes in UTF-8; counts them only where its length does not tell. */
export function isOver(text: string, bytes: number): boolean {
  if (text.length > bytes) return true
  return text.length * 3 > bytes && Buffer.byteLength(text) > bytes
}

/** The bounds that settings say; those of decision 37 where none are given. */
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
