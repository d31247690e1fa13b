import { renewTasks } from '@plumbline/db/batches/tasks'
import type { Pipeline } from './pipeline.ts'

/** Keeps the leases of the tasks that a worker has in hand, all in one statement. */
export interface Holder extends Disposable {
  /** Holds a task until disposed; `lost` fires when another worker may have it. */
  hold(task: { taskId: number; lease: number }): Disposable & { readonly lost: AbortSignal }
}

/** Starts the renewals: three in the time of a lease. */
export function createHolder(pipeline: Pick<Pipeline, 'db' | 'limits' | 'log'>): Holder {
  const held = new Map<number, { lease: number; lost: AbortController }>()
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
  return {
    hold: ({ taskId, lease }) => {
      const lost = new AbortController()
      held.set(taskId, { lease, lost })
      return {
        lost: lost.signal,
        [Symbol.dispose]: () => {
          if (held.get(taskId)?.lost === lost) held.delete(taskId)
        },
      }
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}
