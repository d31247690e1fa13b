import type { Db } from '@plumbline/db/database'

/** One thing that must never be, as a sentence with the figures met. */
export interface Fault {
  readonly rule: string
  readonly accountId: string
  readonly detail: string
}

/**
 * Proves the ledger against the balances at one moment: every balance is the sum of its entries and was
 * never below zero, what is held is what the open holds have left, every hold adds up to its entries,
 * nothing was given back twice or beyond what was taken, cycles follow each other with one grant each,
 * and every waiting debit is in the ledger. An empty list is no fault. Source: decision 15.
 */
export async function auditLedger(db: Db): Promise<readonly Fault[]> {
  const client = await db.pool.connect()
  try {
    await client.query('begin isolation level repeatable read read only')
    const faults: Fault[] = []
    for (const [rule, text] of Object.entries(RULES)) {
      const { rows } = await client.query<{ account_id: string; detail: string }>(text)
      faults.push(...rows.map((row) => ({ rule, accountId: row.account_id, detail: row.detail })))
    }
    await client.query('commit')
    client.release()
    return faults
  } catch (error) {
    client.release(true)
    throw error
  }
}

/** Each selects the accounts that break it, with what was met. */
const RULES = {
  'balance is the sum of its entries': `
    select c.account_id, format('has %s + %s, entries give %s + %s', c.allowance, c.packs,
      e.allowance, e.packs) as detail
    from credit_accounts c left join (
      select account_id, sum(allowance_delta) as allowance, sum(packs_delta) as packs
      from credit_entries group by account_id) e on e.account_id = c.account_id
    where (c.allowance, c.packs) is distinct from (e.allowance, e.packs)`,

  'no balance was ever below zero': `
    select account_id, format('was %s + %s after entry %s', allowance, packs, id) as detail
    from (select account_id, id, sum(allowance_delta) over w as allowance,
        sum(packs_delta) over w as packs
      from credit_entries window w as (partition by account_id order by id)) running
    where allowance < 0 or packs < 0`,

  'held is what open holds have left': `
    select coalesce(e.account_id, h.account_id) as account_id,
      format('entries hold %s, holds have %s', e.held, h.held) as detail
    from (select account_id, sum(held_delta) as held from credit_entries group by account_id) e
    full join (select account_id, sum(allowance_left + packs_left) as held from credit_holds
      group by account_id) h on h.account_id = e.account_id
    where coalesce(e.held, 0) <> coalesce(h.held, 0)`,

  'a hold adds up to its entries': `
    select h.account_id, format('hold %s: %s = %s held, %s = %s settled, %s = %s released', h.ref,
      h.credits, e.held, h.settled, e.settled, h.released, e.released) as detail
    from credit_holds h left join (
      select account_id, detail,
        coalesce(sum(held_delta) filter (where kind = 'hold'), 0) as held,
        coalesce(-sum(held_delta) filter (where kind = 'settle'), 0) as settled,
        coalesce(-sum(held_delta) filter (where kind = 'release'), 0) as released
      from credit_entries where kind in ('hold', 'settle', 'release')
      group by account_id, detail) e on e.account_id = h.account_id and e.detail = h.ref
    where (h.credits, h.settled, h.released) is distinct from (e.held, e.settled, e.released)`,

  'no more is given back than was taken': `
    select b.account_id, format('%s took %s, gave back %s', b.op_key,
      -(d.allowance_delta + d.packs_delta), b.given) as detail
    from (select account_id, op_key, count(*) as times, sum(allowance_delta + packs_delta) as given
      from credit_entries where kind in ('refund', 'give_back') group by account_id, op_key) b
    left join credit_entries d
      on d.account_id = b.account_id and d.op_key = b.op_key and d.kind = 'debit'
    where d.id is null or b.times > 1 or b.given > -(d.allowance_delta + d.packs_delta)`,

  'the cycle under way was granted': `
    select c.account_id, format('cycle %s has no grant', c.period_no) as detail
    from credit_accounts c where not exists (
      select from credit_entries e where e.account_id = c.account_id and e.kind = 'grant'
        and e.op_key = 'cycle:' || c.period_no)`,

  'a waiting debit is in the ledger': `
    select u.account_id, format('%s waits without a debit, or after its end', u.op_key) as detail
    from credit_unanswered u where not exists (
        select from credit_entries e where e.account_id = u.account_id and e.op_key = u.op_key
        and e.kind = 'debit')
      or exists (
        select from credit_entries e where e.account_id = u.account_id and e.op_key = u.op_key
        and e.kind in ('refund', 'give_back'))`,

  'an account has a balance': `
    select a.id as account_id, 'has none' as detail from accounts a
    where not exists (select from credit_accounts c where c.account_id = a.id)`,
} as const
