import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '@plumbline/db/embedded'
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { spawnSimnet, type SimnetProcess } from '../simnet/child.ts'
import { expectLedgerIntact } from '@plumbline/testkit/invariants'
import { formOf, readLines, submitBatch, untilBatch, type Caller } from '@plumbline/testkit/batches'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startRedis } from '@plumbline/testkit/redis'
import { startService, type ServiceOptions } from '@plumbline/testkit/service'
import { WITHOUT_REDIS } from '@plumbline/testkit/without-redis'

// The daily cap limits real money: it holds even if a server is killed or emptied.

const CAP = 60
const NUMBERS = 150
const SETTINGS = {
  HLR_DAILY_CAP: String(CAP),
  CHUNK_RECORDS: '10',
  LEASE_SECONDS: '2',
  SWEEP_SECONDS: '1',
  WORKER_ADMIN_PORT: '0',
} as const

describe('the daily spending cap', () => {
  test('holds when Postgres is killed in the middle of a batch and comes back', async () => {
    await using stack = new AsyncDisposableStack()
    const dataDir = stack.use(await mkdtempDisposable(join(tmpdir(), 'plumbline-cap-'))).path
    let postgres = await startEmbeddedPostgres({ dataDir })
    stack.defer(() => postgres.stop())
    const port = Number(new URL(postgres.url).port)
    const batch = await startBatch(stack, { databaseUrl: postgres.url })
    await untilBought(batch, CAP / 3)
    process.kill(await serverPid(dataDir), 'SIGKILL')
    await postgres.stop()
    postgres = await startEmbeddedPostgres({ dataDir, port })
    await expectCapped(batch)
  })

  test.skipIf(WITHOUT_REDIS)('holds when Redis is emptied repeatedly during a batch', async () => {
    await using stack = new AsyncDisposableStack()
    const database = stack.use(await createTestDatabase())
    const redis = await startRedis()
    if (redis === null) throw new Error('redis-server is not installed')
    stack.defer(() => redis.stop())
    const client = stack.adopt(new Redis(redis.url), (each) => each.disconnect())
    const batch = await startBatch(stack, { databaseUrl: database.url, redisUrl: redis.url })
    for (const share of [0.2, 0.5, 0.8]) {
      await untilBought(batch, CAP * share)
      await client.flushall()
    }
    await expectCapped(batch)
  })
})

interface StartedBatch {
  readonly id: string
  readonly caller: Caller
  readonly simnet: SimnetProcess
}

/** Starts an HLR provider, a service that asks it, and a batch of more numbers than the cap allows. */
async function startBatch(
  stack: AsyncDisposableStack,
  stores: Pick<ServiceOptions, 'databaseUrl' | 'redisUrl'>,
): Promise<StartedBatch> {
  const simnet = stack.use(await spawnSimnet({ hlrFaults: { delayMs: 100 } }))
  const env = { ...simnet.settings, ...SETTINGS }
  const service = stack.use(
    await startService({ ...stores, workers: [['phone', 'batch']], engines: 'real', env }),
  )
  const account = await service.account({ credits: NUMBERS * 2 })
  const caller = { service, account, key: account.liveKey }
  const numbers = Array.from({ length: NUMBERS }, (_, at) => `+4179${3_000_000 + at * 7}`)
  const form = formOf({ product: 'phone' }, `phone\n${numbers.join('\n')}\n`)
  const { id } = await submitBatch(caller, form)
  return { id, caller, simnet }
}

async function untilBought({ simnet }: StartedBatch, count: number): Promise<void> {
  await expect.poll(() => boughtCount(simnet)).toBeGreaterThanOrEqual(count)
}

async function boughtCount(simnet: SimnetProcess): Promise<number> {
  return (await simnet.totals()).bought
}

async function expectCapped({ id, caller, simnet }: StartedBatch): Promise<void> {
  expect(await untilBatch(caller, id)).toMatchObject({ status: 'completed' })
  const lines = await readLines(caller, id)
  expect(lines).toHaveLength(NUMBERS)
  const sold = await boughtCount(simnet)
  expect(sold).toBeLessThanOrEqual(CAP)
  // Budget that was taken before a crash, without a sale, stays spent.
  expect(sold).toBeGreaterThan(CAP / 2)
  expect(await countedPurchases(caller)).toBe(sold)
  const { rows } = await caller.service.db.pool.query<{ name: string; spent: number }>(
    `select name, spent::int from budgets order by name desc`,
  )
  expect(rows).toEqual([
    { name: 'hlr:hlr-lookups', spent: CAP },
    { name: `hlr:account:${caller.account.id}`, spent: expect.any(Number) },
  ])
  // A crash between the two leaves the account's ahead.
  expect(rows[1]?.spent).toBeGreaterThanOrEqual(CAP)
  await expectLedgerIntact(caller.service)
}

/** Numbers that the worker's metrics say were paid for. */
async function countedPurchases({ service }: Caller): Promise<number> {
  const page = await fetch(new URL('/metrics', service.workers[0]?.adminUrl))
  const purchases = /^purchases_total\{check="phone",provider="hlr-lookups"\} (\d+)$/m
  return Number(purchases.exec(await page.text())?.[1])
}

/** The server's process, from its pid file. */
async function serverPid(dataDir: string): Promise<number> {
  for (const base of ['postgres/server', 'postgres']) {
    const text = await readFile(join(dataDir, base, 'data/postmaster.pid'), 'utf8').catch(() => '')
    if (text !== '') return Number(text.split('\n')[0])
  }
  throw new Error('no Postgres runs there')
}
