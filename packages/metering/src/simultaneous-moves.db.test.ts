import { openMeteringContext, type MeteringContext } from '@plumbline/testkit/metering'
import { PATIENT } from '@plumbline/testkit/patience'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { expect, test } from 'vitest'

const debit = (key: string, credits: number): string =>
  `select status, available::int, room::int from credit_debit(array[$1], array['${key}'],
     array[${credits}], array[null], array[null])`
const debitAtOnce = (key: string, credits: number): string =>
  `select credit_debit_one($1, array['${key}'], array[${credits}])::int as before`
const hold = (ref: string, credits: number): string =>
  `select granted, available::int from credit_hold($1, '${ref}', ${credits}, null)`
const settle = (op: string, credits: number): string =>
  `select credit_settle($1, 'batch', '${op}', ${credits}, 1) as settled`
const release = (op: string): string =>
  `select credit_release($1, 'batch', '${op}')::int as released`
const grant = (source: string): string =>
  `select credit_grant($1, '${source}', 'goodwill', 100, null) as granted`

/** Two moves of an account with 200 credits, and the result and balance if the second is judged after the first. */
const PAIRS = [
  {
    name: 'a debit after a debit',
    moves: [debit('x', 150), debit('y', 150)],
    result: { status: 'short', available: 50, room: null },
    left: 50,
  },
  {
    name: 'a debit after one of the same key',
    moves: [debit('x', 150), debit('x', 150)],
    result: { status: 'repeat', available: 50, room: null },
    left: 50,
  },
  {
    name: 'a debit after a debit, by the daily limit',
    dailyLimit: 100,
    moves: [debit('x', 70), debit('y', 70)],
    result: { status: 'short', available: 130, room: 30 },
    left: 130,
  },
  {
    name: 'debits of one account after others',
    moves: [debitAtOnce('x', 150), debitAtOnce('y', 150)],
    result: { before: null },
    left: 50,
  },
  {
    name: 'a hold after a hold',
    moves: [hold('a', 150), hold('b', 150)],
    result: { granted: false, available: 50 },
    left: 50,
  },
  {
    name: 'a hold after one of the same name',
    moves: [hold('a', 150), hold('a', 150)],
    result: { granted: true, available: 50 },
    left: 50,
  },
  {
    name: 'a grant after a debit',
    moves: [debit('x', 150), grant('gift')],
    result: { granted: true },
    left: 150,
  },
  {
    name: 'a larger plan after a debit',
    moves: [
      debit('x', 150),
      `select plan_now, granted::int from credit_change_plan($1, 'starter')`,
    ],
    result: { plan_now: 'starter', granted: 4_800 },
    left: 4_850,
  },
  {
    name: 'a charge of a hold after a charge',
    held: 100,
    moves: [settle('one', 60), settle('two', 40)],
    result: { settled: true },
    left: 100,
    heldLeft: 0,
  },
  {
    name: 'a release after a charge',
    held: 100,
    moves: [settle('one', 60), release('end')],
    result: { released: 40 },
    left: 140,
    heldLeft: 0,
  },
  {
    name: 'a release after a release',
    held: 100,
    moves: [release('end'), release('again')],
    result: { released: null },
    left: 200,
    heldLeft: 0,
  },
  {
    name: 'a release after a debit',
    held: 100,
    moves: [debit('x', 50), release('end')],
    result: { released: 100 },
    left: 150,
    heldLeft: 0,
  },
] as const

test.each(PAIRS)(
  'of two moves of an account at once the second waits for the first, and counts it: $name',
  async ({ moves, result, left, ...start }) => {
    await using context = await openMeteringContext()
    const { pool } = context.db
    const id = await context.account()
    // Else no debits are made at once.
    await pool.query('select credit_turn_day($1)', [id])
    if ('held' in start) await pool.query(hold('batch', start.held), [id])
    if ('dailyLimit' in start) {
      await pool.query('update credit_accounts set daily_limit = $1', [start.dailyLimit])
    }
    expect(await inTurn(context, id, moves)).toEqual(result)
    expect(await context.metering.balance(id)).toMatchObject({ available: left })
    const { rows } = await pool.query(
      'select allowance_left + packs_left as left from credit_holds',
    )
    if ('heldLeft' in start) expect(rows).toEqual([{ left: start.heldLeft }])
    expect(await auditLedger(context.db)).toEqual([])
  },
)

/** Runs the second move while the transaction of the first is open; returns the second's result. */
async function inTurn(
  { db: { pool } }: MeteringContext,
  id: string,
  [first, second]: readonly [string, string],
): Promise<object | undefined> {
  const client = await pool.connect()
  await client.query('begin')
  await client.query(first, [id])
  const waiting = pool.query<object>(second, [id])
  await expect
    .poll(async () => {
      const { rowCount } = await pool.query(
        "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      )
      return rowCount
    }, PATIENT)
    .toBe(1)
  await client.query('commit')
  client.release()
  return (await waiting).rows[0]
}
