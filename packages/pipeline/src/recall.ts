import type { LeasedTask, LostTask } from '@plumbline/db/batches/lease-tasks'
import {
  renewUnclaimed,
  readUnclaimed,
  returnUnclaimed,
  type UnclaimedTask,
} from '@plumbline/db/batches/unclaimed'
import {
  readLapsedStages,
  renewLapsedStages,
  returnLapsedStages,
} from '@plumbline/db/batches/stages'
import type { QueueBackend } from '@plumbline/queue/backend'
import { recall } from '@plumbline/queue/jobs'
import { bulkQueueOf } from '@plumbline/queue/names'
import { stageJobId, taskJobId } from './batch-jobs.ts'
import type { Pipeline } from './pipeline.ts'

/**
 * Whether the queue still holds the job of the last claim of a task whose lease was lost. A worker
 * that was killed leaves its job active: it is removed once its lock has run out, so that a queue
 * never holds two jobs of a task.
 */
export async function isJobLeft(queue: QueueBackend, task: LeasedTask): Promise<boolean> {
  if (task.attempts === 0) return false
  // The claim and this lease have each incremented the number since.
  const before = taskJobId({ ...task, lease: task.lease - 2 })
  return (await recall(queue, bulkQueueOf(task.check), before, true)) !== 'lost'
}

/**
 * Removes the jobs of claims that were lost, so that the queue never holds more jobs than tasks may
 * be leased: the locks of a killed worker run out before its leases. The job of a worker that only
 * lost its database stays until the worker ends it.
 */
export async function removeLostJobs(
  queue: QueueBackend,
  tasks: readonly LostTask[],
): Promise<void> {
  for (const task of tasks) {
    const producer = await queue.producer(bulkQueueOf(task.check))
    await producer.remove(taskJobId({ ...task, lease: task.lease - 1 }))
  }
}

/**
 * Handles leased tasks that no worker claims. If the job still waits in the queue, the lease is
 * extended, so that a queue never holds more jobs than tasks are leased, however long its workers
 * are away; if the job is lost, the task is dispatched again. Jobs of canceled and paused batches
 * are removed.
 *
 * @param held tasks that have no job yet
 */
export async function recallUnclaimed(
  { db, queue, limits }: Pick<Pipeline, 'db' | 'queue' | 'limits'>,
  held: readonly LeasedTask[],
): Promise<void> {
  const heldJobs = new Set(held.map(taskJobId))
  const tasks = await readUnclaimed(db)
  const there: UnclaimedTask[] = []
  const lost: UnclaimedTask[] = []
  for (const task of tasks) {
    const job = taskJobId(task)
    const isHeld = heldJobs.has(job) && !task.halted
    const left =
      isHeld || (await recall(queue, bulkQueueOf(task.check), job, task.halted)) !== 'lost'
    if (!left) lost.push(task)
    else there.push(task)
  }
  await returnUnclaimed(db, lost)
  await renewUnclaimed(db, there, limits.leaseMs)
}

/**
 * Extends the leases of stages whose jobs still wait in their queue, so that none is enqueued a
 * second time while all workers are busy; ends the leases of stages whose jobs are lost, so that
 * they are leased again.
 */
export async function keepQueuedStages({
  db,
  queue,
  limits,
}: Pick<Pipeline, 'db' | 'queue' | 'limits'>): Promise<void> {
  const stages = await readLapsedStages(db, limits.leaseMs)
  const areLost = await Promise.all(
    stages.map(async (stage) => {
      // A worker that claims a stage takes the next lease number, which has no job.
      const state = await recall(queue, stage.stage, stageJobId(stage), false)
      return state === 'lost'
    }),
  )
  const lost = stages.filter((_, at) => areLost[at])
  const waiting = stages.filter((_, at) => areLost[at] !== true)
  await returnLapsedStages(db, lost)
  await renewLapsedStages(db, waiting, limits.leaseMs)
}
