import type { Plan } from '@plumbline/contract/plans'
import type { Db, Tx } from '@plumbline/db/database'
import { runStatement } from './statement.ts'

/** Credits of an account, and when its next cycle begins. */
export interface Balance {
  readonly plan: Plan
  /** The plan of the next cycle; null if it stays the same. */
  readonly nextPlan: Plan | null
  /** Rest of this cycle's allowance. */
  readonly allowance: number
  /** Rest of add-on packs and goodwill. */
  readonly packs: number
  /** Held for unfinished batches; in neither `allowance` nor `packs`. */
  readonly held: number
  /** `allowance + packs`. */
  readonly available: number
  readonly resetsAt: Date
}

interface BalanceRow {
  plan: Plan
  next_plan: Plan | null
  allowance: number
  packs: number
  held: number
  resets_at: Date
  due: boolean
}

/**
 * The balance by database time, after turning the cycle if it is over; undefined if there is no
 * account.
 */
export async function readBalance(db: Db | Tx, accountId: string): Promise<Balance | undefined> {
  let row = await selectBalance(db, accountId)
  if (row?.due === true) {
    await roll(db, accountId)
    row = await selectBalance(db, accountId)
  }
  return (
    row && {
      plan: row.plan,
      nextPlan: row.next_plan,
      allowance: row.allowance,
      packs: row.packs,
      held: row.held,
      available: row.allowance + row.packs,
      resetsAt: row.resets_at,
    }
  )
}

/** As `readBalance`, locked for the rest of the transaction. */
export async function lockBalance(tx: Tx, accountId: string): Promise<Balance | undefined> {
  await lockCredits(tx, accountId)
  return await readBalance(tx, accountId)
}

/** Locks the credits and limits of an account for the rest of the transaction. */
export async function lockCredits(tx: Tx, accountId: string): Promise<void> {
  await runStatement(tx, {
    name: 'metering.lock',
    text: 'select from credit_accounts where account_id = $1 for no key update',
    values: [accountId],
  })
}

/** The spendable credits, by a read of one row; undefined if there is no account. */
export async function readRemaining(db: Db, accountId: string): Promise<number | undefined> {
  const rows = await runStatement<{ remaining: number; due: boolean }>(db, {
    name: 'metering.remaining',
    text: `select allowance + packs as remaining, period_end <= now() as due
      from credit_accounts where account_id = $1`,
    values: [accountId],
  })
  return rows[0]?.due === true ? (await readBalance(db, accountId))?.available : rows[0]?.remaining
}

/** One pack or goodwill grant, and its remaining credits. */
export interface RemainingPack {
  readonly kind: 'pack' | 'goodwill'
  /** Name of the pack; null for goodwill. */
  readonly name: string | null
  readonly credits: number
  readonly left: number
  readonly grantedAt: Date
}

/**
 * Packs and goodwill, oldest first. Credits of packs are alike and never expire, so spending is
 * attributed to the oldest; held credits count as spent.
 */
export async function readPacks(db: Db, accountId: string): Promise<readonly RemainingPack[]> {
  const rows = await runStatement<{
    kind: 'pack' | 'goodwill'
    name: string | null
    credits: number
    left: number
    granted_at: Date
  }>(db, {
    name: 'metering.packs',
    text: `
      select kind, detail as name, credits, granted_at,
        greatest(0, least(credits, upto - spent)) as left
      from (
        select e.id, e.kind, e.detail, e.packs_delta as credits, e.created_at as granted_at,
          (sum(e.packs_delta) over (order by e.id))::bigint as upto,
          (sum(e.packs_delta) over ())::bigint - c.packs as spent
        from credit_entries e join credit_accounts c on c.account_id = e.account_id
        where e.account_id = $1 and e.kind in ('pack', 'goodwill')) packs
      order by id`,
    values: [accountId],
  })
  return rows.map((row) => ({
    kind: row.kind,
    name: row.name,
    credits: row.credits,
    left: row.left,
    grantedAt: row.granted_at,
  }))
}

async function roll(db: Db | Tx, accountId: string): Promise<void> {
  await runStatement(db, {
    name: 'metering.roll',
    text: 'select credit_roll($1)',
    values: [accountId],
  })
}

async function selectBalance(db: Db | Tx, accountId: string): Promise<BalanceRow | undefined> {
  const rows = await runStatement<BalanceRow>(db, {
    name: 'metering.balance',
    text: `
      select a.plan, a.next_plan, c.allowance, c.packs, c.period_end as resets_at,
        c.period_end <= now() as due,
        (select coalesce(sum(h.allowance_left + h.packs_left), 0) from credit_holds h
          where h.account_id = c.account_id and h.closed_at is null)::bigint as held
      from credit_accounts c join accounts a on a.id = c.account_id
      where c.account_id = $1`,
    values: [accountId],
  })
  return rows[0]
}
