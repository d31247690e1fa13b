import type { Db } from '@plumbline/db/database'
import { ENTRIES_A_STEP, faultsOf, HOLD_SUMS, newestEntry, sumEntries } from './audit-entries.ts'
import {
  MOST_EXAMPLES,
  inLedgerTransaction,
  renewAudit,
  type AuditRun,
  type LedgerFault,
  type Faults,
} from './audit-run.ts'

/** Maximum number of accounts that one statement checks. */
const ACCOUNTS_A_STEP = 2_000

/**
 * Checks every balance, hold and open debit against the sums, a range of accounts at a time: each
 * in one statement, so that balances and the entries not summed yet are of the same snapshot.
 */
export async function checkBalances(
  db: Db,
  run: AuditRun,
  signal: AbortSignal,
): Promise<{ run: AuditRun; faults: Faults }> {
  let at = run
  let count = 0
  const examples: LedgerFault[] = []
  for (let from: string | null = ''; from !== null;) {
    signal.throwIfAborted()
    if ((await newestEntry(db)) - at.auditedTo > ENTRIES_A_STEP) {
      at = await sumEntries(db, at, signal)
    }
    const to: string | null = await endOfRun(db, from)
    await renewAudit(db, at)
    const found = await judge(db, at, from, to)
    count += found.count
    examples.push(...found.examples.slice(0, MOST_EXAMPLES - examples.length))
    from = to
  }
  return { run: at, faults: { count, examples } }
}

/**
 * The last account of the next range; null if fewer are left, so that the last range is open-ended.
 */
async function endOfRun(db: Db, from: string): Promise<string | null> {
  const { rows } = await db.pool.query<{ id: string }>(
    'select id from accounts where id > $1 order by id offset $2 limit 1',
    [from, ACCOUNTS_A_STEP - 1],
  )
  return rows[0]?.id ?? null
}

async function judge(db: Db, run: AuditRun, from: string, to: string | null): Promise<Faults> {
  const values = [from, run.auditedTo, run.generation]
  return await inLedgerTransaction(db, 'read only', async (session) =>
    to === null
      ? await faultsOf(session, judgement('> $1'), values)
      : await faultsOf(session, judgement('> $1', '<= $4'), [...values, to]),
  )
}

/**
 * The statement for a range of accounts; the bounds are in its text, since an optional bound would
 * prevent the use of an index.
 */
function judgement(...bounds: readonly string[]): string {
  const within = (column: string): string =>
    bounds.map((bound) => `${column} ${bound}`).join(' and ')
  return `with ${sumsWithin(within)} select rule, account_id as "accountId", detail,
      count(*) over () as count
    from (${brokenWithin(within)}) broken limit ${MOST_EXAMPLES}`
}

/**
 * Sums of the entries of accounts: the stored sums, and the entries after them in this snapshot.
 */
function sumsWithin(within: (column: string) => string): string {
  return `
  rest as materialized (
    select account_id, kind, detail, allowance_delta, packs_delta, held_delta
    from credit_entries where id > $2 and ${within('account_id')}
  ), account_rest as materialized (
    select account_id, sum(allowance_delta) as allowance, sum(packs_delta) as packs,
      sum(held_delta) as held
    from rest group by account_id
  ), hold_rest as materialized (
    select account_id, detail as ref, ${HOLD_SUMS}
    from rest where kind in ('hold', 'settle', 'release') group by account_id, detail
  ), sums as materialized (
    select * from ledger_account_sums where generation = $3 and ${within('account_id')}
  ), entries as materialized (
    select coalesce(s.account_id, r.account_id) as account_id,
      coalesce(s.allowance, 0) + coalesce(r.allowance, 0) as allowance,
      coalesce(s.packs, 0) + coalesce(r.packs, 0) as packs,
      coalesce(s.held, 0) + coalesce(r.held, 0) as held
    from sums s full join account_rest r on r.account_id = s.account_id
  ), hold_sums as materialized (
    select * from ledger_hold_sums where generation = $3 and ${within('account_id')}
  ), open_holds as materialized (
    select account_id, ref, allowance_left + packs_left as left_over from credit_holds
    where closed_at is null and ${within('account_id')}
  ), held as materialized (
    select account_id, sum(left_over) as held from open_holds group by account_id
  ), holds as materialized (
    select k.account_id, k.ref, coalesce(s.held, 0) + coalesce(r.held, 0) as held,
      coalesce(s.settled, 0) + coalesce(r.settled, 0) as settled,
      coalesce(s.released, 0) + coalesce(r.released, 0) as released
    from (select account_id, ref from open_holds
      union select account_id, ref from hold_sums
      union select account_id, ref from hold_rest) k
    left join hold_sums s on s.account_id = k.account_id and s.ref = k.ref
    left join hold_rest r on r.account_id = k.account_id and r.ref = k.ref
  )`
}

/** Selects the accounts that violate a rule, with the numbers found; one part for each rule. */
function brokenWithin(within: (column: string) => string): string {
  return `
    select 'balance is the sum of its entries' as rule, c.account_id, format(
        'has %s + %s, entries give %s + %s', c.allowance, c.packs, e.allowance, e.packs) as detail
    from credit_accounts c left join entries e on e.account_id = c.account_id
    where ${within('c.account_id')}
      and (c.allowance, c.packs) is distinct from (e.allowance, e.packs)
    union all
    select 'held is what open holds have left', coalesce(e.account_id, h.account_id),
      format('entries hold %s, holds have %s', e.held, h.held)
    from entries e full join held h on h.account_id = e.account_id
    where coalesce(e.held, 0) <> coalesce(h.held, 0)
    union all
    select 'a hold adds up to its entries', k.account_id, format(
      'hold %s: %s = %s held, %s = %s settled, %s = %s released', k.ref, h.credits, k.held,
      h.settled, k.settled, h.released, k.released)
    from holds k left join credit_holds h on h.account_id = k.account_id and h.ref = k.ref
    where (h.credits, h.settled, h.released) is distinct from (k.held, k.settled, k.released)
    union all
    select 'the cycle under way was granted', c.account_id,
      format('cycle %s has no grant', c.period_no)
    from credit_accounts c where ${within('c.account_id')} and not exists (
      select from credit_entries e where e.account_id = c.account_id and e.kind = 'grant'
        and e.op_key = 'cycle:' || c.period_no)
    union all
    select 'a waiting debit is in the ledger', u.account_id,
      format('%s waits without a debit, or after its end', u.op_key)
    from credit_unanswered u where ${within('u.account_id')} and (not exists (
        select from credit_entries e where e.account_id = u.account_id and e.op_key = u.op_key
        and e.kind = 'debit')
      or exists (
        select from credit_entries e where e.account_id = u.account_id and e.op_key = u.op_key
        and e.kind in ('refund', 'give_back')))
    union all
    select 'an account has a balance', a.id, 'has none' from accounts a
    where ${within('a.id')}
      and not exists (select from credit_accounts c where c.account_id = a.id)
    union all
    select 'an entry has a balance', e.account_id, 'has entries and no balance' from entries e
    where not exists (select from credit_accounts c where c.account_id = e.account_id)`
}
