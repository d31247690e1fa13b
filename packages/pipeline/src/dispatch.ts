import { setTimeout as wait } from 'node:timers/promises'
import type { Check } from '@plumbline/contract/products'
import { closeFinishedBatches, leaseStages } from '@plumbline/db/batches/stages'
import { anyOpenWork, leaseTasks } from '@plumbline/db/batches/tasks'
import { enqueue } from '@plumbline/queue/jobs'
import type { Pipeline } from './pipeline.ts'

/** How often the dispatcher looks while there is work, and while there is none. */
const BUSY_MS = 20
const IDLE_MS = 250

/**
 * Hands out work until the signal aborts: stages of batches and tasks of chunks, each under a lease
 * by database time. Lost jobs, killed workers and an emptied queue are all the same case here: the
 * lease runs out and the work goes out again. Several may run; one at a time does the handing out.
 */
export async function runDispatcher(pipeline: Pipeline, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    let busy = false
    try {
      busy = await dispatchOnce(pipeline)
    } catch (error) {
      if (!signal.aborted) pipeline.log.warn({ err: error }, 'dispatch failed; trying again')
    }
    try {
      await wait(busy ? BUSY_MS : IDLE_MS, undefined, { signal })
    } catch {
      return
    }
  }
}

/** One round; answers whether any batch is being worked on. */
export async function dispatchOnce(pipeline: Pipeline): Promise<boolean> {
  const { db, queue, limits } = pipeline
  if (!(await anyOpenWork(db.kysely))) return false
  await closeFinishedBatches(db.kysely)
  const stages = await leaseStages(db.kysely, limits.leaseMs)
  for (const { batchId, stage, lease } of stages) {
    await enqueue(queue, stage, [{ id: `${batchId}-${lease}`, data: { batchId, lease } }])
  }
  const { slots, reserve, leaseMs } = limits
  const tasks = await leaseTasks(db.pool, {
    slots: { email: slots, phone: slots, ip: slots, domain: slots },
    reserve,
    leaseMs,
  })
  const byCheck = Map.groupBy(tasks, (task) => task.check)
  for (const [check, leased] of byCheck) {
    await enqueue(
      queue,
      bulkQueue(check),
      leased.map(({ taskId, lease }) => ({ id: `${taskId}-${lease}`, data: { taskId, lease } })),
    )
  }
  return true
}

/** The queue of a check's tasks. */
function bulkQueue(check: Check): `bulk-${Check}` {
  return `bulk-${check}`
}
