import { canceledTasks } from '@plumbline/db/batches/drain'
import { renewTasks } from '@plumbline/db/batches/tasks'
import type { Pipeline } from './pipeline.ts'

/** A task whose lease is kept until it is disposed. */
export interface HeldTask extends Disposable {
  /** Fires when another worker may have the task. */
  readonly lost: AbortSignal
  /** Fires when the task's batch is being canceled. */
  readonly canceled: AbortSignal
}

/** Keeps the leases of the tasks that a worker has in hand, all in one statement. */
export interface Holder extends Disposable {
  hold(task: { taskId: number; lease: number; canceling: boolean }): HeldTask
}

/** How often it is looked whether batches of tasks in hand are canceled: what is begun after that is bought. */
const CANCEL_LOOK_MS = 200

/** Starts the renewals, three in the time of a lease, and the looks for cancels. */
export function createHolder(pipeline: Pick<Pipeline, 'db' | 'limits' | 'log'>): Holder {
  const held = new Map<
    number,
    { lease: number; lost: AbortController; canceled: AbortController }
  >()
  const renew = async (): Promise<void> => {
    const tasks = [...held].map(([taskId, { lease }]) => ({ taskId, lease }))
    if (tasks.length === 0) return
    const alive = await renewTasks(pipeline.db.pool, tasks, pipeline.limits.leaseMs)
    for (const { taskId, lease } of tasks) {
      const entry = held.get(taskId)
      if (!alive.has(taskId) && entry?.lease === lease) entry.lost.abort()
    }
  }
  const timer = setInterval(() => {
    renew().catch((error: unknown) => {
      pipeline.log.warn({ err: error }, 'leases could not be renewed')
    })
  }, pipeline.limits.leaseMs / 3)
  let looking = false
  const look = async (): Promise<void> => {
    const open = [...held].filter(([, { canceled }]) => !canceled.signal.aborted)
    if (looking || open.length === 0) return
    looking = true
    try {
      const ids = await canceledTasks(
        pipeline.db.pool,
        open.map(([taskId]) => taskId),
      )
      for (const [taskId, { canceled }] of open) if (ids.has(taskId)) canceled.abort()
    } catch (error) {
      pipeline.log.warn({ err: error }, 'no look for canceled batches; it is tried again')
    } finally {
      looking = false
    }
  }
  const looks = setInterval(() => void look(), CANCEL_LOOK_MS)
  return {
    hold: ({ taskId, lease, canceling }) => {
      const lost = new AbortController()
      const canceled = new AbortController()
      if (canceling) canceled.abort()
      held.set(taskId, { lease, lost, canceled })
      return {
        lost: lost.signal,
        canceled: canceled.signal,
        [Symbol.dispose]: () => {
          if (held.get(taskId)?.lost === lost) held.delete(taskId)
        },
      }
    },
    [Symbol.dispose]: () => {
      clearInterval(timer)
      clearInterval(looks)
    },
  }
}
