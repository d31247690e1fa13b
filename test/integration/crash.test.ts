import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { startEmbeddedPostgres } from '@plumbline/db/embedded'
import { enqueue } from '@plumbline/queue/jobs'
import { openConnections } from '@plumbline/pipeline/connections'
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { backends } from '@plumbline/testkit/backends'
import {
  callStatus,
  CHUNK_RECORDS,
  IN_TURN,
  memberAt,
  openCrashHarness,
  QUICK,
  RECORDS,
  SLOW_EMAIL,
  stateOf,
  submit,
  untilNothingIsOwed,
  untilStopped,
  type CrashHarness,
} from '@plumbline/testkit/crash-harness'
import { expectIntact, expectLedgerIntact } from '@plumbline/testkit/invariants'
import { losePostgresQueue } from '@plumbline/testkit/lose-queue'
import { startRedis } from '@plumbline/testkit/redis'
import { startService, type TestService } from '@plumbline/testkit/service'
import { soakSize } from '@plumbline/testkit/soak'

// Real processes, killed for real; after each fault the batch ends by itself, intact.

const KILLS = soakSize(5, 2)
/** A call may be asked again after each kill, and a worker takes its time to start on a busy machine. */
const PATIENT_CALLS = { CALL_TIMEOUT_SECONDS: '60', DEBIT_TIMEOUT_SECONDS: '70' }

describe.concurrent.each(backends())('on $name', ({ redisUrl }) => {
  test('a batch and its calls survive one kill of a worker after another', IN_TURN, async () => {
    await using harness = await openCrashHarness(redisUrl, [SLOW_EMAIL, ['batch']], PATIENT_CALLS)
    const { service, account } = harness
    const { id, emails } = await submit(harness)
    const calls: Promise<number>[] = []
    const worker = memberAt(service, 0)
    for (let kill = 0; kill < KILLS; kill++) {
      calls.push(callStatus(harness, `kill${kill}@example.com`))
      await wait(700)
      await worker.kill('SIGKILL')
      expect(await stateOf(harness, id)).toMatch(/^(?:analyzing|running)$/)
      await worker.restart()
    }
    const batch = await untilStopped(harness, id)
    expect(await Promise.all(calls)).toEqual(calls.map(() => 200))
    // The calls were charged as well.
    await expectIntact(service, account, batch, emails)
    await untilNothingIsOwed(service)
  })

  test(
    'every job delivered twice gives each record one outcome and one charge',
    IN_TURN,
    async () => {
      await using harness = await openCrashHarness(redisUrl, [SLOW_EMAIL, SLOW_EMAIL, ['batch']])
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

  test('a batch ends by itself when the queue is emptied under it', IN_TURN, async () => {
    const own = redisUrl === undefined ? null : await startRedis()
    try {
      await using harness = await openCrashHarness(own?.url, [SLOW_EMAIL, ['batch']])
      const { service, account } = harness
      const { id, emails } = await submit(harness)
      for (let times = 0; times < soakSize(3, 2); times++) {
        await wait(1_000)
        await emptyQueue(harness, own?.url)
      }
      await expectIntact(service, account, await untilStopped(harness, id), emails)
    } finally {
      await own?.stop()
    }
  })

  test('a batch ends by itself when Postgres is restarted under it', IN_TURN, async () => {
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
      const harness = { service, account }
      const { id, emails } = await submit(harness)
      for (let times = 0; times < soakSize(2, 1); times++) {
        await wait(1_200)
        await postgres.stop()
        postgres = await startEmbeddedPostgres({ dataDir, port })
      }
      await expectIntact(service, account, await untilStopped(harness, id), emails)
    } finally {
      await postgres.stop()
      await rm(dataDir, { recursive: true, force: true })
    }
  })

  test(
    'a record that breaks its engine ends as an error, uncharged, and the rest goes on',
    IN_TURN,
    async () => {
      await using harness = await openCrashHarness(redisUrl, [
        ['email', '--poison=poison'],
        ['batch'],
      ])
      const { service, account } = harness
      const { id } = await submit(harness, {
        count: 2_000,
        more: ['poison@a.example', 'poison@b.example'],
      })
      const batch = await untilStopped(harness, id)
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

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

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
    await wait(25)
  }
  return seen.size
}

async function emptyQueue(harness: CrashHarness, redisUrl: string | undefined): Promise<void> {
  if (redisUrl === undefined) {
    await losePostgresQueue(harness.databaseUrl)
    return
  }
  const redis = new Redis(redisUrl)
  await redis.flushall()
  await redis.quit()
}
