import type { Product } from '@plumbline/contract/products'
import type { Tx } from '@plumbline/db/database'
import { sql } from 'kysely'
import type { Short } from './debit.ts'
import { assertCredits, assertKey } from './operation.ts'

/**
 * A hold is granted whole or not at all. In one transaction settle before release, and release or hold after
 * everything that may wait.
 */
export type HoldAnswer = { readonly granted: true; readonly remaining: number } | Short

/** What is to be set aside for a batch. */
export interface HoldAsk {
  readonly accountId: string
  /** Names the hold; asking again with the same credits answers the same. */
  readonly ref: string
  readonly credits: number
  /** The batch's product, under which usage counts what is settled; left out, usage counts it nowhere. */
  readonly product?: Product
}

/** What of a hold is used up. */
export interface SettleAsk {
  readonly accountId: string
  readonly ref: string
  readonly credits: number
  /** Takes effect once. */
  readonly opKey: string
  /** Records that it pays for, as usage counts them; none by default. */
  readonly records?: number
}

/** A hold whose rest goes back. */
export interface ReleaseAsk {
  readonly accountId: string
  readonly ref: string
  readonly opKey: string
}

/**
 * Sets credits aside in the caller's transaction, allowance first; locks the account until its end. All of a
 * hold counts toward the daily limit of the day it is made on; what is released on that day counts no more.
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
 * @throws if the hold is closed or has less: more was settled than held is a bug
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
 * Closes a hold in the caller's transaction and gives its rest back; what came from the allowance of
 * an ended cycle stays ended.
 *
 * @returns credits that the hold had left, those that stay ended among them; undefined if no hold
 *   of that name is open
 */
export async function release(tx: Tx, ask: ReleaseAsk): Promise<number | undefined> {
  assertKey('ref', ask.ref)
  assertKey('opKey', ask.opKey)
  const { rows } = await sql<{ released: number | null }>`
    select credit_release(${ask.accountId}, ${ask.ref}, ${ask.opKey}) as released
  `.execute(tx)
  return rows[0]?.released ?? undefined
}
