import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { createAccount } from './accounts.ts'
import { countBuyers, createPostgresBudget, readSpending } from './budget.ts'
import { inTransaction, openDatabase } from './database.ts'
import { startEmbeddedPostgres } from './embedded.ts'
import { setOwnLimits } from './limits.ts'
import { migrate } from './migrate.ts'
import { changePlanOffer } from './offers.ts'
import { openTestDatabase } from '@plumbline/testkit/database'
import { PATIENT } from '@plumbline/testkit/patience'

test('a daily budget is never overspent by concurrent callers, and unspent amounts are returned', async () => {
  await using db = await openTestDatabase(8)
  const budget = createPostgresBudget(db)
  const taken = await Promise.all(Array.from({ length: 40 }, () => budget.take('busy', 7, 100)))
  expect(taken.reduce((sum, { count }) => sum + count, 0)).toBe(100)
  expect(taken.filter(({ count }) => count > 0)).toHaveLength(15)
  const [first] = taken.filter(({ count }) => count === 7)
  await first?.giveBack(5)
  await first?.giveBack(5)
  expect((await budget.take('busy', 50, 100)).count).toBe(7)
  expect(await readSpending(db)).toEqual(new Map([['busy', 100]]))
  expect((await budget.take('busy', 50, 60)).count).toBe(0)
  expect((await budget.take('other', 3, 0)).count).toBe(0)
})

test('accounts are counted, and those that have spent all, without their names', async () => {
  await using db = await openTestDatabase()
  const budget = createPostgresBudget(db)
  for (const [name, count] of [
    ['a:1', 4],
    ['a:2', 10],
    ['a:3', 0],
    ['b', 7],
  ] as const) {
    await budget.take(name, count, 10)
  }
  expect(await countBuyers(db, 'a:', 10)).toEqual({ buying: 2, capped: 1 })
  expect(await readSpending(db, ['a:'])).toEqual(new Map([['b', 7]]))
})

test('an account has reached its own limit, or that of its plan, where it has one', async () => {
  await using db = await openTestDatabase()
  const budget = createPostgresBudget(db)
  const account = async (plan: string, bought: number, own?: number): Promise<void> => {
    const { id } = await createAccount(db, { email: 'a@b.example', plan })
    await budget.take(`a:${id}`, bought, bought)
    if (own === undefined) return
    const limits = { hlr_numbers_per_day: own }
    await inTransaction(db, (tx) => setOwnLimits(tx, id, limits))
  }
  const changes = { hlr_numbers_per_day: 3 }
  await changePlanOffer(db, { actor: 'ada', plan: 'starter', changes })
  await account('pro', 5, 5)
  await account('pro', 10, 20)
  await account('starter', 3)
  await account('starter', 3, 4)
  await account('free', 10)
  expect(await countBuyers(db, 'a:', 10)).toEqual({ buying: 5, capped: 3 })
})

test('each day has its own budget', async () => {
  await using db = await openTestDatabase(8)
  const budget = createPostgresBudget(db)
  const yesterday = await budget.take('daily', 10, 10)
  await db.pool.query(`update budgets set day = day - 1 where name = 'daily'`)
  expect((await budget.take('daily', 10, 10)).count).toBe(10)
  // Returned to the day it was taken from, not to the current one.
  await yesterday.giveBack(10)
  await db.pool.query(`update budgets set day = day - 1 where name = 'daily'`)
  expect((await budget.take('daily', 10, 10)).count).toBe(10)
})

test('spending of today survives a crash of the server', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-budget-'))
  const postgres = await startEmbeddedPostgres({ dataDir })
  try {
    await using db = openDatabase({
      url: postgres.url,
      poolSize: 1,
      applicationName: 'test',
      onIdleError: () => undefined,
    })
    await migrate(db)
    const budget = createPostgresBudget(db)
    expect((await budget.take('hlr', 8, 10)).count).toBe(8)
    const { rows } = await db.pool.query<{ pid: number }>('select pg_backend_pid() as pid')
    // When one session dies, the server ends all others and recovers from its log.
    process.kill(rows[0]?.pid ?? 0, 'SIGKILL')
    const after = await vi.waitFor(() => budget.take('hlr', 8, 10), PATIENT)
    expect(after.count).toBe(2)
  } finally {
    await postgres.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
})
