import { setTimeout as wait } from 'node:timers/promises'
import type { Db, DbSession } from '@plumbline/db/database'
import {
  advanceAudit,
  MOST_EXAMPLES,
  addEntries,
  inLedgerTransaction,
  type AuditRun,
  type LedgerFault,
  type Faults,
} from './audit-run.ts'

/** Maximum number of ledger entries that one transaction of the audit reads. */
export const ENTRIES_A_STEP = 20_000

/**
 * Longest wait for transactions that write to the ledger, in milliseconds: none of ours is open for
 * that long.
 */
const LONGEST_WAIT_MS = 600_000

const POLL_MS = 20

/**
 * Adds all entries whose position in the ledger is final to the sums, in short transactions, and
 * checks the entries meanwhile.
 */
export async function sumEntries(db: Db, run: AuditRun, signal: AbortSignal): Promise<AuditRun> {
  const last = await lastDecidedEntry(db, signal)
  let at = run
  while (at.auditedTo < last) {
    signal.throwIfAborted()
    at = await sumStep(db, at, Math.min(last, at.auditedTo + ENTRIES_A_STEP))
  }
  return at
}

/**
 * Highest entry number that may exist; for an empty ledger a sequence returns the number that the
 * first entry will get.
 */
export async function newestEntry(db: Db): Promise<number> {
  const { rows } = await db.pool.query<{ last: number }>(
    'select case when is_called then last_value else 0 end as last from credit_entries_id_seq',
  )
  return rows[0]?.last ?? 0
}

/**
 * A number up to which every entry is either committed or rolled back. Numbers are drawn before a
 * commit, so a lower one may become visible after a higher one. Writers hold a lock on the table
 * from before they draw a number until they end, so all current lock holders are waited for.
 */
async function lastDecidedEntry(db: Db, signal: AbortSignal): Promise<number> {
  const last = await newestEntry(db)
  const writers = new Set(await openWriters(db))
  const until = performance.now() + LONGEST_WAIT_MS
  while (writers.size > 0) {
    if (performance.now() > until) {
      throw new Error(`${writers.size} transactions on the ledger have been open for ten minutes`)
    }
    await wait(POLL_MS, undefined, { signal })
    const open = new Set(await openWriters(db))
    for (const writer of writers) if (!open.has(writer)) writers.delete(writer)
  }
  return last
}

/** Transactions that have written to the ledger, or may do so. */
async function openWriters(db: Db): Promise<readonly string[]> {
  const { rows } = await db.pool.query<{ writer: string }>(`
    select virtualtransaction as writer from pg_locks
    where locktype = 'relation' and relation = 'credit_entries'::regclass
      and database = (select oid from pg_database where datname = current_database())
      and mode in ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
      and granted`)
  return rows.map(({ writer }) => writer)
}

async function sumStep(db: Db, run: AuditRun, to: number): Promise<AuditRun> {
  return await inLedgerTransaction(db, 'read write', async (session) => {
    const at = await advanceAudit(session, run, to)
    const range = [run.auditedTo, to]
    const summed = [...range, run.generation]
    const below = await faultsOf(session, BELOW_ZERO, summed)
    const given = await faultsOf(session, GIVEN_BACK, range)
    const { rows } = await session.query<{ entries: number }>(ADD_TO_ACCOUNTS, summed)
    await session.query(ADD_TO_HOLDS, summed)
    await session.query(DROP_CLOSED_HOLDS, summed)
    await addEntries(session, at, rows[0]?.entries ?? 0, {
      count: below.count + given.count,
      examples: [...below.examples, ...given.examples].slice(0, MOST_EXAMPLES),
    })
    return at
  })
}

/** Runs a statement that selects violations, with their total number. */
export async function faultsOf(
  session: DbSession,
  text: string,
  values: unknown[],
): Promise<Faults> {
  const { rows } = await session.query<LedgerFault & { count: number }>(text, values)
  const examples = rows.map(({ rule, accountId, detail }) => ({ rule, accountId, detail }))
  return { count: rows[0]?.count ?? 0, examples }
}

/**
 * Balances change under the lock of their row, so an account's balances are in the order of entry
 * numbers.
 */
const BELOW_ZERO = `
  with slice as materialized (
    select account_id, id, allowance_delta, packs_delta from credit_entries
    where id > $1 and id <= $2
  ), before as materialized (
    select account_id, allowance, packs from ledger_account_sums
    where generation = $3 and account_id = any (array(select distinct account_id from slice))
  ), running as (
    select e.account_id, e.id, coalesce(b.allowance, 0) + sum(e.allowance_delta) over w as allowance,
      coalesce(b.packs, 0) + sum(e.packs_delta) over w as packs
    from slice e left join before b on b.account_id = e.account_id
    window w as (partition by e.account_id order by e.id)
  )
  select 'no balance was ever below zero' as rule, account_id as "accountId",
    format('was %s + %s after entry %s', allowance, packs, id) as detail, count(*) over () as count
  from running where allowance < 0 or packs < 0
  order by id limit ${MOST_EXAMPLES}`

const GIVEN_BACK = `
  with backs as materialized (
    select distinct account_id, op_key from credit_entries
    where id > $1 and id <= $2 and kind in ('refund', 'give_back')
  )
  select 'no more is refunded than was debited' as rule, b.account_id as "accountId",
    format('%s took %s, gave back %s', b.op_key, -(d.allowance_delta + d.packs_delta), g.given)
      as detail, count(*) over () as count
  from backs b
  cross join lateral (
    select count(*) as times, sum(e.allowance_delta + e.packs_delta) as given
    from credit_entries e where e.account_id = b.account_id and e.op_key = b.op_key
      and e.kind in ('refund', 'give_back')) g
  left join credit_entries d
    on d.account_id = b.account_id and d.op_key = b.op_key and d.kind = 'debit'
  where d.id is null or g.times > 1 or g.given > -(d.allowance_delta + d.packs_delta)
  limit ${MOST_EXAMPLES}`

const ADD_TO_ACCOUNTS = `
  with added as (
    select account_id, count(*) as entries, sum(allowance_delta) as allowance,
      sum(packs_delta) as packs, sum(held_delta) as held
    from credit_entries where id > $1 and id <= $2 group by account_id
  ), kept as (
    insert into ledger_account_sums as s (account_id, generation, allowance, packs, held)
    select account_id, $3, allowance, packs, held from added
    on conflict (account_id) do update set generation = excluded.generation,
      allowance = excluded.allowance
        + case when s.generation = excluded.generation then s.allowance else 0 end,
      packs = excluded.packs + case when s.generation = excluded.generation then s.packs else 0 end,
      held = excluded.held + case when s.generation = excluded.generation then s.held else 0 end
  )
  select coalesce(sum(entries), 0)::bigint as entries from added`

/** Sums of the entries of a hold, by kind. */
export const HOLD_SUMS = `
  coalesce(sum(held_delta) filter (where kind = 'hold'), 0) as held,
  coalesce(-sum(held_delta) filter (where kind = 'settle'), 0) as settled,
  coalesce(-sum(held_delta) filter (where kind = 'release'), 0) as released`

const ADD_TO_HOLDS = `
  insert into ledger_hold_sums as s (account_id, ref, generation, held, settled, released)
  select account_id, detail, $3, ${HOLD_SUMS}
  from credit_entries
  where id > $1 and id <= $2 and kind in ('hold', 'settle', 'release') and detail is not null
  group by account_id, detail
  on conflict (account_id, ref) do update set generation = excluded.generation,
    held = excluded.held + case when s.generation = excluded.generation then s.held else 0 end,
    settled = excluded.settled
      + case when s.generation = excluded.generation then s.settled else 0 end,
    released = excluded.released
      + case when s.generation = excluded.generation then s.released else 0 end`

/**
 * A closed hold with all its entries is checked once; a later entry shows as a fault. Its release
 * is the last entry, and must be among the summed ones: the hold may have been closed since.
 */
const DROP_CLOSED_HOLDS = `
  delete from ledger_hold_sums s
  using (select distinct account_id, detail as ref from credit_entries
      where id > $1 and id <= $2 and kind = 'release') t,
    credit_holds h
  where s.account_id = t.account_id and s.ref = t.ref and s.generation = $3
    and h.account_id = t.account_id and h.ref = t.ref and h.closed_at is not null
    and (h.credits, h.settled, h.released) = (s.held, s.settled, s.released)`
