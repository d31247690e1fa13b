import type { LeasedTask } from '@plumbline/db/batches/lease-tasks'
import type { StageFence } from '@plumbline/db/batches/stages'
import type { JobData, NewJob } from '@plumbline/queue/backend'

// The jobs of batches: each names what was leased, and holds none of its rows.

/** What names a lease of a task. */
type LeaseOfTask = Pick<LeasedTask, 'batchId' | 'taskId' | 'lease'>

/**
 * Job id of a leased task. It includes the batch: task numbers start over in a new database, and a
 * queue that outlived the old one drops a job whose id it still holds.
 */
export function taskJobId({ batchId, taskId, lease }: LeaseOfTask): string {
  return `${batchId}-${taskId}-${lease}`
}

/** The job of a leased task. @param queuedMs now, by the clock of the queue */
export function taskJob(task: LeaseOfTask, queuedMs: number): NewJob {
  const { taskId, lease } = task
  return { id: taskJobId(task), data: { taskId, lease, queuedMs } }
}

/** A task as its job names it. */
export interface QueuedTask extends Pick<LeasedTask, 'taskId' | 'lease'> {
  /** When it was enqueued, by the clock of the queue; undefined if its job does not say. */
  readonly queuedMs: number | undefined
}

/** The task that a job names. @throws TypeError if it names none */
export function readTaskJob({ taskId, lease, queuedMs }: JobData): QueuedTask {
  if (typeof taskId !== 'number' || typeof lease !== 'number') {
    throw new TypeError('a job of a batch names no task')
  }
  return { taskId, lease, queuedMs: typeof queuedMs === 'number' ? queuedMs : undefined }
}

/** Job id of a leased stage. */
export function stageJobId({ batchId, lease }: StageFence): string {
  return `${batchId}-${lease}`
}

/** The job of a leased stage. */
export function stageJob(stage: StageFence): NewJob {
  const { batchId, lease } = stage
  return { id: stageJobId(stage), data: { batchId, lease } }
}

/** The stage that a job names. @throws TypeError if it names none */
export function readStageJob({ batchId, lease }: JobData): StageFence {
  if (typeof batchId !== 'string' || typeof lease !== 'number') {
    throw new TypeError('a job of a stage names no batch')
  }
  return { batchId, lease }
}
