import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openMeteringContext } from '@plumbline/testkit/metering'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { changePlan, grantGoodwill, grantPack } from './grant.ts'
import { hold, release, settle } from './hold.ts'
import { startDueCycles } from './sweep.ts'

test.for<[anchor: string, zone: string, starts: readonly string[]]>([
  [
    '2026-01-31',
    'UTC',
    ['2026-01-31T00:00Z', '2026-02-28T00:00Z', '2026-03-31T00:00Z', '2026-04-30T00:00Z'],
  ],
  ['2028-01-30', 'UTC', ['2028-01-30T00:00Z', '2028-02-29T00:00Z', '2028-03-30T00:00Z']],
  // Winter to summer time on 29 March 2026.
  ['2026-02-15', 'Europe/Berlin', ['2026-02-14T23:00Z', '2026-03-14T23:00Z', '2026-04-14T22:00Z']],
  // 6 September 2026 starts at 01:00 in Santiago.
  [
    '2026-08-06',
    'America/Santiago',
    ['2026-08-06T04:00Z', '2026-09-06T04:00Z', '2026-10-06T03:00Z'],
  ],
  ['2026-01-01', 'Asia/Kathmandu', ['2025-12-31T18:15Z', '2026-01-31T18:15Z']],
])('cycles from %s in %s start at the anchor’s local midnight', async ([anchor, zone, starts]) => {
  await using context = await openMeteringContext()
  for (const [period, start] of starts.entries()) {
    const { rows } = await context.db.pool.query<{ at: Date }>(
      'select credit_period_start($1, $2, $3) as at',
      [anchor, zone, period],
    )
    expect(rows[0]?.at.toISOString()).toBe(new Date(start).toISOString())
  }
})

test('every moment belongs to exactly the cycle whose bounds contain it', async () => {
  await using context = await openMeteringContext()
  const day = (year: number) => Date.UTC(year, 0, 1)
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: day(2024), max: day(2027) }),
      fc.integer({ min: 0, max: 4_000 * 86_400_000 }),
      fc.constantFrom('UTC', 'Europe/Berlin', 'America/St_Johns', 'Pacific/Apia', 'Africa/Cairo'),
      async (anchored, laterMs, zone) => {
        const { rows } = await context.db.pool.query<{ k: number; inside: boolean }>(
          `select k, credit_period_start(a, $2, k) <= $3 and $3 < credit_period_start(a, $2, k + 1)
             as inside
           from (select date_trunc('day', $1::timestamptz at time zone $2) as a) x,
             credit_period_at(a, $2, $3) as k`,
          [new Date(anchored), zone, new Date(anchored + laterMs)],
        )
        expect(rows[0]?.inside).toBe(true)
        expect(rows[0]?.k).toBeGreaterThanOrEqual(0)
      },
    ),
    { numRuns: 300 },
  )
})

test('a new cycle expires the rest of the allowance and keeps the packs', async () => {
  await using context = await openMeteringContext()
  const id = await context.account('starter')
  await grantPack(context.db, id, 'growth', 'pay_1')
  await context.metering.debit({ accountId: id, opKey: 'a', credits: 100 })
  await context.age(id, 1)
  expect(await context.metering.remaining(id)).toBe(10_000)
  const balance = await context.metering.balance(id)
  expect(balance).toMatchObject({ allowance: 5_000, packs: 5_000 })
  expect(balance?.resetsAt.getTime()).toBeGreaterThan(Date.now())
  expect(await auditLedger(context.db)).toEqual([])
})

test('several missed cycles are turned with one grant', async () => {
  await using context = await openMeteringContext()
  const id = await context.account('free')
  await context.age(id, 7)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      context.metering.debit({ accountId: id, opKey: `n${n}`, credits: 10 }),
    ),
  )
  expect(answers.every((answer) => answer.granted)).toBe(true)
  expect(await context.metering.remaining(id)).toBe(0)
  const { rowCount } = await context.db.pool.query(
    "select from credit_entries where account_id = $1 and kind = 'grant'",
    [id],
  )
  expect(rowCount).toBe(2)
  expect(await auditLedger(context.db)).toEqual([])
})

test('a smaller plan takes effect with the new cycle', async () => {
  await using context = await openMeteringContext()
  const id = await context.account('pro')
  await changePlan(context.db, id, 'starter')
  await context.age(id, 1)
  expect(await startDueCycles(context.db)).toBe(1)
  expect(await startDueCycles(context.db)).toBe(0)
  expect(await context.metering.balance(id)).toMatchObject({
    plan: 'starter',
    nextPlan: null,
    allowance: 5_000,
  })
})

test('credits released from a hold of an ended cycle are not returned, those of packs are', async () => {
  await using context = await openMeteringContext()
  const { metering, db } = context
  const id = await context.account('free')
  await grantGoodwill(context.db, id, 100, 'gift')
  const work = db.kysely.transaction()
  await work.execute((tx) => hold(tx, { accountId: id, ref: 'b', credits: 250 }))
  await context.age(id, 1)
  expect(await metering.balance(id)).toMatchObject({ allowance: 200, packs: 50, held: 250 })
  await work.execute((tx) => settle(tx, { accountId: id, ref: 'b', opKey: 'b:0', credits: 20 }))
  expect(await work.execute((tx) => release(tx, { accountId: id, ref: 'b', opKey: 'b:end' }))).toBe(
    230,
  )
  expect(await metering.balance(id)).toMatchObject({ allowance: 200, packs: 100, held: 0 })
  expect(await auditLedger(db)).toEqual([])
})

test('a debit refunded in a later cycle returns its packs only', async () => {
  await using context = await openMeteringContext()
  const { metering, db } = context
  const id = await context.account('free')
  await grantGoodwill(context.db, id, 100, 'gift')
  await metering.debit({ accountId: id, opKey: 'a', credits: 230 })
  await context.age(id, 1)
  expect(await metering.refund({ accountId: id, opKey: 'a', reason: 'killed' })).toEqual({
    state: 'refunded',
    given: 30,
  })
  expect(await metering.balance(id)).toMatchObject({ allowance: 200, packs: 100 })
  expect(await auditLedger(db)).toEqual([])
})

test('many concurrent callers at the boundary turn the cycle once', async () => {
  await using context = await openMeteringContext()
  const id = await context.account('starter')
  await context.age(id, 1)
  await Promise.all([
    ...Array.from({ length: 50 }, (_, n) =>
      context.metering.debit({ accountId: id, opKey: `n${n}`, credits: 1 }),
    ),
    ...Array.from({ length: 50 }, () => context.metering.balance(id)),
    ...Array.from({ length: 5 }, () => startDueCycles(context.db)),
  ])
  expect(await context.metering.remaining(id)).toBe(4_950)
  expect(await auditLedger(context.db)).toEqual([])
})
