import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { startEmbeddedPostgres } from '@plumbline/db/embedded'
import { enqueue } from '@plumbline/queue/jobs'
import { openConnections } from '@plumbline/pipeline/connections'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backends } from '@plumbline/testkit/backends'
import { formOf, readCells, runBatch, type Caller } from '@plumbline/testkit/batches'
import {
  callUntilUnanswered,
  CHUNK_RECORDS,
  SEQUENTIAL,
  memberAt,
  openNextContext,
  QUICK,
  RECORDS,
  SLOW_EMAIL,
  stateOf,
  submit,
  untilLeased,
  untilDebitsAreClosed,
  untilStopped,
  type CrashContext,
} from '@plumbline/testkit/crash-harness'
import { expectIntact, expectLedgerIntact } from '@plumbline/testkit/invariants'
import { losePostgresQueue } from '@plumbline/testkit/lose-queue'
import { startService, type TestService } from '@plumbline/testkit/service'
import { soakSize } from '@plumbline/testkit/soak'

// Real processes are killed; after each fault the batch completes without a request.

const KILLS = soakSize(5, 2)
/**
 * Several rounds of tasks for each batch, so that at a fault some are claimed and some wait.
 */
const FEW_AT_ONCE = { BULK_TASKS: '4' }
/** Time limits of calls: each kill may make a call be asked again, and workers start slowly on a loaded machine. */
const PATIENT_CALLS = { CALL_TIMEOUT_SECONDS: '60', DEBIT_TIMEOUT_SECONDS: '70' }
const POISON = ['10.9.9.1', '10.9.9.2']

describe.concurrent.each(backends())('on $name', ({ redisUrl }) => {
  const stack = new AsyncDisposableStack()
  let whole: CrashContext
  let restartPostgres: () => Promise<void>

  beforeAll(async () => {
    const dataDir = stack.use(await mkdtempDisposable(join(tmpdir(), 'plumbline-restart-'))).path
    let postgres = await startEmbeddedPostgres({ dataDir })
    stack.defer(() => postgres.stop())
    const port = Number(new URL(postgres.url).port)
    restartPostgres = async () => {
      await postgres.stop()
      postgres = await startEmbeddedPostgres({ dataDir, port })
    }
    const service = stack.use(
      await startService({
        databaseUrl: postgres.url,
        redisUrl,
        workers: [SLOW_EMAIL, SLOW_EMAIL, ['batch', 'ip', '--poison=10.9.9.']],
        env: { ...QUICK, ...FEW_AT_ONCE, ...PATIENT_CALLS },
      }),
    )
    whole = { service, databaseUrl: postgres.url, account: await service.account() }
  })
  afterAll(() => stack.disposeAsync())

  test('a batch and its calls survive successive kills of workers', SEQUENTIAL, async () => {
    const harness = await openNextContext(whole)
    const { service, account } = harness
    const { id, emails } = await submit(harness)
    const calls: Promise<number>[] = []
    // The next worker dies before the previous one is back: nobody holds the tasks of either meanwhile.
    let back: Promise<void> | undefined
    for (let kill = 0; kill < KILLS; kill++) {
      await untilLeased(harness, id)
      calls.push(...(await callUntilUnanswered(harness, `kill${kill}@example.com`)))
      const worker = memberAt(service, kill % 2)
      await worker.kill('SIGKILL')
      expect(await stateOf(harness, id)).toBe('running')
      await back
      back = worker.restart()
    }
    await back
    const batch = await untilStopped(harness, id)
    expect(await Promise.all(calls)).toEqual(calls.map(() => 200))
    // The calls were charged as well.
    await expectIntact(service, account, batch, emails)
    await untilDebitsAreClosed(service)
  })

  test(
    'every job delivered twice gives each record one outcome and one charge',
    SEQUENTIAL,
    async () => {
      const harness = await openNextContext(whole)
      const { service, account, databaseUrl } = harness
      await using twice = await openConnections({
        databaseUrl,
        redisUrl,
        poolSize: 2,
        name: 'twice',
        log: silent,
      })
      const { id, emails } = await submit(harness)
      const stop = new AbortController()
      const doubling = deliverAgain(service, twice, stop.signal)
      const batch = await untilStopped(harness, id)
      stop.abort()
      expect(await doubling).toBeGreaterThanOrEqual(RECORDS / CHUNK_RECORDS)
      await expectIntact(service, account, batch, emails)
    },
  )

  test('a batch ends by itself when the queue is emptied while it runs', SEQUENTIAL, async () => {
    const harness = await openNextContext(whole)
    const { id, emails } = await submit(harness)
    for (let times = 0; times < soakSize(3, 1); times++) {
      await untilLeased(harness, id)
      await emptyQueue(harness, redisUrl)
    }
    await expectIntact(harness.service, harness.account, await untilStopped(harness, id), emails)
  })

  test('a batch ends by itself when Postgres is restarted while it runs', SEQUENTIAL, async () => {
    const harness = await openNextContext(whole)
    const { id, emails } = await submit(harness)
    for (let times = 0; times < soakSize(2, 1); times++) {
      await untilLeased(harness, id)
      await restartPostgres()
    }
    await expectIntact(harness.service, harness.account, await untilStopped(harness, id), emails)
  })

  test(
    'a record that crashes its engine ends as an error, uncharged; the others are processed',
    SEQUENTIAL,
    async () => {
      const { service, account } = await openNextContext(whole)
      const caller: Caller = { service, account, key: account.liveKey }
      const healthy = Array.from(
        { length: 2 * CHUNK_RECORDS },
        (_, at) => `10.8.${at >> 8}.${at % 256}`,
      )
      const content = `ip\n${[...healthy, ...POISON].join('\n')}\n`
      const batch = await runBatch(caller, formOf({ product: 'ip' }, content))
      const total = healthy.length + POISON.length
      expect(batch).toMatchObject({
        status: 'completed',
        rows: { total, billable: total, done: total },
        credits: { used: healthy.length, released: POISON.length },
      })
      const lines = (await readCells(caller, batch.id, '&only=error')).slice(1)
      expect(lines.map(([ip]) => ip)).toEqual(POISON)
      await expectLedgerIntact(service)
    },
  )
})

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/**
 * Adds a second job for each task that is handed out, with the lease that its first job carries.
 */
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
    // A lease lasts for a hundred of these.
    await wait(30)
  }
  return seen.size
}

async function emptyQueue(harness: CrashContext, redisUrl: string | undefined): Promise<void> {
  if (redisUrl === undefined) {
    await losePostgresQueue(harness.databaseUrl)
    return
  }
  const redis = new Redis(redisUrl)
  await redis.flushall()
  await redis.quit()
}
