import type { Product } from '@plumbline/contract/products'
import type { Tx } from '@plumbline/db/database'
import { sql } from 'kysely'
import type { Short } from './debit.ts'
import { assertCredits, assertKey } from './operation.ts'

/**
 * A hold is granted in full or refused. Within one transaction, settle before release, and release
 * or hold after everything that may wait, as both lock the account.
 */
export type HoldAnswer = { readonly granted: true; readonly remaining: number } | Short

/** Credits to hold for a batch. */
export interface HoldAsk {
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
export interface SettleAsk {
  readonly accountId: string
  readonly ref: string
  readonly credits: number
  /** Idempotency key of the operation. */
  readonly opKey: string
  /** Number of records that it pays for, for usage statistics; default 0. */
  readonly records?: number
}

/** A hold whose rest is to be released. */
export interface ReleaseAsk {
  readonly accountId: string
  readonly ref: string
  readonly opKey: string
}

/**
 * Holds credits in the caller's transaction, from the allowance first; locks the account until its
 * end. The whole hold counts toward the daily limit of its day; credits released on the same day
 * are deducted.
 */
export async function hold(tx: Tx, ask: HoldAsk): Promise<HoldAnswer> {
  assertKey('ref', ask.ref)
  assertCredits(ask.credits, 0)
  const { rows } = await sql<{ granted: boolean; available: number }>`
    select granted, available
    from credit_hold(${ask.accountId}, ${ask.ref}, ${ask.credits}, ${ask.product ?? null})
  `.execute(tx)
  const [answer] = rows
  if (answer === undefined) throw new Error(`credit_hold said nothing of ${ask.ref}`)
  return answer.granted
    ? { granted: true, remaining: answer.available }
    : {
        granted: false,
        available: answer.available,
        lacks: ask.credits > answer.available ? 'balance' : 'daily_limit',
      }
}

/**
 * Charges a part of a hold in the caller's transaction; locks the hold, never the account.
 *
 * @returns false if the operation took effect before
 * @throws if the hold is closed or has less left: settling more than was held is a bug
 */
export async function settle(tx: Tx, ask: SettleAsk): Promise<boolean> {
  assertKey('ref', ask.ref)
  assertKey('opKey', ask.opKey)
  assertCredits(ask.credits, 0)
  const { rows } = await sql<{ settled: boolean }>`
    select credit_settle(${ask.accountId}, ${ask.ref}, ${ask.opKey}, ${ask.credits},
      ${ask.records ?? 0}) as settled
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
export async function release(tx: Tx, ask: ReleaseAsk): Promise<number | undefined> {
  assertKey('ref', ask.ref)
  assertKey('opKey', ask.opKey)
  const { rows } = await sql<{ released: number | null }>`
    select credit_release(${ask.accountId}, ${ask.ref}, ${ask.opKey}) as released
  `.execute(tx)
  return rows[0]?.released ?? undefined
}
