import type { Check } from '@plumbline/contract/products'
import { leaseTasks, type LeasedTask } from '@plumbline/db/batches/lease-tasks'
import { claimTask } from '@plumbline/db/batches/tasks'
import { expect, test, vi } from 'vitest'
import { instantEngine } from '@plumbline/testkit/instant-engines'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { unpackOutcomes } from './codec.ts'
import { createTaskLeases } from './task-lease.ts'
import { runTask, type CheckRunner } from './run-task.ts'
import { PATIENT } from '@plumbline/testkit/patience'

const SLOTS = { email: 100, phone: 0, ip: 0, domain: 0 }
const EMAILS = Array.from({ length: 8 }, (_, at) => `person${at}@a.example`)
const POISON = 'poison@a.example'

/** How a run of the task ends. */
type Fate = 'answers' | 'throws' | 'is killed'
type FateOf = (subjects: readonly string[]) => Fate

test('tasks of a dead worker are dispatched again at once, and with a longer delay each further time', async () => {
  await using harness = await openTestPipeline()
  await harness.read(contentOf(EMAILS.slice(0, 1)))
  const rests: number[] = []
  for (let times = 1; times <= 5; times++) {
    await runAll(harness, () => 'is killed')
    rests.push(await restOf(harness))
  }
  expect(rests[0]).toBe(0)
  for (const [at, rest] of rests.slice(1).entries()) {
    expect(rest).toBeGreaterThan(2 ** at * 0.49)
    expect(rest).toBeLessThan(2 ** at * 1.5)
  }
})

test('a record is answered after five kills of its workers', async () => {
  await using harness = await openTestPipeline()
  await harness.read(contentOf(EMAILS.slice(0, 1)))
  for (let times = 1; times <= 5; times++) await runAll(harness, () => 'is killed')
  await runAll(harness, () => 'answers')
  expect(await outcomesOf(harness)).toEqual({ answered: 1, failed: 0 })
})

test('a record that kills each worker ends as an error after six more attempts, and the others are answered', async () => {
  await using harness = await openTestPipeline()
  await harness.read(contentOf([...EMAILS, POISON]))
  const runs = await runToEnd(harness, (subjects) =>
    subjects.includes(POISON) ? 'is killed' : 'answers',
  )
  expect(await outcomesOf(harness)).toEqual({ answered: EMAILS.length, failed: 1 })
  // All nine together, then the failing half of five, of three and of two, then the one record
  // alone.
  expect(runs['is killed']).toBe(3 + 3 + 6)
})

test('a record whose engine throws ends as an error after three more attempts, and the others are answered', async () => {
  await using harness = await openTestPipeline()
  await harness.read(contentOf([...EMAILS, POISON]))
  const runs = await runToEnd(harness, (subjects) =>
    subjects.includes(POISON) ? 'throws' : 'answers',
  )
  expect(await outcomesOf(harness)).toEqual({ answered: EMAILS.length, failed: 1 })
  expect(runs.throws).toBe(3 + 3 + 3)
})

test('a failed record is an error at once, and the others are answered', async () => {
  await using harness = await openTestPipeline()
  await harness.read(contentOf([...EMAILS, POISON]))
  const healthy = instantEngine<Check>('email')
  const engine: CheckRunner = {
    run: async (request) => {
      const answers = await healthy.run(request)
      return answers.map((answer, at) =>
        request.subjects[at] === POISON ? { kind: 'failed' } : answer,
      )
    },
  }
  const { db, limits } = harness.pipeline
  const [task] = await leaseTasks(db, { slots: SLOTS, reserve: 0, leaseMs: limits.leaseMs })
  if (task === undefined) throw new Error('nothing was handed out')
  using leases = createTaskLeases(harness.pipeline)
  await runTask(harness.pipeline, leases, () => engine, task, new AbortController().signal)
  expect(await outcomesOf(harness)).toEqual({ answered: EMAILS.length, failed: 1 })
  expect((await db.pool.query(`select from tasks`)).rows).toEqual([])
})

test('a waiting subject comes back with its state, whatever a server wrote into it', async () => {
  await using harness = await openTestPipeline()
  await harness.read(contentOf(EMAILS.slice(0, 1)))
  const states: unknown[] = []
  const engine: CheckRunner = {
    run: async (request) => {
      states.push(request.states?.[0])
      // A NUL, and half of a surrogate pair.
      const state = { said: 'no\0 such user \ud83d' }
      return [{ kind: 'later', afterMs: 0, group: 'mx:a', reason: 'greylisted', state }]
    },
  }
  const { db, limits } = harness.pipeline
  using leases = createTaskLeases(harness.pipeline)
  for (const _ of [1, 2]) {
    const tasks = await leaseTasks(db, { slots: SLOTS, reserve: 0, leaseMs: limits.leaseMs })
    for (const task of tasks) {
      await runTask(harness.pipeline, leases, () => engine, task, new AbortController().signal)
    }
  }
  expect(states).toEqual([undefined, { said: 'no\ufffd such user \ufffd' }])
})

test.each([
  { after: 'is lost', known: 0, left: [0, 1, 2, 3, 4, 5, 6, 7] },
  // As a worker that claimed the task anew under the same number, and saved as many subjects.
  { after: 'is lost and another of the same size is stored', known: 3, left: [0, 1, 2, 3, 4] },
])('no subject is without an outcome after a save $after', async ({ known, left }) => {
  await using harness = await openTestPipeline({ limits: { saveMs: 20 } })
  await harness.read(contentOf(EMAILS))
  const { db, limits } = harness.pipeline
  const healthy = instantEngine<Check>('email')
  const engine: CheckRunner = {
    run: async (request) => {
      const answers = await healthy.run({ ...request, answered: () => undefined })
      for (const [at, answer] of answers.slice(0, 3).entries()) request.answered?.(at, answer)
      await vi.waitFor(async () => expect((await outcomesOf(harness)).answered).toBe(3), PATIENT)
      // Rows that the primary acknowledged and the standby never received.
      if (known === 0) await db.pool.query(`delete from parts`)
      else await db.pool.query(`update parts set indexes = '{5,6,7}'`)
      await db.pool.query(`update chunks set remaining = $1`, [left.length])
      await db.pool.query(`update tasks set indexes = $1, size = $2`, [left, left.length])
      return answers
    },
  }
  using leases = createTaskLeases(harness.pipeline)
  const [task] = await leaseTasks(db, { slots: SLOTS, reserve: 0, leaseMs: limits.leaseMs })
  if (task === undefined) throw new Error('no task went out')
  await runTask(harness.pipeline, leases, () => engine, task, new AbortController().signal)
  expect(await outcomesOf(harness)).toEqual({ answered: known, failed: 0 })
  await db.pool.query(`update tasks set lease_until = now() - interval '1 s'`)
  await leaseTasks(db, { slots: NO_SLOTS, reserve: 0, leaseMs: limits.leaseMs })
  await runToEnd(harness, () => 'answers')
  expect(await outcomesOf(harness)).toEqual({ answered: EMAILS.length, failed: 0 })
})

test('a run of a task that a failover lost stores nothing for the task that gets its number', async () => {
  await using harness = await openTestPipeline()
  const { db, limits } = harness.pipeline
  const lease = async (): Promise<LeasedTask> => {
    const [task] = await leaseTasks(db, { slots: SLOTS, reserve: 0, leaseMs: limits.leaseMs })
    if (task === undefined) throw new Error('no task went out')
    return task
  }
  await harness.read(contentOf(EMAILS))
  const lost = await lease()
  const others = EMAILS.map((email) => `other-${email}`)
  const healthy = instantEngine<Check>('email')
  const engine: CheckRunner = {
    run: async (request) => {
      // The new primary has neither the task nor its number.
      await db.pool.query(`delete from tasks`)
      await db.pool.query(`select setval('tasks_id_seq', $1, false)`, [lost.taskId])
      await harness.read(contentOf(others))
      const next = await lease()
      expect(await claimTask(db, next, limits.leaseMs)).toMatchObject({ taskId: lost.taskId })
      return await healthy.run(request)
    },
  }
  using leases = createTaskLeases(harness.pipeline)
  await runTask(harness.pipeline, leases, () => engine, lost, new AbortController().signal)
  expect((await db.pool.query('select from parts')).rowCount).toBe(0)
  expect((await db.pool.query('select from tasks')).rowCount).toBe(1)
})

function contentOf(emails: readonly string[]): string {
  return `email\n${emails.join('\n')}\n`
}

/** Runs tasks until none is open; returns how many runs ended in each way. */
async function runToEnd(harness: TestPipeline, fateOf: FateOf): Promise<Record<Fate, number>> {
  const runs = { answers: 0, throws: 0, 'is killed': 0 }
  for (let round = 0; round < 100; round++) {
    const fates = await runAll(harness, fateOf)
    for (const fate of fates) runs[fate]++
    const { rows } = await harness.pipeline.db.pool.query(`select from tasks`)
    if (rows.length === 0) return runs
  }
  throw new Error('the batch did not end')
}

/** Ends every delay, dispatches all tasks and runs each as far as its worker gets. */
async function runAll(harness: TestPipeline, fateOf: FateOf): Promise<readonly Fate[]> {
  const { db, limits } = harness.pipeline
  await db.pool.query(`update tasks set due_at = null`)
  const tasks = await leaseTasks(db, { slots: SLOTS, reserve: 0, leaseMs: limits.leaseMs })
  const fates: Fate[] = []
  for (const task of tasks) {
    const fate = await run(harness, fateOf, task)
    if (fate !== undefined) fates.push(fate)
  }
  // Time passes: leases of dead workers expire, and a dispatcher finds them.
  await db.pool.query(`update tasks set lease_until = 'epoch' where lease_until is not null`)
  await leaseTasks(db, { slots: NO_SLOTS, reserve: 0, leaseMs: limits.leaseMs })
  return fates
}

const NO_SLOTS = { email: 0, phone: 0, ip: 0, domain: 0 }

/** Returns how the engine ended; undefined if it was not called. */
async function run(
  harness: TestPipeline,
  fateOf: FateOf,
  task: LeasedTask,
): Promise<Fate | undefined> {
  let fate: Fate | undefined
  const dead = Promise.withResolvers<void>()
  const healthy = instantEngine<Check>('email')
  const engine: CheckRunner = {
    run: async (request) => {
      fate = fateOf(request.subjects)
      if (fate === 'throws') throw new Error('a bug of ours')
      if (fate === 'answers') return await healthy.run(request)
      dead.resolve()
      return await new Promise<never>(() => undefined)
    },
  }
  using leases = createTaskLeases(harness.pipeline)
  const signal = new AbortController().signal
  await Promise.race([runTask(harness.pipeline, leases, () => engine, task, signal), dead.promise])
  return fate
}

/** The delay of the only task, in leases. */
async function restOf(harness: TestPipeline): Promise<number> {
  const { db, limits } = harness.pipeline
  const { rows } = await db.pool.query<{ ms: number | null }>(
    `select extract(epoch from due_at - clock_timestamp())::float8 * 1000 as ms from tasks`,
  )
  return (rows[0]?.ms ?? 0) / limits.leaseMs
}

async function outcomesOf(harness: TestPipeline): Promise<{ answered: number; failed: number }> {
  const { rows } = await harness.pipeline.db.pool.query<{ outcomes: Buffer }>(
    `select outcomes from parts`,
  )
  const outcomes = rows.flatMap((row) => unpackOutcomes(row.outcomes))
  const failed = outcomes.filter((outcome) => outcome === null).length
  return { answered: outcomes.length - failed, failed }
}
