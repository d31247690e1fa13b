import type { EngineRequest } from '@plumbline/ports/engine'
import type { Check } from '@plumbline/contract/products'
import { leaseTasks, type LeasedTask } from '@plumbline/db/batches/lease-tasks'
import { pauseRunning } from '@plumbline/db/batches/pause'
import { closeFinishedBatches } from '@plumbline/db/batches/stages'
import type { TaskFence } from '@plumbline/db/batches/tasks'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { outcomeFor } from '@plumbline/testkit/instant-engines'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { expect, test, vi } from 'vitest'
import { cancelBatch } from './cancel.ts'
import { completePauses, pauseBatch, resumeBatch, resumeDue } from './pause.ts'
import { getBatch } from './read.ts'
import { runTask, type CheckRunner } from './run-task.ts'
import { createTaskLeases } from './task-lease.ts'
import { PATIENT } from '@plumbline/testkit/patience'

const ROWS = 12
const never = new AbortController().signal

async function openHarness(product: 'email' | 'contact-intel' = 'email') {
  const harness = await openTestPipeline({ limits: { chunkRecords: 4, saveMs: 20 } })
  const lines = Array.from({ length: ROWS }, (_, no) => `u${no}@a.example,+1415555${1000 + no}`)
  const { id } = await harness.read(`email,phone\n${lines.join('\n')}\n`, { product })
  return { ...harness, id }
}

async function lease(harness: TestPipeline, ...checks: Check[]): Promise<readonly LeasedTask[]> {
  const { db, limits } = harness.pipeline
  const slots = { email: 0, phone: 0, ip: 0, domain: 0 }
  for (const check of checks) slots[check] = 100
  return await leaseTasks(db, { slots, reserve: 0, leaseMs: limits.leaseMs })
}

async function run(
  harness: TestPipeline,
  tasks: readonly LeasedTask[],
  engine: CheckRunner,
): Promise<void> {
  using leases = createTaskLeases(harness.pipeline)
  await Promise.all(
    tasks.map((task) => runTask(harness.pipeline, leases, () => engine, task, never)),
  )
}

async function completes(harness: TestPipeline & { id: string }): Promise<void> {
  await harness.answer()
  await closeFinishedBatches(harness.pipeline.db)
  await harness.workStages()
  const view = await getBatch(harness.pipeline, harness.owner, harness.id)
  expect(view).toMatchObject({ status: 'completed', rows: { done: ROWS }, credits: { held: 0 } })
  expect(view.credits.used + view.credits.released).toBe(view.credits.estimate)
  expect(await auditLedger(harness.pipeline.db)).toEqual([])
}

/** Answers one subject after the other when the test allows it; records those that were begun. */
function slowEngine(check: Check, heeds: 'signal' | 'drain') {
  const begun: string[] = []
  const gates: (() => void)[] = []
  const engine: CheckRunner = {
    run: async (request: EngineRequest<Check>) => {
      const answers = []
      for (const [at, subject] of request.subjects.entries()) {
        if (request[heeds]?.aborted === true) {
          answers.push({ kind: 'later', afterMs: 0, group: 'stopped', reason: 'stopped' } as const)
          continue
        }
        begun.push(subject)
        await new Promise<void>((resolve) => {
          gates.push(resolve)
          if (heeds === 'signal') request.signal.addEventListener('abort', () => resolve())
        })
        const outcome = outcomeFor(check, subject)
        request.answered?.(at, outcome)
        answers.push(outcome)
      }
      return answers
    },
  }
  return { engine, begun, next: () => gates.shift()?.() }
}

test('no task of a paused batch is leased, its hold stays, and it completes once resumed', async () => {
  await using harness = await openHarness()
  const { pipeline, owner, id } = harness
  const unclaimed = await lease(harness, 'email')
  expect(unclaimed).toHaveLength(3)
  const paused = await pauseBatch(pipeline, owner, id)
  expect(paused).toMatchObject({ status: 'paused', credits: { held: ROWS }, eta_seconds: null })
  expect(Date.parse(paused.resumes_at ?? '') - Date.parse(paused.paused_at ?? '')).toBeGreaterThan(
    6.9 * 86_400_000,
  )
  let asked = 0
  await run(harness, unclaimed, {
    run: async ({ subjects }) => {
      asked += subjects.length
      return []
    },
  })
  expect(asked).toBe(0)
  // Their slots are free at once, not only when the lease expires.
  const { rows } = await pipeline.db.pool.query('select 1 from tasks where lease_until is not null')
  expect(rows).toEqual([])
  expect(await lease(harness, 'email')).toEqual([])
  expect((await pauseBatch(pipeline, owner, id)).paused_at).toBe(paused.paused_at)
  const running = await resumeBatch(pipeline, owner, id)
  expect(running).toMatchObject({ status: 'running', resumes_at: null, credits: { held: ROWS } })
  expect(running.running_at).toBe(paused.running_at)
  expect((await resumeBatch(pipeline, owner, id)).status).toBe('running')
  await completes(harness)
})

test('pausing a paused batch again does not go through its tasks', async () => {
  await using harness = await openHarness()
  const { pipeline, owner, id } = harness
  await pauseBatch(pipeline, owner, id)
  const connects = vi.spyOn(pipeline.db.pool, 'connect')
  await pauseBatch(pipeline, owner, id)
  // That of its transaction.
  expect(connects).toHaveBeenCalledOnce()
})

test('a pause ends lookups of workers by the next check; outcomes known by then are stored', async () => {
  await using harness = await openHarness()
  const { pipeline, owner, id } = harness
  const slow = slowEngine('email', 'signal')
  const running = run(harness, (await lease(harness, 'email')).slice(0, 1), slow.engine)
  await vi.waitFor(() => expect(slow.begun).toHaveLength(1), PATIENT)
  slow.next()
  await vi.waitFor(() => expect(slow.begun).toHaveLength(2), PATIENT)
  await pauseBatch(pipeline, owner, id)
  await running
  expect(slow.begun).toHaveLength(2)
  const known = await getBatch(pipeline, owner, id)
  expect(known.progress).toBeCloseTo(1 / ROWS, 2)
  await resumeBatch(pipeline, owner, id)
  // The leased tasks that were never claimed: they have no job any more.
  await pipeline.db.pool.query('update tasks set lease_until = null where lease_until is not null')
  const asked: string[] = []
  await run(harness, await lease(harness, 'email'), {
    run: async ({ subjects }) => {
      asked.push(...subjects)
      return subjects.map((subject) => outcomeFor<Check>('email', subject))
    },
  })
  expect(asked).not.toContain(slow.begun[0])
  await completes(harness)
})

test('a purchase under way is awaited and stored, and none is begun after the pause', async () => {
  await using harness = await openHarness('contact-intel')
  const { pipeline, owner, id } = harness
  const provider = slowEngine('phone', 'drain')
  const running = run(harness, (await lease(harness, 'phone')).slice(0, 1), provider.engine)
  await vi.waitFor(() => expect(provider.begun).toHaveLength(1), PATIENT)
  await pauseBatch(pipeline, owner, id)
  // Longer than the interval of checks for paused batches.
  const halted = vi.fn<() => void>()
  using leases = createTaskLeases(pipeline)
  const { rows } = await pipeline.db.pool.query<TaskFence>(
    `select id as "taskId", lease, batch_id as "batchId", chunk_no as "chunkNo",
       check_kind as check
     from tasks where lease > 1`,
  )
  const [task] = rows
  if (task === undefined) throw new Error('no task is claimed')
  leases.keep({ ...task, canceling: false }).paused.addEventListener('abort', halted)
  await vi.waitFor(() => expect(halted).toHaveBeenCalled(), PATIENT)
  await vi.waitFor(async () => {
    provider.next()
    await Promise.race([running, Promise.reject(new Error('not yet'))])
  }, PATIENT)
  const bought = [...provider.begun]
  expect(bought.length).toBeLessThanOrEqual(2)
  await resumeBatch(pipeline, owner, id)
  await pipeline.db.pool.query('update tasks set lease_until = null where lease_until is not null')
  const again: string[] = []
  await run(harness, await lease(harness, 'phone'), {
    run: async ({ subjects }) => {
      again.push(...subjects)
      return subjects.map((subject) => outcomeFor<Check>('phone', subject))
    },
  })
  for (const number of bought) expect(again).not.toContain(number)
  await completes(harness)
})

/** Runs the three email tasks, all of which then wait for room at a host. */
async function waitInGroup(harness: TestPipeline): Promise<void> {
  await run(harness, await lease(harness, 'email'), {
    run: async ({ subjects }) =>
      subjects.map(() => ({ kind: 'later', afterMs: 0, group: 'mx:busy', reason: 'no_room' })),
  })
}

async function inGroups({ pipeline }: TestPipeline): Promise<number | null> {
  return (await pipeline.db.pool.query('select from tasks where group_key is not null')).rowCount
}

test('waiting tasks of a paused batch do not block their group, and are dispatched when it is resumed', async () => {
  await using harness = await openHarness()
  const { pipeline, owner, id } = harness
  await waitInGroup(harness)
  await pauseBatch(pipeline, owner, id)
  expect(await inGroups(harness)).toBe(0)
  expect(await lease(harness, 'email')).toEqual([])
  await resumeBatch(pipeline, owner, id)
  await completes(harness)
})

test('a request to pause does not wait for all tasks of a very large batch', async () => {
  await using harness = await openHarness()
  const { pipeline, owner, id } = harness
  await waitInGroup(harness)
  const client = await pipeline.db.pool.connect()
  try {
    // Stands for many tasks: they are read, and not written before the lock is released.
    await client.query('begin; lock table tasks in share mode')
    expect(await pauseBatch(pipeline, owner, id)).toMatchObject({ status: 'paused' })
    expect(await inGroups(harness)).toBe(3)
  } finally {
    await client.query('commit')
    client.release()
  }
  await expect.poll(() => inGroups(harness)).toBe(0)
})

test('a pause whose process is killed after its commit is completed by a sweep', async () => {
  await using harness = await openHarness()
  const { pipeline, owner, id } = harness
  await waitInGroup(harness)
  expect(await completePauses(pipeline)).toBe(0)
  expect(await inGroups(harness)).toBe(3)
  await pipeline.db.kysely.transaction().execute((tx) => pauseRunning(tx, id))
  expect(await completePauses(pipeline)).toBe(1)
  expect(await inGroups(harness)).toBe(0)
  await resumeBatch(pipeline, owner, id)
  await completes(harness)
})

test('a batch resumes automatically after the longest permitted pause, and a canceled one does not', async () => {
  await using harness = await openHarness()
  const { pipeline, owner, id } = harness
  await pauseBatch(pipeline, owner, id)
  expect(await resumeDue(pipeline)).toBe(0)
  await pipeline.db.pool.query(
    `update batches set resumes_at = now() - interval '1 s',
      ats = ats || '{"paused": "2026-11-01T00:00:00.000Z"}'`,
  )
  expect(await resumeDue(pipeline)).toBe(1)
  expect(await getBatch(pipeline, owner, id)).toMatchObject({ status: 'running', resumes_at: null })
  await completes(harness)
  const other = await openHarness()
  await using _ = other
  await pauseBatch(other.pipeline, other.owner, other.id)
  const canceling = await cancelBatch(other.pipeline, other.owner, other.id)
  expect(canceling).toMatchObject({ status: 'canceling', resumes_at: null })
  await other.workStages()
  const canceled = await getBatch(other.pipeline, other.owner, other.id)
  expect(canceled).toMatchObject({ status: 'canceled', credits: { held: 0, released: ROWS } })
  expect(await auditLedger(other.pipeline.db)).toEqual([])
})

test('only a running batch is paused and only a paused one resumed', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const { id } = await harness.read('email\na@a.example\n', { autoStart: false })
  await expect(pauseBatch(pipeline, owner, id)).rejects.toMatchObject({ code: 'conflict' })
  await expect(resumeBatch(pipeline, owner, id)).rejects.toMatchObject({ code: 'conflict' })
  const stranger = { accountId: 'acc_other', mode: 'live' } as const
  await expect(pauseBatch(pipeline, stranger, id)).rejects.toMatchObject({ code: 'not_found' })
})
