import type { EngineRequest } from '@plumbline/ports/engine'
import { PURCHASED_CHECKS, type Check } from '@plumbline/contract/products'
import type { BatchView } from '@plumbline/contract/batch-view'
import { leaseTasks } from '@plumbline/db/batches/lease-tasks'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import Papa from 'papaparse'
import { expect, test, vi } from 'vitest'
import { instantEngine, outcomeFor } from '@plumbline/testkit/instant-engines'
import { losingDb } from '@plumbline/testkit/losing-db'
import { leaseDueStages, openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { cancelBatch } from './cancel.ts'
import { runFinish } from './finish.ts'
import { createTaskLeases } from './task-lease.ts'
import { getBatch } from './read.ts'
import { recallUnclaimed } from './recall.ts'
import { resultsText } from './results-fixture.ts'
import { runTask, type CheckRunner } from './run-task.ts'
import { PATIENT } from '@plumbline/testkit/patience'

const ROWS = 12
const CHUNK = 4
/** An email and a phone: 3 credits. */
const PRICE = 3
const NOTHING = { email: 0, phone: 0, ip: 0, domain: 0 }
const never = new AbortController().signal

/** A batch of contact intelligence whose records each have an email and a phone. */
function contentOf(rows: number): string {
  const lines = Array.from(
    { length: rows },
    (_, no) => `u${no}@grey.example,+1415555${String(1000 + no)}`,
  )
  return `email,phone\n${lines.join('\n')}\n`
}

async function openHarness(): Promise<TestPipeline & { id: string }> {
  const harness = await openTestPipeline({ limits: { chunkRecords: CHUNK, saveMs: 20 } })
  const { id } = await harness.read(contentOf(ROWS), { product: 'contact-intel' })
  return { ...harness, id }
}

/**
 * Dispatches the tasks of one check and runs them; those not awaited are under way when this
 * returns.
 */
async function runTasks(
  harness: TestPipeline,
  check: Check,
  engine: CheckRunner,
  signal: AbortSignal = never,
): Promise<void> {
  const { db, limits } = harness.pipeline
  const slots = { ...NOTHING, [check]: 100 }
  using leases = createTaskLeases(harness.pipeline)
  const tasks = await leaseTasks(db, { slots, reserve: 0, leaseMs: limits.leaseMs })
  await Promise.all(
    tasks.map((task) => runTask(harness.pipeline, leases, () => engine, task, signal)),
  )
}

const phones = instantEngine<Check>('phone')

/** Delays every subject, as a greylisting host does. */
const greylisting: CheckRunner = {
  run: async ({ subjects }) =>
    subjects.map(() => ({
      kind: 'later',
      afterMs: 600_000,
      group: 'mx:grey',
      isOwnWait: true,
      reason: 'greylisted',
    })),
}

/** A provider that looks up one number after the other; `sell` completes one purchase. */
function slowProvider(): CheckRunner & { readonly begun: string[]; sell(): void } {
  const begun: string[] = []
  const gates: (() => void)[] = []
  return {
    begun,
    sell: () => gates.shift()?.(),
    run: async (request: EngineRequest<Check>) => {
      const answers = []
      for (const [at, subject] of request.subjects.entries()) {
        if (request.drain?.aborted === true) {
          answers.push({ kind: 'later', afterMs: 0, group: 'stopped', reason: 'stopped' } as const)
          continue
        }
        begun.push(subject)
        await new Promise<void>((resolve) => gates.push(resolve))
        const outcome = outcomeFor('phone', subject)
        request.answered?.(at, outcome)
        answers.push(outcome)
      }
      return answers
    },
  }
}

async function finishOnce(harness: TestPipeline, signal: AbortSignal = never): Promise<void> {
  for (const { batchId, lease } of await leaseDueStages(harness.pipeline)) {
    await runFinish(harness.pipeline, { batchId, lease }, signal)
  }
}

async function untilCanceled(harness: TestPipeline & { id: string }): Promise<BatchView> {
  return await vi.waitFor(async () => {
    await finishOnce(harness)
    const view = await getBatch(harness.pipeline, harness.owner, harness.id)
    expect(view.status).toBe('canceled')
    return view
  }, PATIENT)
}

interface Line {
  readonly status: string
  readonly result: Readonly<Record<string, unknown>> | null
  readonly credits_charged: number
}

async function linesOf(harness: TestPipeline & { id: string }): Promise<readonly Line[]> {
  // Safe because the test compares each line with the expected value.
  return (await resultsText(harness, harness.id))
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line)
}

/** Checks that the ledger adds up, and that charges agree in rows, batch and ledger. */
async function expectExplained(harness: TestPipeline & { id: string }): Promise<void> {
  const { db } = harness.pipeline
  expect(await auditLedger(db)).toEqual([])
  const view = await getBatch(harness.pipeline, harness.owner, harness.id)
  const lines = await linesOf(harness)
  const charged = lines.reduce((sum, line) => sum + line.credits_charged, 0)
  expect(lines.every((line) => line.credits_charged <= PRICE)).toBe(true)
  const { rows } = await db.pool.query(
    `select credits::int, settled::int, released::int, closed_at is not null as closed
      from credit_holds`,
  )
  const held = ROWS * PRICE
  expect(rows).toEqual([
    { credits: held, settled: charged, released: held - charged, closed: true },
  ])
  expect(view.credits).toEqual({ estimate: held, held: 0, used: charged, released: held - charged })
  expect(view.rows.done).toBe(lines.filter((line) => line.status === 'done').length)
}

test('a cancel charges the known parts, shows them and releases the rest', async () => {
  await using harness = await openHarness()
  await runTasks(harness, 'email', greylisting)
  await runTasks(harness, 'phone', phones)
  const canceling = await cancelBatch(harness.pipeline, harness.owner, harness.id)
  expect(canceling.credits).toMatchObject({ held: ROWS * PRICE, used: 0, released: 0 })
  const view = await untilCanceled(harness)
  expect(view.credits).toMatchObject({ used: ROWS * 2, released: ROWS })
  await expectExplained(harness)
  for (const line of await linesOf(harness)) {
    expect(line).toMatchObject({ status: 'canceled', credits_charged: 2 })
    expect(Object.keys(line.result ?? {})).toEqual(['phone', 'credits_used'])
    expect(line.result).toMatchObject({ credits_used: 2, phone: { valid: true } })
  }
  const csv = await resultsText(harness, harness.id, { format: 'csv' })
  const { data } = Papa.parse<Record<string, string>>(csv, { header: true, skipEmptyLines: true })
  expect(data).toHaveLength(ROWS)
  for (const row of data) {
    expect(row).toMatchObject({
      'result.email.address': '',
      'result.email.status': '',
      'result.phone.number': row['phone'],
      'result.phone.status': 'answered',
      'result.credits_used': '2',
      'result.credits_charged': '2',
      'result.error': expect.stringMatching(/^canceled/),
    })
  }
})

test('a purchase under way is awaited and charged, and none is begun after the cancel', async () => {
  await using harness = await openHarness()
  await runTasks(harness, 'email', greylisting)
  const provider = slowProvider()
  const running = runTasks(harness, 'phone', provider)
  await vi.waitFor(() => expect(provider.begun).toHaveLength(ROWS / CHUNK), PATIENT)
  await cancelBatch(harness.pipeline, harness.owner, harness.id)
  await finishOnce(harness)
  expect(await getBatch(harness.pipeline, harness.owner, harness.id)).toMatchObject({
    status: 'canceling',
    credits: { held: ROWS * PRICE, used: 0 },
  })
  // Longer than a worker takes to learn of it.
  await vi.waitFor(async () => {
    const { rows } = await harness.pipeline.db.pool.query(
      `select from batches where (ats->>'canceling')::timestamptz < now() - interval '0.6 s'`,
    )
    expect(rows).toHaveLength(1)
  }, PATIENT)
  for (let sold = 0; sold < ROWS / CHUNK; sold++) provider.sell()
  await running
  const view = await untilCanceled(harness)
  expect(provider.begun).toHaveLength(ROWS / CHUNK)
  expect(view.credits.used).toBe((ROWS / CHUNK) * 2)
  await expectExplained(harness)
})

test('saved outcomes of a task and of its waiting group are known and charged', async () => {
  await using harness = await openHarness()
  // Half of each chunk is answered, the other half waits.
  const half: CheckRunner = {
    run: async ({ subjects }) =>
      subjects.map((subject, at) =>
        at < CHUNK / 2
          ? outcomeFor('phone', subject)
          : { kind: 'later', afterMs: 600_000, group: 'hlr:full', reason: 'hlr_throttled' },
      ),
  }
  await runTasks(harness, 'phone', half)
  await runTasks(harness, 'email', instantEngine<Check>('email'))
  await cancelBatch(harness.pipeline, harness.owner, harness.id)
  // Subjects that wait were with an engine before: they are passed once more to one that begins
  // nothing.
  await finishOnce(harness)
  const looks: EngineRequest<Check>[] = []
  const provider = slowProvider()
  await runTasks(harness, 'phone', {
    run: (request) => {
      looks.push(request)
      return provider.run(request)
    },
  })
  expect(looks.map(({ drain, subjects }) => [drain?.aborted, subjects.length])).toEqual(
    Array.from({ length: ROWS / CHUNK }, () => [true, CHUNK / 2]),
  )
  expect(provider.begun).toEqual([])
  const view = await untilCanceled(harness)
  expect(view).toMatchObject({ rows: { done: ROWS / 2 }, credits: { used: ROWS + (ROWS / 2) * 2 } })
  await expectExplained(harness)
})

test('if a worker is killed with purchases in flight, another one reports their results', async () => {
  await using harness = await openHarness()
  const killed = slowProvider()
  void runTasks(harness, 'phone', killed)
  await vi.waitFor(() => expect(killed.begun).toHaveLength(ROWS / CHUNK), PATIENT)
  await cancelBatch(harness.pipeline, harness.owner, harness.id)
  await finishOnce(harness)
  const { pool } = harness.pipeline.db
  // Time passes: the lease of the dead worker expires.
  await pool.query(`update tasks set lease_until = 'epoch', lease = lease + 1`)
  await leaseTasks(harness.pipeline.db, { slots: NOTHING, reserve: 0, leaseMs: 1_000 })
  await finishOnce(harness)
  await runTasks(harness, 'phone', {
    run: async ({ subjects, drain }) =>
      subjects.map((subject) =>
        killed.begun.includes(subject) && drain?.aborted === true
          ? outcomeFor('phone', subject)
          : { kind: 'later', afterMs: 0, group: 'stopped', reason: 'stopped' },
      ),
  })
  const view = await untilCanceled(harness)
  expect(view.credits.used).toBe((ROWS / CHUNK) * 2)
  await expectExplained(harness)
})

test('a canceled batch does not wait for ever for workers that do not run', async () => {
  await using harness = await openHarness()
  await runTasks(harness, 'phone', phones, AbortSignal.abort())
  const { pool } = harness.pipeline.db
  expect((await pool.query(`select from tasks where check_kind = 'phone'`)).rowCount).toBe(3)
  await cancelBatch(harness.pipeline, harness.owner, harness.id)
  await finishOnce(harness)
  expect((await pool.query(`select from tasks`)).rowCount).toBe(3)
  await pool.query(`update batches set ats = ats || '{"canceling": "2026-01-01T00:00:00Z"}'`)
  expect((await untilCanceled(harness)).credits.used).toBe(0)
})

test('interrupted charging continues, and each credit is charged once', async () => {
  await using harness = await openHarness()
  await runTasks(harness, 'phone', phones)
  await cancelBatch(harness.pipeline, harness.owner, harness.id)
  const { db } = harness.pipeline
  for (let settled = 1; settled <= ROWS / CHUNK; settled++) {
    const stop = new AbortController()
    const finishing = finishOnce(
      { ...harness, pipeline: stoppedAfterSettle(harness, stop) },
      stop.signal,
    )
    await finishing.catch(() => undefined)
    const { rowCount } = await db.pool.query(`select from credit_entries where kind = 'settle'`)
    expect(rowCount).toBe(settled)
    expect(await auditLedger(db)).toEqual([])
    const { credits } = await getBatch(harness.pipeline, harness.owner, harness.id)
    expect(credits).toMatchObject({ used: settled * CHUNK * 2, released: 0 })
    expect(credits.held + credits.used).toBe(ROWS * PRICE)
    await db.pool.query(`update batches set lease_until = null`)
  }
  await untilCanceled(harness)
  await expectExplained(harness)
})

// Three chunks are settled, a search finds no other, the rest is released, the batch ends.
test.each([
  [1, 1],
  [3, 3],
  [3, 5],
  [5, 5],
  [6, 6],
])('if commits %i to %i of a cancel are lost, each credit is charged once', async (from, to) => {
  await using harness = await openHarness()
  const { pipeline, owner, id } = harness
  await runTasks(harness, 'phone', phones)
  await cancelBatch(pipeline, owner, id)
  const db = losingDb(pipeline.db, (no) => from <= no && no <= to)
  await finishOnce({ ...harness, pipeline: { ...pipeline, db } }).catch(() => undefined)
  await pipeline.db.pool.query('update batches set lease_until = null')
  await untilCanceled(harness)
  expect((await getBatch(pipeline, owner, id)).credits.used).toBe(ROWS * 2)
  await expectExplained(harness)
})

/** A pipeline whose worker stops as soon as it has settled one more chunk. */
function stoppedAfterSettle(
  harness: TestPipeline,
  stop: AbortController,
): TestPipeline['pipeline'] {
  return {
    ...harness.pipeline,
    db: new Proxy(harness.pipeline.db, {
      get: (db, key) =>
        key === 'kysely' ? countingTransactions(harness, stop) : Reflect.get(db, key),
    }),
  }
}

function countingTransactions(
  { pipeline }: TestPipeline,
  stop: AbortController,
): TestPipeline['pipeline']['db']['kysely'] {
  return new Proxy(pipeline.db.kysely, {
    get: (kysely, key) => {
      const value: unknown = Reflect.get(kysely, key)
      if (key !== 'transaction') return typeof value === 'function' ? value.bind(kysely) : value
      return () => ({
        execute: async (work: Parameters<ReturnType<typeof kysely.transaction>['execute']>[0]) => {
          const result = await kysely.transaction().execute(work)
          stop.abort(new Error('stopping'))
          return result
        },
      })
    },
  })
}

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'at any moment of a cancel, each credit is accounted for (run %i)',
  async (seed) => {
    await using harness = await openHarness()
    const random = seeded(seed)
    const { db } = harness.pipeline
    const engineOf = (check: Check): CheckRunner => ({
      run: async ({ subjects, drain }) =>
        subjects.map((subject) => {
          const stopped = drain?.aborted === true && PURCHASED_CHECKS.includes(check)
          return random() < 0.5 && !stopped
            ? outcomeFor(check, subject)
            : { kind: 'later', afterMs: 0, group: `g${random() < 0.5}`, reason: 'no_room' }
        }),
    })
    const steps: (() => Promise<void>)[] = [
      () => runTasks(harness, 'email', engineOf('email')),
      () => runTasks(harness, 'phone', engineOf('phone')),
      // A worker that is gone.
      async () => void (await leaseTasks(db, { slots: ALL, reserve: 0, leaseMs: 1 })),
    ]
    const rounds = Math.floor(random() * 8)
    for (let round = 0; round < rounds; round++) {
      await steps[Math.floor(random() * steps.length)]?.()
      expect(await auditLedger(db)).toEqual([])
    }
    const running = Promise.all([
      runTasks(harness, 'phone', engineOf('phone')),
      runTasks(harness, 'email', engineOf('email')),
      cancelBatch(harness.pipeline, harness.owner, harness.id).catch(() => undefined),
      finishOnce(harness),
    ])
    await running
    const { status } = await getBatch(harness.pipeline, harness.owner, harness.id)
    if (status !== 'running') {
      await vi.waitFor(async () => {
        await recallUnclaimed(harness.pipeline, [])
        await runTasks(harness, 'phone', engineOf('phone'))
        await finishOnce(harness)
        expect(await auditLedger(db)).toEqual([])
        const view = await getBatch(harness.pipeline, harness.owner, harness.id)
        expect(['canceled', 'completed']).toContain(view.status)
      }, PATIENT)
      await expectExplained(harness)
    }
  },
)

const ALL = { email: 100, phone: 100, ip: 0, domain: 0 }

function seeded(seed: number): () => number {
  let state = seed * 7919
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}
