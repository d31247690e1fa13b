/** Bounds of one uploaded list. Source of the defaults: decision 37. */
export interface ListLimits {
  /** Size of the file as uploaded. */
  readonly uploadBytes: number
  /** Size of the file unpacked; `uploadBytes` when absent. */
  readonly unpackedBytes?: number
  readonly rows: number
  readonly columns: number
  /** A longer cell refuses its record. */
  readonly cellBytes: number
  /** A longer line (a record with its quoted line breaks) refuses its record. */
  readonly lineBytes: number
}

/** What decision 37 gives every list. */
export const DEFAULT_LIST_LIMITS: ListLimits = {
  uploadBytes: 512 * 1024 * 1024,
  rows: 5_000_000,
  columns: 200,
  cellBytes: 8 * 1024,
  lineBytes: 64 * 1024,
}
