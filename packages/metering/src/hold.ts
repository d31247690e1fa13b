import type { Product } from '@plumbline/contract/products'
import type { Tx } from '@plumbline/db/database'
import { sql } from 'kysely'
import type { InsufficientCredits } from './debit.ts'
import { assertCredits, assertKey } from './operation.ts'

// Within one transaction, settle before release, and release or hold after everything that may wait,
// as both lock the account.

/** A hold is granted in full or refused. */
export type HoldResult =
  | { readonly granted: true; readonly remaining: number }
  | InsufficientCredits

/** Credits to hold for a batch. */
export interface HoldRequest {
  readonly accountId: string
  /** Name of the hold; a repeat with the same credits returns the same result. */
  readonly ref: string
  readonly credits: number
  /**
   * The batch's product, for usage statistics of the settled credits; if left out, they are not
   * counted.
   */
  readonly product?: Product
}

/** A part of a hold to charge. */
export interface SettleRequest {
  readonly accountId: string
  readonly ref: string
  readonly credits: number
  /** Idempotency key of the operation. */
  readonly opKey: string
  /** Number of records that it pays for, for usage statistics; default 0. */
  readonly records?: number
}

/** A hold whose rest is to be released. */
export interface ReleaseRequest {
  readonly accountId: string
  readonly ref: string
  readonly opKey: string
}

/**
 * Holds credits in the caller's transaction, from the allowance first; locks the account until its
 * end. The whole hold counts toward the daily limit of its day; credits released on the same day
 * are deducted.
 */
export async function hold(tx: Tx, request: HoldRequest): Promise<HoldResult> {
  assertKey('ref', request.ref)
  assertCredits(request.credits, 0)
  const { rows } = await sql<{ granted: boolean; available: number }>`
    select granted, available
    from credit_hold(${request.accountId}, ${request.ref}, ${request.credits}, ${request.product ?? null})
  `.execute(tx)
  const [answer] = rows
  if (answer === undefined) throw new Error(`credit_hold returned no row for ${request.ref}`)
  return answer.granted
    ? { granted: true, remaining: answer.available }
    : {
        granted: false,
        available: answer.available,
        lacks: request.credits > answer.available ? 'balance' : 'daily_limit',
      }
}

/**
 * Charges a part of a hold in the caller's transaction; locks the hold, never the account.
 *
 * @returns false if the operation took effect before
 * @throws if the hold is closed or has less left: settling more than was held is a bug
 */
export async function settle(tx: Tx, request: SettleRequest): Promise<boolean> {
  assertKey('ref', request.ref)
  assertKey('opKey', request.opKey)
  assertCredits(request.credits, 0)
  const { rows } = await sql<{ settled: boolean }>`
    select credit_settle(${request.accountId}, ${request.ref}, ${request.opKey}, ${request.credits},
      ${request.records ?? 0}) as settled
  `.execute(tx)
  return rows[0]?.settled === true
}

/**
 * Closes a hold in the caller's transaction and returns its rest to the account; credits from the
 * allowance of an ended cycle expire.
 *
 * @returns credits that the hold had left, expired ones included; undefined if no hold of that name
 * is open
 */
export async function release(tx: Tx, request: ReleaseRequest): Promise<number | undefined> {
  assertKey('ref', request.ref)
  assertKey('opKey', request.opKey)
  const { rows } = await sql<{ released: number | null }>`
    select credit_release(${request.accountId}, ${request.ref}, ${request.opKey}) as released
  `.execute(tx)
  return rows[0]?.released ?? undefined
}
