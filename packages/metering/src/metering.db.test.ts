import { getAccount } from '@plumbline/db/accounts'
import { openDatabase } from '@plumbline/db/database'
import { expect, test } from 'vitest'
import { openMeteringContext } from '@plumbline/testkit/metering'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { givePack } from './administer.ts'
import { createMetering } from './metering.ts'
import { changePlan, grantGoodwill, grantPack } from './grant.ts'
import { hold, release, settle } from './hold.ts'
import { sweepUnanswered } from './sweep.ts'

test('an account starts with the allowance of its plan', async () => {
  await using context = await openMeteringContext()
  const id = await context.account()
  expect(await context.metering.balance(id)).toMatchObject({
    plan: 'free',
    nextPlan: null,
    allowance: 200,
    packs: 0,
    held: 0,
    available: 200,
  })
  expect(await context.metering.remaining(id)).toBe(200)
})

test('a debit takes the allowance first and then packs', async () => {
  await using context = await openMeteringContext()
  const id = await context.account()
  await grantPack(context.db, id, 'starter', 'pay_1')
  expect(await context.metering.debit({ accountId: id, opKey: 'a', credits: 150 })).toEqual({
    granted: true,
    remaining: 1_050,
  })
  await context.metering.debit({ accountId: id, opKey: 'b', credits: 60 })
  expect(await context.metering.balance(id)).toMatchObject({ allowance: 0, packs: 990 })
  expect(await auditLedger(context.db)).toEqual([])
})

test('a payment is credited once, and to no second account', async () => {
  await using context = await openMeteringContext()
  const [id, other] = [await context.account(), await context.account()]
  const act = { actor: 'ada', pack: 'starter', sourceRef: 'pay_1' }
  expect(await givePack(context.db, { ...act, accountId: id })).toMatchObject({ granted: true })
  expect(await givePack(context.db, { ...act, accountId: id })).toMatchObject({ granted: false })
  await expect(givePack(context.db, { ...act, accountId: other })).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('another account'),
  })
  expect(await context.metering.remaining(other)).toBe(200)
})

test('200 parallel debits on 100 credits grant exactly 100', async () => {
  await using context = await openMeteringContext()
  await using other = openDatabase({
    url: context.url,
    poolSize: 5,
    applicationName: 'other',
  })
  await using second = createMetering(other)
  const id = await context.account()
  await context.metering.debit({ accountId: id, opKey: 'first', credits: 100 })
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, n) =>
      (n % 2 === 0 ? context.metering : second).debit({
        accountId: id,
        opKey: `p${n}`,
        credits: 1,
      }),
    ),
  )
  expect(answers.filter((answer) => answer.granted)).toHaveLength(100)
  expect(await context.metering.remaining(id)).toBe(0)
  expect(await auditLedger(context.db)).toEqual([])
})

test('a batch grants a debit that fits after one that does not', async () => {
  await using context = await openMeteringContext()
  const id = await context.account()
  const credits = [150, 60, 50, 1, 7, 40]
  const answers = await Promise.all(
    credits.map((one, n) =>
      context.metering.debit({ accountId: id, opKey: `g${n}`, credits: one }),
    ),
  )
  expect(answers.map((answer) => answer.granted)).toEqual([true, false, true, false, false, false])
  expect(await context.metering.remaining(id)).toBe(0)
})

test('a debit takes effect once for each key, in one batch and over batches', async () => {
  await using context = await openMeteringContext()
  const id = await context.account()
  const request = { accountId: id, opKey: 'same', credits: 5 }
  const answers = await Promise.all([
    context.metering.debit(request),
    context.metering.debit(request),
  ])
  answers.push(await context.metering.debit(request))
  expect(answers.every((answer) => answer.granted)).toBe(true)
  expect(await context.metering.remaining(id)).toBe(195)
  await expect(context.metering.debit({ ...request, credits: 6 })).rejects.toThrow(/other credits/)
})

test('a debit from before the clock went back by days is refunded no earlier than any other', async () => {
  await using context = await openMeteringContext()
  const accountId = await context.account()
  await context.metering.debit({ accountId, opKey: 'a', credits: 10 })
  await context.db.pool.query(
    `update credit_unanswered set created_at = created_at + interval '2 days'`,
  )
  expect(await sweepUnanswered(context.db, 60)).toEqual([])
  expect(await sweepUnanswered(context.db, 0)).toMatchObject([{ accountId, opKey: 'a' }])
})

test('an unanswered debit is refunded once, an answered one never', async () => {
  await using context = await openMeteringContext()
  const id = await context.account()
  const use = { product: 'email', source: 'api' } as const
  for (const opKey of ['a', 'b', 'c']) {
    await context.metering.debit({ accountId: id, opKey, credits: 10, use })
  }
  expect(await context.metering.finalize({ accountId: id, opKey: 'a' })).toEqual({
    state: 'answered',
    given: 0,
  })
  const refund = { accountId: id, opKey: 'b', reason: 'timeout' }
  expect(await context.metering.refund(refund)).toEqual({ state: 'refunded', given: 10 })
  expect(await context.metering.refund(refund)).toEqual({ state: 'refunded', given: 10 })
  const swept = { accountId: id, opKey: 'c', product: 'email', given: 10 }
  expect(await sweepUnanswered(context.db, 0)).toEqual([swept])
  expect(await sweepUnanswered(context.db, 0)).toEqual([])
  expect(await context.metering.finalize({ accountId: id, opKey: 'c' })).toEqual({
    state: 'refunded',
    given: 10,
  })
  expect(await context.metering.refund({ accountId: id, opKey: 'a', reason: 'late' })).toEqual({
    state: 'answered',
    given: 0,
  })
  expect(await context.metering.finalize({ accountId: id, opKey: 'no' })).toEqual({
    state: 'unknown',
    given: 0,
  })
  expect(await context.metering.remaining(id)).toBe(190)
  await expect(context.metering.debit({ accountId: id, opKey: 'c', credits: 10 })).rejects.toThrow(
    /refunded/,
  )
  expect(await auditLedger(context.db)).toEqual([])
})

test('a debit that another process is closing is left to it, and the others are refunded meanwhile', async () => {
  await using context = await openMeteringContext()
  const accountId = await context.account()
  for (const opKey of ['a', 'b']) await context.metering.debit({ accountId, opKey, credits: 10 })
  const client = await context.db.pool.connect()
  await client.query('begin')
  await client.query(`select credit_answered(array[$1], array['a'])`, [accountId])
  expect(await sweepUnanswered(context.db, -1)).toMatchObject([{ opKey: 'b', given: 10 }])
  await client.query('commit')
  client.release()
  expect(await context.metering.remaining(accountId)).toBe(190)
})

test('closing a debit twice concurrently has the same result as one after the other', async () => {
  await using context = await openMeteringContext()
  const id = await context.account()
  const { metering } = context
  for (const opKey of ['a', 'b', 'c']) await metering.debit({ accountId: id, opKey, credits: 3 })
  const a = { accountId: id, opKey: 'a', reason: 'broken' }
  expect(await Promise.all([metering.refund(a), metering.refund(a)])).toEqual(
    Array.from({ length: 2 }, () => ({ state: 'refunded', given: 3 })),
  )
  const b = { accountId: id, opKey: 'b', giveBack: 2 }
  expect(await Promise.all([metering.finalize(b), metering.finalize(b)])).toEqual(
    Array.from({ length: 2 }, () => ({ state: 'answered', given: 2 })),
  )
  const c = { accountId: id, opKey: 'c' }
  expect(await Promise.all([metering.finalize(c), metering.finalize(c)])).toEqual(
    Array.from({ length: 2 }, () => ({ state: 'answered', given: 0 })),
  )
  expect(await auditLedger(context.db)).toEqual([])
})

test('debits of several accounts that are closed together have their own results', async () => {
  await using context = await openMeteringContext()
  const ids: string[] = []
  for (const _ of [1, 2, 3, 4]) ids.push(await context.account())
  const [full = '', part = '', , answered = ''] = ids
  for (const accountId of [part, full, answered]) {
    await context.metering.debit({ accountId, opKey: 'a', credits: 10 })
  }
  // A grant may have the name of a debit.
  await grantGoodwill(context.db, full, 5, 'a')
  for (const _ of ['the first time', 'repeated']) {
    const { rows } = await context.db.pool.query(
      `select state, given::int from credit_close($1, array['a', 'a', 'a', 'a'], array[99, 4, 99, 0],
         array['refund', 'give_back', 'refund', 'give_back'], array[null, null, null, null])`,
      [ids],
    )
    expect(rows).toEqual([
      { state: 'refunded', given: 10 },
      { state: 'answered', given: 4 },
      { state: 'unknown', given: 0 },
      { state: 'answered', given: 0 },
    ])
  }
  const balances = await Promise.all(ids.map((id) => context.metering.remaining(id)))
  expect(balances).toEqual([205, 194, 200, 190])
  const { rowCount } = await context.db.pool.query(
    "select from credit_entries where kind in ('refund', 'give_back')",
  )
  expect(rowCount).toBe(2)
})

test('an answer refunds at most the debited credits, packs before allowance', async () => {
  await using context = await openMeteringContext()
  const id = await context.account()
  await grantGoodwill(context.db, id, 50, 'sorry')
  await context.metering.debit({ accountId: id, opKey: 'a', credits: 210 })
  expect(await context.metering.finalize({ accountId: id, opKey: 'a', giveBack: 15 })).toEqual({
    state: 'answered',
    given: 15,
  })
  expect(await context.metering.balance(id)).toMatchObject({ allowance: 5, packs: 50 })
  await context.metering.debit({ accountId: id, opKey: 'b', credits: 3 })
  expect(await context.metering.finalize({ accountId: id, opKey: 'b', giveBack: 9 })).toEqual({
    state: 'answered',
    given: 3,
  })
  expect(await auditLedger(context.db)).toEqual([])
})

test('a hold settles once for each key and releases the rest', async () => {
  await using context = await openMeteringContext()
  const { db, metering } = context
  const id = await context.account()
  const work = db.kysely
  const held = { accountId: id, ref: 'bat_1', credits: 120 }
  const grants = await work.transaction().execute((tx) => hold(tx, held))
  expect(grants).toEqual({ granted: true, remaining: 80 })
  expect(await work.transaction().execute((tx) => hold(tx, held))).toEqual(grants)
  expect(await work.transaction().execute((tx) => hold(tx, { ...held, ref: 'bat_2' }))).toEqual({
    granted: false,
    lacks: 'balance',
    available: 80,
  })
  const part = { accountId: id, ref: 'bat_1', opKey: 'bat_1:0', credits: 50 }
  expect(await work.transaction().execute((tx) => settle(tx, part))).toBe(true)
  expect(await work.transaction().execute((tx) => settle(tx, part))).toBe(false)
  expect(await metering.balance(id)).toMatchObject({ allowance: 80, held: 70 })
  await expect(
    work.transaction().execute((tx) => settle(tx, { ...part, opKey: 'x', credits: 71 })),
  ).rejects.toThrow(/70 credits left/)
  const rest = { accountId: id, ref: 'bat_1', opKey: 'bat_1:end' }
  expect(await work.transaction().execute((tx) => release(tx, rest))).toBe(70)
  expect(await work.transaction().execute((tx) => release(tx, rest))).toBeUndefined()
  expect(await metering.balance(id)).toMatchObject({ allowance: 150, held: 0 })
  expect(await auditLedger(db)).toEqual([])
})

test('a larger plan grants the difference at once, a smaller one starts with the next cycle', async () => {
  await using context = await openMeteringContext()
  const { db, metering } = context
  await context.account('pro')
  const id = await context.account()
  expect(await changePlan(context.db, id, 'starter')).toEqual({
    plan: 'starter',
    nextPlan: null,
    granted: 4_800,
  })
  expect(await changePlan(context.db, id, 'free')).toEqual({
    plan: 'starter',
    nextPlan: 'free',
    granted: 0,
  })
  expect((await getAccount(db, id))?.nextPlan).toBe('free')
  expect(await changePlan(context.db, id, 'starter')).toMatchObject({ nextPlan: null, granted: 0 })
  expect(await metering.remaining(id)).toBe(5_000)
  expect(await auditLedger(db)).toEqual([])
})

test('a plan with as many credits takes effect with the next cycle', async () => {
  await using context = await openMeteringContext()
  const id = await context.account('starter')
  await context.db.pool.query(
    `update plans set monthly_credits = (select monthly_credits from plans where plan = 'starter')
     where plan = 'pro'`,
  )
  expect(await changePlan(context.db, id, 'pro')).toEqual({
    plan: 'starter',
    nextPlan: 'pro',
    granted: 0,
  })
})

test('a larger plan is granted as often as it is chosen in a cycle, after a change of the offers', async () => {
  await using context = await openMeteringContext()
  const { pool } = context.db
  const id = await context.account()
  const offer = (plan: string, credits: number): Promise<unknown> =>
    pool.query('update plans set monthly_credits = $2 where plan = $1', [plan, credits])
  expect(await changePlan(context.db, id, 'starter')).toMatchObject({ granted: 4_800 })
  await offer('free', 6_000)
  expect(await changePlan(context.db, id, 'free')).toMatchObject({ granted: 1_000 })
  await offer('starter', 6_500)
  expect(await changePlan(context.db, id, 'starter')).toMatchObject({ granted: 500 })
  expect(await context.metering.remaining(id)).toBe(6_500)
  expect(await auditLedger(context.db)).toEqual([])
})

test('the ledger rejects changes of its entries', async () => {
  await using context = await openMeteringContext()
  await context.account()
  for (const statement of [
    'update credit_entries set packs_delta = 9',
    'delete from credit_entries',
    'truncate credit_entries',
  ]) {
    await expect(context.db.pool.query(statement)).rejects.toThrow(/append-only/)
  }
})
