import { setTimeout as wait } from 'node:timers/promises'
import { quietGroups } from '@plumbline/db/batches/groups'
import { closeFinishedBatches, leaseStages } from '@plumbline/db/batches/stages'
import { leaseTasks } from '@plumbline/db/batches/lease-tasks'
import { openWork } from '@plumbline/db/batches/tasks'
import { enqueue } from '@plumbline/queue/jobs'
import { bulkQueueOf } from '@plumbline/queue/names'
import type { Pipeline } from './pipeline.ts'
import { makeTasks } from './start.ts'

/** Pause between two rounds: after one that found tasks, while tasks run, and without work. */
const BUSY_MS = 5
const WAITING_MS = 20
const IDLE_MS = 250

/**
 * The dispatcher: leases stages of batches and tasks of chunks by database time and enqueues them, until the
 * signal aborts. A lost job, a killed worker and an emptied queue are one case: the lease runs out, and the
 * work is leased again. Several dispatchers may run; one at a time leases.
 */
export async function runDispatcher(pipeline: Pipeline, signal: AbortSignal): Promise<void> {
  for (let round = 0; !signal.aborted; round++) {
    let restMs = IDLE_MS
    try {
      restMs = REST_MS[await dispatchOnce(pipeline, round % STAGES_EVERY === 0)]
    } catch (error) {
      if (!signal.aborted) pipeline.log.warn({ err: error }, 'dispatch failed; trying again')
    }
    try {
      await wait(restMs, undefined, { signal })
    } catch {
      return
    }
  }
}

const REST_MS = { dispatched: BUSY_MS, waiting: WAITING_MS, idle: IDLE_MS } as const

/** Rounds between two searches for stages while every round finds tasks. */
const STAGES_EVERY = 8

/** One round: tasks first; stages, of which there are few, when asked or where there was no task. */
export async function dispatchOnce(
  pipeline: Pick<Pipeline, 'db' | 'queue' | 'limits'>,
  stagesToo = true,
): Promise<keyof typeof REST_MS> {
  const dispatched = await dispatchTasks(pipeline)
  if (dispatched && !stagesToo) return 'dispatched'
  const { db, queue, limits } = pipeline
  const { open, starting } = await openWork(db)
  if (!open) return 'idle'
  if (starting) await makeTasks(db)
  await closeFinishedBatches(db)
  await quietGroups(db)
  const stages = await leaseStages(db, limits.leaseMs)
  for (const { batchId, stage, lease } of stages) {
    await enqueue(queue, stage, [{ id: `${batchId}-${lease}`, data: { batchId, lease } }])
  }
  return dispatched || starting ? 'dispatched' : 'waiting'
}

/** Leases tasks and enqueues them; returns whether there were any. */
async function dispatchTasks({
  db,
  queue,
  limits,
}: Pick<Pipeline, 'db' | 'queue' | 'limits'>): Promise<boolean> {
  const { slots, reserve, leaseMs } = limits
  const tasks = await leaseTasks(db, { slots, reserve, leaseMs })
  const byCheck = Map.groupBy(tasks, (task) => task.check)
  for (const [check, leased] of byCheck) {
    await enqueue(
      queue,
      bulkQueueOf(check),
      leased.map(({ batchId, taskId, lease }) => ({
        // The batch too: numbers begin again in a new database, and a queue that outlived the old one
        // drops a job whose id it still holds.
        id: `${batchId}-${taskId}-${lease}`,
        data: { taskId, lease },
      })),
    )
  }
  return tasks.length > 0
}
