import { openDatabase } from '@plumbline/db/database'
import { listAudit } from '@plumbline/db/audit-log'
import { openMeteringContext, type MeteringContext } from '@plumbline/testkit/metering'
import { expect, test } from 'vitest'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { hold, release, settle } from './hold.ts'
import { createMetering } from './metering.ts'
import { readSpending, setSpending, takeLowCredits } from './spending.ts'

async function limited(
  { db, account }: MeteringContext,
  bounds: { dailyLimit?: number | null; lowMark?: number | null },
): Promise<string> {
  const id = await account('starter')
  await setSpending(db, { actor: 'ada', accountId: id, bounds })
  return id
}

test('concurrent callers, batches and refunds never spend more than the daily limit', async () => {
  await using context = await openMeteringContext()
  const { db, metering } = context
  await using other = openDatabase({ url: context.url, poolSize: 5, applicationName: 'other' })
  await using second = createMetering(other)
  const id = await limited(context, { dailyLimit: 300 })
  let most = 0
  let over = false
  const watch = setInterval(() => {
    void readSpending(db, id).then((spending) => {
      most = Math.max(most, spending?.today ?? 0)
    })
  }, 5)
  const calls = Array.from({ length: 400 }, async (_, n) => {
    const request = { accountId: id, opKey: `c${n}`, credits: 1 + (n % 4) }
    const answer = await (n % 2 === 0 ? metering : second).debit(request)
    if (!answer.granted) over ||= answer.lacks !== 'daily_limit'
    else if (n % 5 === 0) await metering.refund({ ...request, reason: 'internal' })
    else await metering.finalize(request)
  })
  const batches = Array.from({ length: 12 }, async (_, n) => {
    const request = { accountId: id, ref: `b${n}`, credits: 40 }
    const held = await db.kysely.transaction().execute((tx) => hold(tx, request))
    if (!held.granted) return
    const part = { accountId: id, ref: request.ref, opKey: `b${n}:0`, credits: 10, records: 10 }
    await db.kysely.transaction().execute((tx) => settle(tx, part))
    await db.kysely
      .transaction()
      .execute((tx) => release(tx, { accountId: id, ref: request.ref, opKey: `b${n}:end` }))
  })
  await Promise.all([...calls, ...batches])
  clearInterval(watch)
  expect(over).toBe(false)
  expect(most).toBeLessThanOrEqual(300)
  const { rows } = await db.pool.query<{ spent: number }>(
    `select (5000 - allowance - packs)::bigint as spent from credit_accounts where account_id = $1`,
    [id],
  )
  const spending = await readSpending(db, id)
  expect(spending?.today).toBe(rows[0]?.spent)
  expect(spending?.today).toBeLessThanOrEqual(300)
  expect(await auditLedger(db)).toEqual([])
})

test('a daily limit refuses a debit beyond it, and grants one that fits after it', async () => {
  await using context = await openMeteringContext()
  const { metering } = context
  const id = await limited(context, { dailyLimit: 10 })
  const debit = (opKey: string, credits: number) =>
    metering.debit({ accountId: id, opKey, credits })
  const [first, second, third] = await Promise.all([debit('a', 8), debit('b', 5), debit('c', 2)])
  expect(first).toMatchObject({ granted: true })
  expect(second).toEqual({ granted: false, available: expect.any(Number), lacks: 'daily_limit' })
  expect(third).toMatchObject({ granted: true })
  // A repeat of a debit is not counted again.
  expect(await debit('a', 8)).toMatchObject({ granted: true })
  await metering.refund({ accountId: id, opKey: 'a', reason: 'timeout' })
  expect(await debit('d', 8)).toMatchObject({ granted: true })
})

test('a hold counts in full on its day, without the credits released on that day', async () => {
  await using context = await openMeteringContext()
  const { db } = context
  const id = await limited(context, { dailyLimit: 100 })
  const atomic = db.kysely.transaction()
  const request = { accountId: id, ref: 'b', credits: 80 }
  expect(await atomic.execute((tx) => hold(tx, request))).toMatchObject({ granted: true })
  expect(await atomic.execute((tx) => hold(tx, { ...request, ref: 'c', credits: 21 }))).toEqual({
    granted: false,
    available: 4_920,
    lacks: 'daily_limit',
  })
  const part = { accountId: id, ref: 'b', opKey: 'b:0', credits: 30 }
  await atomic.execute((tx) => settle(tx, part))
  await atomic.execute((tx) => release(tx, { accountId: id, ref: 'b', opKey: 'b:end' }))
  expect(await readSpending(db, id)).toMatchObject({ today: 30 })
})

test('a new day begins with nothing spent, and refunds of the day before do not count for it', async () => {
  await using context = await openMeteringContext()
  const { db, metering } = context
  const id = await limited(context, { dailyLimit: 10 })
  const atomic = db.kysely.transaction()
  await metering.debit({ accountId: id, opKey: 'a', credits: 4 })
  await atomic.execute((tx) => hold(tx, { accountId: id, ref: 'b', credits: 6 }))
  await db.pool.query(
    'update credit_accounts set day = day - 1, day_end = now() where account_id = $1',
    [id],
  )
  await db.pool.query('update credit_holds set used_on = used_on - 1')
  expect(await metering.debit({ accountId: id, opKey: 'c', credits: 10 })).toMatchObject({
    granted: true,
  })
  await atomic.execute((tx) => release(tx, { accountId: id, ref: 'b', opKey: 'b:end' }))
  expect(await readSpending(db, id)).toMatchObject({ today: 10 })
})

test('after the clock was set back, a daily limit counts one day, not those until it has caught up', async () => {
  await using context = await openMeteringContext()
  const { db, metering } = context
  const [called, held] = [
    await limited(context, { dailyLimit: 10 }),
    await limited(context, { dailyLimit: 10 }),
  ]
  const spend = (opKey: string) => [
    metering.debit({ accountId: called, opKey, credits: 10 }),
    db.kysely.transaction().execute((tx) => hold(tx, { accountId: held, ref: opKey, credits: 10 })),
  ]
  for (const answer of await Promise.all(spend('a')))
    expect(answer).toMatchObject({ granted: true })
  await db.pool.query(
    `update credit_accounts set day = day + 2, day_end = day_end + interval '2 days'`,
  )
  expect(await readSpending(db, called)).toMatchObject({ today: 0 })
  for (const answer of await Promise.all(spend('b')))
    expect(answer).toMatchObject({ granted: true })
  for (const answer of await Promise.all(spend('c')))
    expect(answer).toMatchObject({ granted: false })
})

test('falling below the low-credit mark is recorded once a day, whatever the cause, and an event', async () => {
  await using context = await openMeteringContext()
  const { db, metering } = context
  const id = await limited(context, { lowMark: 4_990 })
  await db.pool.query(
    `insert into webhook_endpoints (id, account_id, url, events, secret)
     values ('whk_0000000000000001', $1, 'https://example.com', '{credits.low}', '')`,
    [id],
  )
  const debit = (opKey: string) => metering.debit({ accountId: id, opKey, credits: 6 })
  const take = () => db.kysely.transaction().execute((tx) => takeLowCredits(tx, 10))
  await debit('a')
  expect(await take()).toEqual([])
  await debit('b')
  await metering.refund({ accountId: id, opKey: 'b', reason: 'timeout' })
  await debit('c')
  expect(await take()).toMatchObject([{ accountId: id, available: 4_988, lowMark: 4_990 }])
  expect(await take()).toEqual([])
  const { rows: events } = await db.pool.query('select account_id, type from webhook_events')
  expect(events).toEqual([{ account_id: id, type: 'credits.low' }])
  const held = await limited(context, { lowMark: 10 })
  const request = { accountId: held, ref: 'b', credits: 4_995 }
  await db.kysely.transaction().execute((tx) => hold(tx, request))
  expect(await take()).toMatchObject([{ accountId: held, available: 5 }])
})

test('a balance that reaches zero is an event, and not again while it stays there', async () => {
  await using context = await openMeteringContext()
  const { db, metering } = context
  const id = await context.account('free')
  await db.pool.query(
    `insert into webhook_endpoints (id, account_id, url, events, secret)
     values ('whk_0000000000000001', $1, 'https://example.com', '{credits.exhausted}', '')`,
    [id],
  )
  const countEvents = async () => (await db.pool.query('select from webhook_events')).rowCount
  await metering.debit({ accountId: id, opKey: 'a', credits: 199 })
  expect(await countEvents()).toBe(0)
  await metering.debit({ accountId: id, opKey: 'b', credits: 1 })
  expect(await countEvents()).toBe(1)
  // A month of a plan without credits.
  await db.pool.query('update plans set monthly_credits = 0')
  await context.age(id, 1)
  expect(await metering.balance(id)).toMatchObject({ available: 0 })
  expect(await countEvents()).toBe(1)
})

test('raising the mark above the balance counts as falling below it, other changes of the mark do not', async () => {
  await using context = await openMeteringContext()
  const { db } = context
  const id = await limited(context, { lowMark: 10 })
  const take = () => db.kysely.transaction().execute((tx) => takeLowCredits(tx, 10))
  const mark = (lowMark: number | null) =>
    setSpending(db, { actor: 'ada', accountId: id, bounds: { lowMark } })
  await mark(5_000)
  expect(await take()).toEqual([])
  await mark(5_001)
  expect(await take()).toMatchObject([{ accountId: id, available: 5_000, lowMark: 5_001 }])
  await db.pool.query('delete from credit_notices')
  await mark(6_000)
  expect(await take()).toEqual([])
  await mark(null)
  await mark(5_002)
  expect(await take()).toMatchObject([{ accountId: id, available: 5_000, lowMark: 5_002 }])
})

test('a notice that nobody was told within a day is not told any more', async () => {
  await using context = await openMeteringContext()
  const { db, metering } = context
  // As without mail, which an operator may set up later.
  for (let day = 1; day <= 3; day++) {
    const past = await limited(context, { lowMark: 4_990 })
    await metering.debit({ accountId: past, opKey: 'a', credits: 20 })
    await db.pool.query(
      `update credit_notices set noted_at = noted_at - interval '25 hours' where account_id = $1`,
      [past],
    )
  }
  const id = await limited(context, { lowMark: 4_990 })
  await metering.debit({ accountId: id, opKey: 'a', credits: 20 })
  const take = () => db.kysely.transaction().execute((tx) => takeLowCredits(tx, 10))
  expect(await take()).toMatchObject([{ accountId: id, available: 4_980 }])
  expect(await take()).toEqual([])
})

test('limits are changed one by one, removed, and written to the audit log with their author', async () => {
  await using context = await openMeteringContext()
  const { db } = context
  const id = await limited(context, { dailyLimit: 10 })
  await setSpending(db, { actor: 'ada', accountId: id, bounds: { lowMark: 5 } })
  expect(await readSpending(db, id)).toEqual({ dailyLimit: 10, lowMark: 5, today: 0 })
  await setSpending(db, { actor: 'ada', accountId: id, bounds: { dailyLimit: null } })
  expect(await readSpending(db, id)).toEqual({ dailyLimit: null, lowMark: 5, today: 0 })
  const log = await listAudit(db, { accountId: id, limit: 10 })
  expect(log.map(({ action, after }) => [action, after])).toEqual([
    ['account.spending', { daily_limit: null, low_mark: 5 }],
    ['account.spending', { daily_limit: 10, low_mark: 5 }],
    ['account.spending', { daily_limit: 10, low_mark: null }],
  ])
  const bounds = { dailyLimit: 1.5 }
  await expect(setSpending(db, { actor: 'ada', accountId: id, bounds })).rejects.toThrow(RangeError)
})
