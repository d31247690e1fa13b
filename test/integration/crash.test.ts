import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { BatchView } from '@plumbline/contract/batch-view'
import { startEmbeddedPostgres } from '@plumbline/db/embedded'
import { enqueue } from '@plumbline/queue/jobs'
import { openConnections } from '@plumbline/pipeline/connections'
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { backends } from '../support/backends.ts'
import { expectIntact, expectLedgerIntact } from '../support/invariants.ts'
import { losePostgresQueue } from '../support/lose-queue.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { startRedis } from '../support/redis.ts'
import { startService, type Account, type TestService } from '../support/service.ts'

// Real processes, killed for real; after each fault the list ends by itself, intact.

const RECORDS = 20_000
const END_WITHIN_MS = 120_000
const CHUNK_RECORDS = 500
const QUICK = {
  CHUNK_RECORDS: String(CHUNK_RECORDS),
  LEASE_SECONDS: '3',
  SAVE_SECONDS: '1',
  SWEEP_SECONDS: '1',
  CALL_TIMEOUT_SECONDS: '10',
  DEBIT_TIMEOUT_SECONDS: '12',
}
/** The backends side by side, for most of the time passes with waiting; on each one fault at a time. */
const IN_TURN = { concurrent: false } as const
const SLOW_EMAIL = ['email', '--delay=200', '--width=50'] as const

describe.concurrent.each(backends())('on $name', ({ redisUrl }) => {
  test('a list and its calls survive five kills of a worker', IN_TURN, async () => {
    await using scene = await openScene(redisUrl, [SLOW_EMAIL, ['batch']])
    const { service, account } = scene
    const { id, emails } = await submit(service, account)
    const calls: Promise<number>[] = []
    const worker = memberAt(service, 0)
    for (let kill = 0; kill < 5; kill++) {
      calls.push(callStatus(service, account, `kill${kill}@example.com`))
      await wait(700)
      await worker.kill('SIGKILL')
      await worker.restart()
    }
    const batch = await untilEnded(service, account, id)
    expect(await Promise.all(calls)).toEqual([200, 200, 200, 200, 200])
    // The calls were charged as well.
    await expectIntact(service, account, batch, emails)
    await untilNothingIsOwed(service)
  })

  test('a kill of the list worker in each stage costs nothing', IN_TURN, async () => {
    await using scene = await openScene(redisUrl, [SLOW_EMAIL, ['batch']])
    const { service, account } = scene
    const lists = memberAt(service, 1)
    const { id, emails } = await submit(service, account)
    for (const delayMs of [50, 1_000, 1_500]) {
      await wait(delayMs)
      await lists.kill('SIGKILL')
      await lists.restart()
    }
    await expectIntact(service, account, await untilEnded(service, account, id), emails)
  })

  test('a kill of the API between debit and answer gives the credits back', IN_TURN, async () => {
    await using scene = await openScene(redisUrl, [['email', '--delay=3000'], ['batch']])
    const { service, account } = scene
    const before = await creditsOf(service, account)
    const calls = Array.from({ length: 20 }, (_, at) =>
      callStatus(service, account, `lost${at}@example.com`).catch(() => 0),
    )
    await untilUnanswered(service, 20)
    await service.api.kill('SIGKILL')
    expect(await Promise.all(calls)).toEqual(calls.map(() => 0))
    await service.api.restart()
    await untilNothingIsOwed(service)
    expect(await creditsOf(service, account)).toBe(before)
    await expectLedgerIntact(service)
  })

  test('a kill of the API after an upload leaves the list to the workers', IN_TURN, async () => {
    await using scene = await openScene(redisUrl, [SLOW_EMAIL, ['batch']])
    const { service, account } = scene
    const { id, emails } = await submit(service, account)
    await service.api.kill('SIGKILL')
    await wait(1_000)
    await service.api.restart()
    await expectIntact(service, account, await untilEnded(service, account, id), emails)
  })

  test(
    'every job delivered twice gives each record one outcome and one charge',
    IN_TURN,
    async () => {
      await using scene = await openScene(redisUrl, [SLOW_EMAIL, SLOW_EMAIL, ['batch']])
      const { service, account, databaseUrl } = scene
      await using twice = await openConnections({
        databaseUrl,
        redisUrl,
        poolSize: 2,
        name: 'twice',
        log: silent,
      })
      const { id, emails } = await submit(service, account)
      const stop = new AbortController()
      const doubling = deliverAgain(service, twice, stop.signal)
      const batch = await untilEnded(service, account, id)
      stop.abort()
      expect(await doubling).toBeGreaterThanOrEqual(RECORDS / CHUNK_RECORDS)
      await expectIntact(service, account, batch, emails)
    },
  )

  test('a list ends by itself when the queue is emptied under it', IN_TURN, async () => {
    const own = redisUrl === undefined ? null : await startRedis()
    try {
      await using scene = await openScene(own?.url, [SLOW_EMAIL, ['batch']])
      const { service, account } = scene
      const { id, emails } = await submit(service, account)
      for (let times = 0; times < 3; times++) {
        await wait(1_000)
        await emptyQueue(scene, own?.url)
      }
      await expectIntact(service, account, await untilEnded(service, account, id), emails)
    } finally {
      await own?.stop()
    }
  })

  test('a list ends by itself when Postgres is restarted under it', IN_TURN, async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-restart-'))
    let postgres = await startEmbeddedPostgres({ dataDir })
    const port = Number(new URL(postgres.url).port)
    try {
      await using service = await startService({
        databaseUrl: postgres.url,
        redisUrl,
        workers: [SLOW_EMAIL, ['batch']],
        env: QUICK,
      })
      const account = await service.account({ credits: RECORDS * 2 })
      const { id, emails } = await submit(service, account)
      for (let times = 0; times < 2; times++) {
        await wait(1_200)
        await postgres.stop()
        postgres = await startEmbeddedPostgres({ dataDir, port })
      }
      await expectIntact(service, account, await untilEnded(service, account, id), emails)
    } finally {
      await postgres.stop()
      await rm(dataDir, { recursive: true, force: true })
    }
  })

  test(
    'a record that breaks its engine ends as an error, uncharged, and the rest goes on',
    IN_TURN,
    async () => {
      await using scene = await openScene(redisUrl, [['email', '--poison=poison'], ['batch']])
      const { service, account } = scene
      const { id } = await submit(service, account, 2_000, ['poison@a.example', 'poison@b.example'])
      const batch = await untilEnded(service, account, id)
      expect(batch).toMatchObject({
        status: 'completed',
        rows: { total: 2_002, billable: 2_002, done: 2_002 },
        credits: { used: 2_000, released: 2 },
      })
      const response = await service.call(
        account.liveKey,
        'GET',
        `/v1/batches/${id}/results?only=error`,
      )
      const lines = (await response.text()).trim().split('\r\n').slice(1)
      expect(lines.map((line) => line.split(',')[0])).toEqual([
        'poison@a.example',
        'poison@b.example',
      ])
      await expectLedgerIntact(service)
    },
  )
})

interface Scene extends AsyncDisposable {
  readonly service: TestService
  readonly account: Account
  readonly databaseUrl: string
}

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

async function openScene(
  redisUrl: string | undefined,
  workers: readonly (readonly string[])[],
): Promise<Scene> {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase())
  const service = stack.use(
    await startService({ databaseUrl: database.url, redisUrl, workers, env: QUICK }),
  )
  const account = await service.account({ credits: RECORDS * 2 })
  const owned = stack.move()
  return {
    service,
    account,
    databaseUrl: database.url,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function memberAt(service: TestService, at: number): TestService['workers'][number] {
  const member = service.workers[at]
  if (member === undefined) throw new Error(`no worker ${at}`)
  return member
}

async function submit(
  service: TestService,
  account: Account,
  count = RECORDS,
  more: readonly string[] = [],
): Promise<{ id: string; emails: readonly string[] }> {
  const emails = [
    ...Array.from({ length: count }, (_, at) => `person.${at}@company${at % 97}.example`),
    ...more,
  ]
  const form = new FormData()
  form.set('product', 'email')
  form.set('file', new Blob([`email\n${emails.join('\n')}\n`]), 'list.csv')
  const response = await service.call(account.liveKey, 'POST', '/v1/batches', form)
  expect(response.status).toBe(202)
  const { id } = (await response.json()) as BatchView
  return { id, emails }
}

async function callStatus(service: TestService, account: Account, email: string): Promise<number> {
  const response = await service.call(account.liveKey, 'POST', '/v1/email', { email })
  await response.text()
  return response.status
}

/** Waits for the end, whatever is down for a moment meanwhile. */
async function untilEnded(service: TestService, account: Account, id: string): Promise<BatchView> {
  const deadline = Date.now() + END_WITHIN_MS
  let last: unknown
  while (Date.now() < deadline) {
    try {
      const response = await service.call(account.liveKey, 'GET', `/v1/batches/${id}`)
      const view = (await response.json()) as BatchView
      last = view
      if (response.ok && ['completed', 'failed', 'canceled', 'ready'].includes(view.status)) {
        return view
      }
    } catch (error) {
      last = error
    }
    await wait(100)
  }
  throw new Error(`the list did not end: ${JSON.stringify(last)}`)
}

/** Waits until no debit is without an answer. */
async function untilNothingIsOwed(service: TestService): Promise<void> {
  const deadline = Date.now() + 30_000
  while (Date.now() < deadline) {
    if ((await unanswered(service)) === 0) return
    await wait(100)
  }
  throw new Error('debits are still without an answer')
}

async function untilUnanswered(service: TestService, count: number): Promise<void> {
  const deadline = Date.now() + 10_000
  while (Date.now() < deadline && (await unanswered(service)) < count) await wait(20)
}

async function unanswered(service: TestService): Promise<number> {
  const { rows } = await service.db.pool.query<{ count: number }>(
    'select count(*) as count from credit_unanswered',
  )
  return rows[0]?.count ?? -1
}

async function creditsOf(service: TestService, account: Account): Promise<number> {
  const response = await service.call(account.liveKey, 'GET', '/v1/account')
  const { credits } = (await response.json()) as { credits: { allowance: number; packs: number } }
  return credits.allowance + credits.packs
}

/** Adds a second job for each task that is handed out, with the lease that its first job carries. */
async function deliverAgain(
  service: TestService,
  { queue }: Awaited<ReturnType<typeof openConnections>>,
  signal: AbortSignal,
): Promise<number> {
  const seen = new Set<string>()
  while (!signal.aborted) {
    // A claim adds one to the lease and to the attempts.
    const { rows } = await service.db.pool.query<{ id: number; lease: number }>(
      `select id, lease - least(attempts, 1) as lease from tasks where lease_until is not null`,
    )
    const fresh = rows.filter(({ id, lease }) => !seen.has(`${id}-${lease}`))
    for (const { id, lease } of fresh) seen.add(`${id}-${lease}`)
    const jobs = fresh.map(({ id, lease }) => ({
      id: `again-${id}-${lease}`,
      data: { taskId: id, lease },
    }))
    await enqueue(queue, 'bulk-email', jobs)
    await wait(10)
  }
  return seen.size
}

async function emptyQueue(scene: Scene, redisUrl: string | undefined): Promise<void> {
  if (redisUrl === undefined) {
    await losePostgresQueue(scene.databaseUrl)
    return
  }
  const redis = new Redis(redisUrl)
  await redis.flushall()
  await redis.quit()
}
