import { writeAudit } from '@plumbline/db/audit-log'
import type { Db, Tx } from '@plumbline/db/database'
import { inRetriedTransaction } from '@plumbline/db/retry'
import type { Act } from './administer.ts'
import { lockCredits } from './balance.ts'
import { assertCredits } from './operation.ts'
import { runStatement } from './statement.ts'

/** Limits that an account has set for itself; null if none. */
export interface SpendingBounds {
  /** Credits that may be spent per day of its calendar. */
  readonly dailyLimit: number | null
  /** Balance below which its members are notified, once a day at most. */
  readonly lowMark: number | null
}

/**
 * An account's limits, and the credits spent today: debits less refunds, plus credits that batches
 * held today.
 */
export interface Spending extends SpendingBounds {
  readonly today: number
}

/**
 * The limits of an account and its spending of today, by its calendar; undefined if there is no
 * account.
 */
export async function readSpending(db: Db | Tx, accountId: string): Promise<Spending | undefined> {
  const rows = await runStatement<Spending>(db, {
    name: 'metering.spending',
    text: `select daily_limit as "dailyLimit", low_mark as "lowMark",
        case when credit_day_is_over(day_end) then 0 else spent end as today
      from credit_accounts where account_id = $1`,
    values: [accountId],
  })
  return rows[0]
}

/**
 * Sets limits of an account and writes it to the audit log; limits left out stay.
 *
 * @returns the new limits; undefined if there is no account
 */
export async function setSpending(
  db: Db | Tx,
  { actor, accountId, bounds }: Act & { readonly bounds: Partial<SpendingBounds> },
): Promise<SpendingBounds | undefined> {
  if (bounds.dailyLimit != null) assertCredits(bounds.dailyLimit, 0)
  if (bounds.lowMark != null) assertCredits(bounds.lowMark, 1)
  if ('pool' in db) {
    return await inRetriedTransaction(db, (tx) => setSpending(tx, { actor, accountId, bounds }))
  }
  await lockCredits(db, accountId)
  const before = await readSpending(db, accountId)
  if (before === undefined) return undefined
  const after = {
    dailyLimit: bounds.dailyLimit === undefined ? before.dailyLimit : bounds.dailyLimit,
    lowMark: bounds.lowMark === undefined ? before.lowMark : bounds.lowMark,
  }
  await runStatement(db, {
    name: 'metering.set-spending',
    text: 'update credit_accounts set daily_limit = $2, low_mark = $3 where account_id = $1',
    values: [accountId, after.dailyLimit, after.lowMark],
  })
  await writeAudit(db, {
    actor,
    action: 'account.spending',
    accountId,
    before: { daily_limit: before.dailyLimit, low_mark: before.lowMark },
    after: { daily_limit: after.dailyLimit, low_mark: after.lowMark },
  })
  return after
}

/** A notice that an account fell below its low-credit mark. */
export interface LowCredits {
  readonly accountId: string
  /** By the account's calendar: there is at most one notice a day. */
  readonly day: string
  readonly available: number
  readonly lowMark: number
}

/**
 * Takes low-credit notices of the last day that were not sent, oldest first, in the transaction that
 * writes the messages: they count as sent with its commit, and other processes skip them until then.
 * Older ones stay unsent: where mail is set up later, there is one for each day of the past.
 */
export async function takeLowCredits(tx: Tx, limit: number): Promise<readonly LowCredits[]> {
  return await runStatement<LowCredits>(tx, {
    name: 'metering.low-credits',
    text: `
      with taken as (
        select account_id, day from credit_notices
        where told_at is null and noted_at > now() - interval '1 day'
        order by noted_at limit $1 for update skip locked
      )
      update credit_notices n set told_at = now() from taken t
      where n.account_id = t.account_id and n.day = t.day
      returning n.account_id as "accountId", n.day, n.available, n.low_mark as "lowMark"`,
    values: [limit],
  })
}
