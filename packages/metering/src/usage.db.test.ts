import type { LedgerEntry } from '@plumbline/contract/ledger'
import { PRODUCTS } from '@plumbline/contract/products'
import { openMeteringContext, type MeteringContext } from '@plumbline/testkit/metering'
import { expect, test } from 'vitest'
import { hold, release, settle } from './hold.ts'
import { readLedger, type LedgerPosition } from './ledger.ts'
import { readUsage, type UsageRequest } from './usage.ts'

const ALL: UsageRequest = { from: null, to: null, by: ['day', 'product', 'source'] }

async function wholeLedger(
  { db }: MeteringContext,
  id: string,
  limit: number,
): Promise<readonly LedgerEntry[]> {
  const entries: LedgerEntry[] = []
  let place: LedgerPosition | undefined
  for (;;) {
    const slice = await readLedger(db, id, { limit, place })
    entries.push(...slice.entries)
    if (slice.next === null) return entries
    place = slice.next
  }
}

/** A batch with a hold that is settled in parts and released. */
async function runBatch(
  { db }: MeteringContext,
  request: { accountId: string; ref: string; credits: number },
  parts: readonly number[],
): Promise<void> {
  const atomic = db.kysely.transaction()
  const { accountId, ref } = request
  await atomic.execute((tx) => hold(tx, { ...request, product: 'email' }))
  for (const [n, credits] of parts.entries()) {
    const opKey = `${ref}:${n}`
    await atomic.execute((tx) => settle(tx, { accountId, ref, opKey, credits, records: credits }))
  }
  await atomic.execute((tx) => release(tx, { accountId, ref, opKey: `${ref}:release` }))
}

test('usage counts calls by product and source, less refunded ones, and none of another account', async () => {
  await using context = await openMeteringContext()
  const { db, metering } = context
  const id = await context.account('starter')
  const other = await context.account('starter')
  const debit = async (opKey: string, product: 'email' | 'phone', source: 'api' | 'app') => {
    for (const accountId of [id, other]) {
      await metering.debit({ accountId, opKey, credits: 2, use: { product, source } })
    }
  }
  await Promise.all([debit('a', 'email', 'api'), debit('b', 'email', 'api')])
  await debit('c', 'phone', 'app')
  await debit('d', 'phone', 'api')
  await metering.refund({ accountId: id, opKey: 'd', reason: 'timeout' })
  await metering.finalize({ accountId: id, opKey: 'c', giveBack: 1 })
  await runBatch(context, { accountId: id, ref: 'bat_1', credits: 10 }, [4, 3])
  const usage = await readUsage(db, id, { ...ALL, by: ['product', 'source'] })
  expect(usage?.data).toEqual([
    { product: 'email', source: 'api', operations: 2, credits: 4 },
    { product: 'email', source: 'batch', operations: 7, credits: 7 },
    { product: 'phone', source: 'app', operations: 1, credits: 1 },
  ])
  expect(usage?.total).toEqual({ operations: 10, credits: 12 })
  expect((await readUsage(db, id, { ...ALL, by: ['source'] }))?.data).toEqual([
    { source: 'api', operations: 2, credits: 4 },
    { source: 'app', operations: 1, credits: 1 },
    { source: 'batch', operations: 7, credits: 7 },
  ])
  expect((await readUsage(db, id, { ...ALL, by: [] }))?.data).toEqual([
    { operations: 10, credits: 12 },
  ])
  const past = await readUsage(db, id, { ...ALL, from: '2025-01-01', to: '2025-01-31' })
  expect(past).toMatchObject({ from: '2025-01-01', to: '2025-01-31', data: [] })
  expect(await readUsage(db, 'acc_nobody', ALL)).toBeUndefined()
  expect((await readUsage(db, other, { ...ALL, by: ['product', 'source'] }))?.data).toEqual([
    { product: 'email', source: 'api', operations: 2, credits: 4 },
    { product: 'phone', source: 'api', operations: 1, credits: 2 },
    { product: 'phone', source: 'app', operations: 1, credits: 2 },
  ])
})

test('usage is counted by days in the account’s time zone', async () => {
  await using context = await openMeteringContext()
  // 25 hours apart, so never on the same day.
  const zones = ['Pacific/Kiritimati', 'Pacific/Pago_Pago']
  const days = await Promise.all(
    zones.map(async (zone) => {
      const id = await context.account('free', zone)
      const use = { product: 'ip', source: 'api' } as const
      await context.metering.debit({ accountId: id, opKey: 'a', credits: 1, use })
      return (await readUsage(context.db, id, { ...ALL, by: ['day'] }))?.data[0]?.day ?? ''
    }),
  )
  const [east, west] = days
  const local = (zone: string) => new Intl.DateTimeFormat('sv', { timeZone: zone }).format()
  expect([east, west]).toEqual(zones.map(local))
  expect(east).not.toBe(west)
})

test('usage agrees with the ledger, and each balance with its entry, under concurrent moves', async () => {
  await using context = await openMeteringContext()
  const { db, metering } = context
  const id = await context.account('starter')
  const calls = Array.from({ length: 120 }, async (_, n) => {
    const product = PRODUCTS[n % PRODUCTS.length] ?? 'email'
    const use = { product, source: n % 2 === 0 ? 'api' : 'app' } as const
    const request = { accountId: id, opKey: `k${n}`, credits: 1 + (n % 5), use }
    const { granted } = await metering.debit(request)
    if (granted && n % 3 === 0) await metering.refund({ ...request, reason: 'internal' })
    else if (granted) await metering.finalize({ ...request, giveBack: n % 4 === 0 ? 1 : 0 })
  })
  const batches = Array.from({ length: 8 }, (_, n) =>
    runBatch(context, { accountId: id, ref: `bat_${n}`, credits: 100 }, [n, 20, 2 * n]),
  )
  await Promise.all([...calls, ...batches])
  const ledger = await wholeLedger(context, id, 7)
  expect(ledger).toEqual(await wholeLedger(context, id, 1_000))
  for (const [index, entry] of ledger.entries()) {
    const before = ledger[index + 1]?.balance ?? 0
    expect(entry.balance).toBe(before + entry.credits)
  }
  const balance = await metering.balance(id)
  expect(ledger[0]?.balance).toBe(balance?.available)
  const spent = ledger.reduce((sum, { kind, credits, held }) => {
    if (kind === 'settle') return sum - held
    return kind === 'debit' || kind === 'refund' || kind === 'give_back' ? sum - credits : sum
  }, 0)
  const { rows } = await db.pool.query<{ spent: number; least: number }>(
    `select c.spent, (select min(credits) from credit_usage u where u.account_id = c.account_id) as least
     from credit_accounts c where account_id = $1`,
    [id],
  )
  expect((await readUsage(db, id, ALL))?.total.credits).toBe(spent)
  expect(rows[0]?.spent).toBe(spent)
  expect(rows[0]?.least).toBeGreaterThanOrEqual(0)
})

test('usage before midnight counts for its day, even if refunded after midnight', async () => {
  await using context = await openMeteringContext()
  const { db, metering } = context
  const id = await context.account()
  const use = { product: 'email', source: 'api' } as const
  for (const opKey of ['a', 'b']) await metering.debit({ accountId: id, opKey, credits: 1, use })
  // As if those were yesterday's: entries cannot be changed, so the rows that count them are moved
  // together with the day.
  await db.pool.query(`alter table credit_entries disable trigger append_only`)
  await db.pool.query(`update credit_entries set used_on = used_on - 1`)
  await db.pool.query(`update credit_usage set day = day - 1`)
  await db.pool.query(`update credit_accounts set day = day - 1, day_end = now()`)
  await metering.debit({ accountId: id, opKey: 'c', credits: 5, use })
  await metering.refund({ accountId: id, opKey: 'a', reason: 'timeout' })
  const usage = await readUsage(db, id, { ...ALL, by: ['day'] })
  expect(usage?.data.map(({ credits }) => credits)).toEqual([1, 5])
  const { rows } = await db.pool.query('select spent from credit_accounts')
  expect(rows).toEqual([{ spent: 5 }])
})
