import type { KeyMode } from '@plumbline/contract/plans'

/** Answers kept for repeats of the same call. */
export interface IdempotencyTables {
  idempotency_keys: IdempotencyKeyRow
}

/** The key of a call: while it runs `status` is null, then its first 2xx answer. */
export interface IdempotencyKeyRow {
  account_id: string
  mode: KeyMode
  /** The path as it was asked, without query. */
  path: string
  /** HMAC of what the client sent. */
  key: string
  /** HMAC-SHA-256 of the request. */
  fingerprint: Buffer
  /** The run that holds the key. */
  op_key: string
  claimed_at: Date
  expires_at: Date
  status: number | null
  location: string | null
  /** Empty once what it showed was erased. */
  body: string | null
  /** The batch that the answer shows. */
  batch_id: string | null
}
