import type { LeasedTask } from '@plumbline/db/batches/lease-tasks'
import {
  keepUnclaimed,
  readUnclaimed,
  takeBack,
  type UnclaimedTask,
} from '@plumbline/db/batches/unclaimed'
import { recall } from '@plumbline/queue/jobs'
import { bulkQueueOf } from '@plumbline/queue/names'
import type { Pipeline } from './pipeline.ts'

/**
 * Job id of a leased task. It includes the batch: task numbers start over in a new database, and a
 * queue that outlived the old one drops a job whose id it still holds.
 */
export function jobOf({
  batchId,
  taskId,
  lease,
}: Pick<LeasedTask, 'batchId' | 'taskId' | 'lease'>): string {
  return `${batchId}-${taskId}-${lease}`
}

/**
 * Handles leased tasks that no worker claims. If the job still waits in the queue, the lease is
 * extended, so that a queue never holds more jobs than tasks are leased, however long its workers
 * are away; if the job is lost, the task is dispatched again. Jobs of canceled and paused batches
 * are removed.
 */
export async function recallUnclaimed({
  db,
  queue,
  limits,
}: Pick<Pipeline, 'db' | 'queue' | 'limits'>): Promise<void> {
  const tasks = await readUnclaimed(db)
  const there: UnclaimedTask[] = []
  const lost: UnclaimedTask[] = []
  for (const task of tasks) {
    const left = await recall(queue, bulkQueueOf(task.check), jobOf(task), task.halted)
    if (left === 'lost') lost.push(task)
    else there.push(task)
  }
  await takeBack(db, lost)
  await keepUnclaimed(db, there, limits.leaseMs)
}
