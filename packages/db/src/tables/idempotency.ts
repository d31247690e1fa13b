import type { KeyMode } from '@plumbline/contract/plans'

/** Stored responses for repeats of the same call. */
export interface IdempotencyTables {
  idempotency_keys: IdempotencyKeyRow
}

/** An idempotency key: while its call runs `status` is null, then its first 2xx response. */
export interface IdempotencyKeyRow {
  account_id: string
  mode: KeyMode
  /** Path of the request, without query. */
  path: string
  /** HMAC of the header's value. */
  key: string
  /** HMAC-SHA-256 of the request. */
  fingerprint: Buffer
  /** The run that holds the key. */
  op_key: string
  claimed_at: Date
  expires_at: Date
  status: number | null
  location: string | null
  /** Empty once its content was erased. */
  body: string | null
  /** The batch that the response shows. */
  batch_id: string | null
}
