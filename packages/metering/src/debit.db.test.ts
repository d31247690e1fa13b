import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openMeteringContext, type MeteringContext } from '@plumbline/testkit/metering'
import { isSoak } from '@plumbline/testkit/soak'

/** Number of generated examples; a wrong sum or order shows within a few. */
const RUNS = isSoak() ? 1_000 : 80

/** A balance, earlier debits, and a batch of debits, some of them repeated. */
const example = fc.record({
  allowance: fc.constantFrom(0, 5, 30, 60),
  packs: fc.constantFrom(0, 5, 30, 60),
  isOver: fc.nat(5).map((n) => n === 0),
  before: fc.uniqueArray(fc.nat(12), { maxLength: 1 }),
  requests: fc.uniqueArray(
    fc.record({ key: fc.nat(12), credits: fc.integer({ min: 1, max: 8 }) }),
    {
      selector: (request) => request.key,
      minLength: 1,
      maxLength: 8,
    },
  ),
})
type Example = typeof example extends fc.Arbitrary<infer Value> ? Value : never

test('debits made in one step have the same results as one after the other, or none is made', async () => {
  await using context = await openMeteringContext()
  let together = 0
  await fc.assert(
    fc.asyncProperty(example, async (drawn) => {
      const atOnce = await play(context, drawn, 'one')
      const judged = await play(context, drawn, 'each')
      if (atOnce === undefined) return
      together += 1
      expect(atOnce).toEqual(judged)
    }),
    { numRuns: RUNS },
  )
  // At least one batch was made in one step, so that both ways were compared.
  expect(together).toBeGreaterThan(RUNS / 40)
})

test('a repeated debit counts neither against those behind it, nor in the balance that is returned', async () => {
  await using context = await openMeteringContext()
  const payer = await context.account()
  await context.metering.debit({ accountId: payer, opKey: 'k1', credits: 150 })
  const { rows } = await context.db.pool.query(
    'select status, available::int from credit_debit($1, $2, $3)',
    [
      [payer, payer],
      ['k1', 'k2'],
      [150, 40],
    ],
  )
  expect(rows).toEqual([
    { status: 'repeat', available: 50 },
    { status: 'granted', available: 10 },
  ])
})

test('a debit looks up its own key only, in a ledger of any size', async () => {
  await using context = await openMeteringContext()
  const { pool } = context.db
  const payer = await context.account()
  for (const size of [1, 500, 2_000, 6_000]) {
    await pool.query(
      `insert into credit_entries (account_id, op_key, kind, allowance_delta, packs_delta, held_delta, period_no)
       select $1, $2 || n, 'debit', 0, 0, 0, 0 from generate_series(1, $3::int) n`,
      [payer, `old-${size}-`, size],
    )
    // Each on a connection of its own, as plans are made once per connection.
    for (const [way, statement] of Object.entries(WAYS)) {
      const read = await entriesReadBy(context, statement, [payer, `${way}-${size}`])
      expect({ way, size, read }).toEqual({ way, size, read: 0 })
    }
  }
})

const WAYS = {
  one: `select credit_debit_one($1, array_agg($2 || n), array_agg(1)) from generate_series(1, 20) n`,
  each: `select count(d.status) from (select array_agg($1::text) as accounts, array_agg($2 || n) as keys,
      array_agg(1) as asked from generate_series(1, 20) n) a, credit_debit(a.accounts, a.keys, a.asked) d`,
}

/**
 * Entries of the ledger that a statement reads besides those that it writes, on a new connection.
 */
async function entriesReadBy(
  { db }: MeteringContext,
  statement: string,
  values: readonly string[],
) {
  const client = await db.pool.connect()
  try {
    await client.query('begin')
    await client.query('discard plans')
    await client.query(statement, [...values])
    const { rows } = await client.query<{ read: number }>(
      `select sum(pg_stat_get_xact_tuples_returned(indexrelid))::int as read
       from pg_index where indrelid = 'credit_entries'::regclass`,
    )
    await client.query('commit')
    return rows[0]?.read
  } finally {
    client.release()
  }
}

/** Runs an example on a new account; undefined if nothing was debited, which is asserted. */
async function play({ db, account }: MeteringContext, drawn: Example, way: 'one' | 'each') {
  const payer = await account()
  const { pool } = db
  await pool.query('update credit_accounts set allowance = 100 where account_id = $1', [payer])
  for (const key of drawn.before) {
    await pool.query('select * from credit_debit($1, $2, $3)', [[payer], [`k${key}`], [1]])
  }
  await pool.query(
    `update credit_accounts set allowance = $2, packs = $3,
       period_end = case when $4 then now() else period_end end where account_id = $1`,
    [payer, drawn.allowance, drawn.packs, drawn.isOver],
  )
  const start = await stateOf()
  const keys = drawn.requests.map(({ key }) => `k${key}`)
  const credits = drawn.requests.map((request) => request.credits)
  if (way === 'each') {
    const answers = await pool.query<{ status: string; available: number }>(
      'select status, available from credit_debit($1, $2, $3)',
      [keys.map(() => payer), keys, credits],
    )
    return { answers: answers.rows, state: await stateOf() }
  }
  const taken = await pool.query<{ before: number | null }>(
    'select credit_debit_one($1, $2, $3) as before',
    [payer, keys, credits],
  )
  let available = taken.rows[0]?.before ?? undefined
  const state = await stateOf()
  if (available === undefined) {
    expect(state).toEqual(start)
    return undefined
  }
  const answers: { status: string; available: number }[] = []
  for (const one of credits) {
    available -= one
    answers.push({ status: 'granted', available })
  }
  return { answers, state }

  async function stateOf() {
    const rows = async (text: string) => (await pool.query<object>(text, [payer])).rows
    return {
      purse: await rows(
        'select allowance, packs, spent, period_no from credit_accounts where account_id = $1',
      ),
      entries: await rows(
        `select op_key, kind, allowance_delta, packs_delta, held_delta, period_no, detail
         from credit_entries where account_id = $1 order by id`,
      ),
      unanswered: await rows(
        'select op_key from credit_unanswered where account_id = $1 order by op_key',
      ),
    }
  }
}
