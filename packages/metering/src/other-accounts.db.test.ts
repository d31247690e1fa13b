import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { openMeteringContext, type MeteringContext } from '@plumbline/testkit/metering'
import { expect, test } from 'vitest'
import { changePlan, grantGoodwill } from './grant.ts'
import { hold, release, settle } from './hold.ts'
import { setSpending } from './spending.ts'
import { startDueCycles, sweepUnanswered } from './sweep.ts'

/** A move of an account; `more` is what it takes more than that of the other. */
type Move = (context: MeteringContext, accountId: string, more: number) => Promise<unknown>

const debit =
  (opKey: string, credits: number): Move =>
  ({ metering }, accountId, more) => {
    const use = { product: 'email', source: 'api' } as const
    return metering.debit({ accountId, opKey, credits: credits + more, use })
  }

const holdOf =
  (ref: string, credits: number): Move =>
  ({ db }, accountId, more) =>
    db.kysely
      .transaction()
      .execute((tx) => hold(tx, { accountId, ref, credits: credits + more, product: 'email' }))

const chargeOf =
  (ref: string, credits: number): Move =>
  ({ db }, accountId, more) => {
    const of = { accountId, ref, opKey: `${ref}:0`, records: 4 }
    return db.kysely.transaction().execute((tx) => settle(tx, { ...of, credits: credits + more }))
  }

const releaseOf =
  (ref: string): Move =>
  ({ db }, accountId) =>
    db.kysely.transaction().execute((tx) => release(tx, { accountId, ref, opKey: `${ref}:end` }))

/** The calendar day of an account is over. */
const endDay: Move = ({ db }, accountId) =>
  db.pool.query(
    `update credit_accounts set day_end = now() - interval '1 s' where account_id = $1`,
    [accountId],
  )

/** Every move of an account, in an order in which each is granted. */
const MOVES: Readonly<Record<string, Move>> = {
  'a debit': debit('a', 7),
  'another debit': debit('b', 7),
  'a gift': ({ db }, id) => grantGoodwill(db, id, 100, 'gift'),
  'a debit of allowance and gift': debit('c', 200 - 14 + 50),
  'a repeated debit': debit('c', 200 - 14 + 50),
  'another gift': ({ db }, id) => grantGoodwill(db, id, 10, 'more'),
  'a refund': ({ metering }, accountId) =>
    metering.refund({ accountId, opKey: 'a', reason: 'killed' }),
  'a repeated refund': ({ metering }, accountId) =>
    metering.refund({ accountId, opKey: 'a', reason: 'killed' }),
  'an answer': ({ metering }, accountId) => metering.finalize({ accountId, opKey: 'b' }),
  'an answer that gives back': ({ metering }, accountId) =>
    metering.finalize({ accountId, opKey: 'c', giveBack: 60 }),
  'a hold': holdOf('bat', 50),
  'a repeated hold': holdOf('bat', 50),
  'another hold': holdOf('next', 5),
  'a charge': chargeOf('bat', 20),
  'a release': releaseOf('bat'),
  'another release': releaseOf('next'),
  'a third hold': holdOf('third', 7),
  'a fourth hold': holdOf('fourth', 9),
  'a charge of the fourth': chargeOf('fourth', 4),
  // The later one first.
  'a fourth release': releaseOf('fourth'),
  'a third release': releaseOf('third'),
  'a larger plan': ({ db }, id) => changePlan(db, id, 'starter'),
  'a smaller plan': ({ db }, id) => changePlan(db, id, 'free'),
  limits: ({ db }, accountId) =>
    setSpending(db, { actor: 'ada', accountId, bounds: { dailyLimit: 1_000, lowMark: 10 } }),
  'a new day': async (...of) => {
    await endDay(...of)
    await debit('d', 1)(...of)
  },
  'a new day, by a hold': async (...of) => {
    await endDay(...of)
    await holdOf('last', 5)(...of)
  },
  'a refund by the sweep': async ({ db }, id) => {
    await db.pool.query(
      `update credit_unanswered set created_at = now() - interval '1 h' where account_id = $1`,
      [id],
    )
    await sweepUnanswered(db, 60)
  },
  'a new cycle': async ({ age, metering }, id) => {
    await age(id, 1)
    await metering.balance(id)
  },
  'a new cycle, by the sweep': async ({ age, db }, id) => {
    await age(id, 1)
    await startDueCycles(db)
  },
}

const TABLES = [
  'credit_accounts',
  'credit_entries',
  'credit_holds',
  'credit_usage',
  'credit_unanswered',
  'credit_notices',
]

/** All rows of an account. */
async function rowsOf({ db }: MeteringContext, id: string): Promise<readonly unknown[]> {
  const parts = TABLES.map(
    (table) =>
      `select '${table}' as name, to_jsonb(t) as row from ${table} t where account_id = $1`,
  )
  const { rows } = await db.pool.query(
    `${parts.join(' union all ')}
     union all select 'accounts', to_jsonb(t) from accounts t where id = $1 order by 1, 2`,
    [id],
  )
  return rows
}

test('no move of an account changes another, whose moves have the same names, or waits for it', async () => {
  await using context = await openMeteringContext()
  const [one, two] = [await context.account(), await context.account()]
  const locked = await context.db.pool.connect()
  let isForward = true
  for (const [name, move] of Object.entries(MOVES)) {
    for (const isFirst of [isForward, !isForward]) {
      const [id, other] = isFirst ? [one, two] : [two, one]
      const before = await rowsOf(context, other)
      await locked.query(
        `begin; select from credit_accounts where account_id = '${other}' for update`,
      )
      await move(context, id, isFirst ? 0 : 1)
      await locked.query('rollback')
      expect({ name, rows: await rowsOf(context, other) }).toEqual({ name, rows: before })
    }
    expect({ name, found: await auditLedger(context.db) }).toEqual({ name, found: [] })
    isForward = !isForward
  }
  locked.release()
})
