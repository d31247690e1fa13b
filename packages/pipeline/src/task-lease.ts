import { haltedTasks } from '@plumbline/db/batches/drain'
import { renewTasks, type TaskFence } from '@plumbline/db/batches/tasks'
import type { Pipeline } from './pipeline.ts'

/** The lease of a task, renewed until it is disposed. */
export interface TaskLease extends Disposable {
  /** Fires when another worker may have the task. */
  readonly lost: AbortSignal
  /** Fires when the task's batch is being canceled. */
  readonly canceled: AbortSignal
  /** Fires when the task's batch is paused. */
  readonly paused: AbortSignal
}

/** Renews the leases of all tasks that a worker runs, in one statement. */
export interface TaskLeases extends Disposable {
  keep(task: TaskFence & { readonly canceling: boolean }): TaskLease
}

/** A task whose lease this worker holds. */
interface HeldTask {
  readonly task: TaskFence
  readonly lost: AbortController
  readonly canceled: AbortController
  readonly paused: AbortController
}

/**
 * Milliseconds between two checks for canceled and paused batches; lookups begun in between are
 * still paid for.
 */
const HALT_CHECK_MS = 200

/**
 * Milliseconds after which a failed renewal is tried again: after an outage of the database a worker
 * has its leases back before the dispatcher gives those that ran out to others.
 */
const RETRY_MS = 1_000

/**
 * Starts the renewals, three in the time of a lease, and the checks for canceled and paused
 * batches.
 */
export function createTaskLeases(pipeline: Pick<Pipeline, 'db' | 'limits' | 'log'>): TaskLeases {
  const held = new Map<number, HeldTask>()
  const renew = async (): Promise<void> => {
    const tasks = [...held.values()].map(({ task }) => task)
    if (tasks.length === 0) return
    const alive = await renewTasks(pipeline.db, tasks, pipeline.limits.leaseMs)
    for (const task of tasks) {
      const entry = held.get(task.taskId)
      if (!alive.has(task.taskId) && entry?.task === task) entry.lost.abort()
    }
  }
  let isOpen = true
  let retry: NodeJS.Timeout | undefined
  const tryToRenew = async (): Promise<void> => {
    try {
      await renew()
    } catch (error) {
      pipeline.log.warn({ err: error }, 'leases could not be renewed')
      clearTimeout(retry)
      if (isOpen) retry = setTimeout(() => void tryToRenew(), RETRY_MS)
    }
  }
  const timer = setInterval(() => void tryToRenew(), pipeline.limits.leaseMs / 3)
  let checking = false
  const checkHalted = async (): Promise<void> => {
    const open = [...held].filter(([, { canceled }]) => !canceled.signal.aborted)
    if (checking || open.length === 0) return
    checking = true
    try {
      const halts = await haltedTasks(
        pipeline.db,
        open.map(([taskId]) => taskId),
      )
      for (const [taskId, { canceled, paused }] of open) {
        const halt = halts.get(taskId)
        if (halt === 'canceling') canceled.abort()
        else if (halt === 'paused') paused.abort()
      }
    } catch (error) {
      pipeline.log.warn({ err: error }, 'halted batches could not be checked; it is tried again')
    } finally {
      checking = false
    }
  }
  const haltTimer = setInterval(() => void checkHalted(), HALT_CHECK_MS)
  return {
    keep: ({ canceling, ...task }) => {
      const lost = new AbortController()
      const canceled = new AbortController()
      const paused = new AbortController()
      if (canceling) canceled.abort()
      // Another run of the task in this process: its lease was lost, and the task leased again.
      held.get(task.taskId)?.lost.abort()
      held.set(task.taskId, { task, lost, canceled, paused })
      return {
        lost: lost.signal,
        canceled: canceled.signal,
        paused: paused.signal,
        [Symbol.dispose]: () => {
          if (held.get(task.taskId)?.lost === lost) held.delete(task.taskId)
        },
      }
    },
    [Symbol.dispose]: () => {
      isOpen = false
      clearTimeout(retry)
      clearInterval(timer)
      clearInterval(haltTimer)
    },
  }
}
