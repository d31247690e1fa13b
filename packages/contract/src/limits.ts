const KIB = 1_024
const MIB = 1_024 * KIB
const GIB = 1_024 * MIB

/** Limits of one uploaded file: settings with their defaults. Source: decision 37. */
export const UPLOAD_LIMITS = {
  /** Bytes of the file as uploaded; the next limit is for the unpacked file. */
  UPLOAD_LIMIT_BYTES: 512 * MIB,
  UPLOAD_LIMIT_ROWS: 5_000_000,
  UPLOAD_LIMIT_COLUMNS: 200,
  /** A longer cell, or line with its quoted line breaks, refuses its record. */
  CELL_LIMIT_BYTES: 8 * KIB,
  LINE_LIMIT_BYTES: 64 * KIB,
} as const

/**
 * Limits of all batches of one account together: settings with their defaults. Source: decision 37.
 */
export const ACCOUNT_LIMITS = {
  /**
   * Rows that cost nothing, in a UTC day: those of test keys, and duplicate, known, blank and
   * refused rows.
   */
  UNPAID_ROWS_PER_DAY: 1_000_000,
} as const

/**
 * Limits of one account and one call: settings with their defaults. Source: decisions 31 and 37.
 */
export const CALL_LIMITS = {
  RATE_LIMIT_PER_SECOND: 50,
  RATE_LIMIT_BURST: 100,
  /** Requests with an invalid key that one address may send in a minute. */
  FAILED_KEYS_PER_MINUTE: 20,
  BODY_LIMIT_BYTES: 100 * KIB,
  /** Bytes of a batch that is sent as JSON records. */
  RECORDS_BODY_LIMIT_BYTES: 16 * MIB,
  RECORDS_LIMIT: 10_000,
  /** Nesting depth of arrays and objects in a JSON body. */
  JSON_DEPTH_LIMIT: 16,
  /** Keys of objects and items of arrays in a JSON body; in a batch, in each of its records. */
  JSON_KEYS_LIMIT: 100,
  UNFINISHED_BATCHES_LIMIT: 10,
  /**
   * Responses stored for repeats of calls that cost nothing, in a day, by their idempotency keys:
   * all but single calls of live keys.
   */
  UNPAID_RESPONSES_PER_DAY: 100_000,
  /** Bytes of the uploads and results of an account together. */
  STORED_LIMIT_BYTES: 5 * GIB,
  /**
   * Concurrent single calls of all accounts in one process; the next setting is for one account.
   */
  CALLS_LIMIT: 2_000,
  CALLS_PER_ACCOUNT: 300,
  /** Concurrent requests of one account in one process that have no limit of their own. */
  REQUESTS_PER_ACCOUNT: 16,
  /** Time-out of a single call, which then gets 504 and its credits back. */
  CALL_TIMEOUT_SECONDS: 15,
} as const

/** Values of the settings with these names. */
export type LimitsOf<Defaults> = { readonly [Name in keyof Defaults]: number }
