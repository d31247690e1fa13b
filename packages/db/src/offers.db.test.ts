import { createTestDatabase, servingUrlOf } from '@plumbline/testkit/postgres'
import { expect, test } from 'vitest'
import { createAccount } from './accounts.ts'
import { listAudit } from './audit-log.ts'
import { openDatabase, type Db } from './database.ts'
import { readLimits, readOwnLimits, setOwnLimits } from './limits.ts'
import { changePackOffer, changePlanOffer, listPacks, listPlans } from './offers.ts'
import { grantServing } from './serving-role.ts'

async function openServing(): Promise<{ db: Db } & AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase())
  const options = { poolSize: 2, applicationName: 'test' }
  const owner = stack.use(openDatabase({ url: database.url, ...options }))
  const url = servingUrlOf(database.url)
  await grantServing(owner, url)
  const db = stack.use(openDatabase({ url, ...options }))
  const owned = stack.move()
  return { db, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

test('a plan is changed and created by the serving role, and each change is in the audit log', async () => {
  await using place = await openServing()
  const { db } = place
  const changes = { monthly_credits: 30_000, calls_per_second: 100, price_cents: 4_900 }
  await changePlanOffer(db, { actor: 'ada', plan: 'pro', changes })
  await changePlanOffer(db, { actor: 'ada', plan: 'pro', changes: { calls_per_second: null } })
  const created = { monthly_credits: 1_000_000, unfinished_batches: 50 }
  await changePlanOffer(db, { actor: 'ada', plan: 'large-1', changes: created })
  const plans = new Map((await listPlans(db)).map((row) => [row.plan, row]))
  expect(plans.get('pro')).toMatchObject({
    monthly_credits: 30_000,
    test_keys: true,
    price_cents: 4_900,
    calls_per_second: null,
  })
  expect(plans.get('large-1')).toMatchObject({ ...created, test_keys: true, is_offered: true })
  const log = await listAudit(db, { accountId: undefined, limit: 10 })
  expect(log.map(({ actor, action }) => [actor, action])).toEqual(
    Array.from({ length: 3 }, () => ['ada', 'plan.change']),
  )
  expect(log[0]?.before).toBeNull()
  expect(log[1]).toMatchObject({
    before: { plan: 'pro', calls_per_second: 100 },
    after: { plan: 'pro', calls_per_second: null },
  })
})

test('a pack is changed and created; one that is no longer offered stays for the ledger', async () => {
  await using place = await openServing()
  const { db } = place
  await changePackOffer(db, { actor: 'ada', pack: 'growth', changes: { is_offered: false } })
  const changes = { credits: 100, price_cents: 390 }
  await changePackOffer(db, { actor: 'ada', pack: 'small', changes })
  const packs = new Map((await listPacks(db)).map((row) => [row.pack, row]))
  expect(packs.get('growth')).toMatchObject({ credits: 5_000, is_offered: false })
  expect(packs.get('small')).toMatchObject(changes)
})

test.for([
  ['a name that is none', 'Pro!', { monthly_credits: 1 }],
  ['a new plan without credits', 'gold', { price_cents: 1 }],
] as const)('%s is refused', async ([, plan, changes]) => {
  await using place = await openServing()
  await expect(changePlanOffer(place.db, { actor: 'ada', plan, changes })).rejects.toMatchObject({
    code: 'unprocessable',
  })
})

test("an account's own limits apply, then those of its plan, then none", async () => {
  await using place = await openServing()
  const { db } = place
  const { id } = await createAccount(db, { email: 'a@b.example', plan: 'pro' })
  const changes = { calls_per_second: 80, upload_rows: 1_000 }
  await changePlanOffer(db, { actor: 'ada', plan: 'pro', changes })
  await db.kysely.transaction().execute(async (tx) => {
    await setOwnLimits(tx, id, { upload_rows: 7, unfinished_batches: 0 })
    await setOwnLimits(tx, id, { hlr_numbers_per_day: 3 })
  })
  expect(await readLimits(db, id)).toEqual({
    calls_per_second: 80,
    calls_burst: null,
    unfinished_batches: 0,
    upload_rows: 7,
    hlr_numbers_per_day: 3,
  })
  await db.kysely.transaction().execute((tx) => setOwnLimits(tx, id, { upload_rows: null }))
  expect((await readLimits(db, id)).upload_rows).toBe(1_000)
  expect(await readOwnLimits(db, id)).toMatchObject({ upload_rows: null, hlr_numbers_per_day: 3 })
})

test('an account with an unknown plan is refused with a list of the plans', async () => {
  await using place = await openServing()
  const wanted = { email: 'a@b.example', plan: 'gold' }
  await expect(createAccount(place.db, wanted)).rejects.toThrow('free, starter, pro')
})
