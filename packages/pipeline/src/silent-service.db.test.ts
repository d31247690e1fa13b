import type { Check } from '@plumbline/contract/products'
import { emptyOpenGroups } from '@plumbline/db/batches/groups'
import { leaseTasks, type LeasedTask } from '@plumbline/db/batches/lease-tasks'
import type { Answer } from '@plumbline/ports/engine'
import { instantEngine } from '@plumbline/testkit/instant-engines'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { expect, test } from 'vitest'
import { cancelBatch } from './cancel.ts'
import { runTask, type CheckRunner } from './run-task.ts'
import { createTaskLeases } from './task-lease.ts'

const SLOTS = { email: 10, phone: 0, ip: 0, domain: 0 }

const waitIn = (group: string): Answer => ({
  kind: 'later',
  afterMs: 0,
  group,
  reason: 'dns_unavailable',
})

/** An engine that gives each subject this answer. */
const answering = (answer: Awaited<ReturnType<CheckRunner['run']>>[number]): CheckRunner => ({
  run: (request) => Promise.resolve(request.subjects.map(() => answer)),
})

const silent = answering(waitIn('silence:resolver'))

/** Ends of a try: what its engine does. */
const ENDS: Readonly<Record<string, (harness: TestPipeline, tried: LeasedTask) => CheckRunner>> = {
  'is canceled': ({ pipeline, owner }, tried) => ({
    run: async (request) => {
      await cancelBatch(pipeline, owner, tried.batchId)
      if (!request.signal.aborted) {
        await new Promise((done) => request.signal.addEventListener('abort', done))
      }
      return await silent.run(request)
    },
  }),
  fails: () => answering({ kind: 'failed' }),
  'waits for our network': () => answering(waitIn('silence:network')),
  'gets outcomes': () => instantEngine<Check>('email'),
  'waits for a provider': () => answering(waitIn('mx:a')),
}

test.each([
  { end: 'is canceled', released: false },
  { end: 'fails', released: false },
  { end: 'waits for our network', released: false },
  { end: 'gets outcomes', released: true },
  { end: 'waits for a provider', released: true },
])(
  'a try for a silent service that $end releases the others: $released',
  async ({ end, released }) => {
    await using harness = await openTestPipeline()
    const { db } = harness.pipeline
    using leases = createTaskLeases(harness.pipeline)
    const lease = async (): Promise<readonly LeasedTask[]> =>
      await leaseTasks(db, { slots: SLOTS, reserve: 0, leaseMs: 60_000 })
    const run = async (task: LeasedTask, engine: CheckRunner | undefined): Promise<void> => {
      if (engine === undefined) throw new Error('no engine')
      const { signal } = new AbortController()
      await runTask(harness.pipeline, leases, () => engine, task, signal)
    }
    for (const name of ['ada', 'grace', 'mary']) await harness.read(`email\n${name}@a.example\n`)
    const all = await lease()
    expect(all).toHaveLength(3)
    for (const task of all) await run(task, silent)
    const [tried, ...others] = await lease()
    if (tried === undefined) throw new Error('no task is tried')
    expect(others).toEqual([])
    await run(tried, ENDS[end]?.(harness, tried))
    await emptyOpenGroups(db)
    const { rows } = await db.pool.query(
      `select from tasks where batch_id <> $1 and group_key is null`,
      [tried.batchId],
    )
    expect(rows).toHaveLength(released ? 2 : 0)
    expect(await lease()).not.toEqual([])
  },
)
