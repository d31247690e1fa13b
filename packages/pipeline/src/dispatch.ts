import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Check } from '@plumbline/contract/products'
import { emptyOpenGroups } from '@plumbline/db/batches/groups'
import { leaseTasks } from '@plumbline/db/batches/lease-tasks'
import { closeFinishedBatches, leaseStages } from '@plumbline/db/batches/stages'
import { openWork } from '@plumbline/db/batches/tasks'
import { holdDuty, leaveDuty } from '@plumbline/db/duties'
import { enqueue } from '@plumbline/queue/jobs'
import { bulkQueueOf } from '@plumbline/queue/names'
import type { Pipeline } from './pipeline.ts'
import { jobOf, recallUnclaimed } from './recall.ts'
import { makeTasks } from './start.ts'

/** Pause between two rounds: after one that found tasks, while tasks run, and without work. */
const BUSY_MS = 5
const WAITING_MS = 20
const IDLE_MS = 250

/** How long a dispatcher that is gone keeps others out, how often it says that it is there, and others look. */
const TERM_MS = 3_000
const RENEW_MS = 1_000
const STANDBY_MS = 1_000

/** Time between two looks for tasks that nobody claims, and for batches that ended and nobody closed. */
const RECALL_MS = 1_000
const CLOSE_MS = 5_000

/** Rounds between two searches for stages while every round finds tasks. */
const STAGES_EVERY = 8

const REST_MS = { dispatched: BUSY_MS, waiting: WAITING_MS, idle: IDLE_MS } as const

/** What a dispatcher keeps from round to round; another begins anew. */
export interface DispatchTurn {
  /** Left out where no other can dispatch. */
  readonly holder?: string
  /** The account of each check that was served last. */
  readonly served: Map<Check, string>
  /** When it did last what it does now and then, by the clock of the process. */
  recalledMs: number
  closedMs: number
}

/** A turn that begins. */
export function newTurn(holder?: string): DispatchTurn {
  const begun: DispatchTurn = { served: new Map(), recalledMs: -Infinity, closedMs: -Infinity }
  return holder === undefined ? begun : { ...begun, holder }
}

/**
 * The dispatcher: leases stages of batches and tasks of chunks by database time and enqueues them, until the
 * signal aborts. One process of all dispatches; where it stops or is lost, the next takes over in 4 seconds. A
 * lost job, a killed worker and an emptied queue are one case: the lease runs out, and the work is leased again.
 */
export async function runDispatcher(pipeline: Pipeline, signal: AbortSignal): Promise<void> {
  const { db, log } = pipeline
  const holder = randomUUID()
  let turn: DispatchTurn | undefined
  let renewedMs = -Infinity
  for (let round = 0; !signal.aborted; round++) {
    let restMs = STANDBY_MS
    try {
      const nowMs = performance.now()
      if (turn === undefined || nowMs - renewedMs > RENEW_MS) {
        const isOurs = await holdDuty(db, 'dispatch', holder, TERM_MS)
        turn = isOurs ? (turn ?? newTurn(holder)) : undefined
        renewedMs = nowMs
      }
      if (turn !== undefined) {
        restMs = REST_MS[await dispatchOnce(pipeline, round % STAGES_EVERY === 0, turn)]
      }
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'dispatch failed; trying again')
    }
    await wait(restMs, undefined, { signal }).catch(() => undefined)
  }
  await leaveDuty(db, 'dispatch', holder).catch((error: unknown) => {
    log.warn({ err: error }, 'the next dispatcher takes over a little later')
  })
}

/**
 * One round: tasks first; stages, of which there are few, when asked or where there was no task. Its work
 * grows with what it hands out, not with what runs or waits.
 */
export async function dispatchOnce(
  pipeline: Pick<Pipeline, 'db' | 'queue' | 'limits'>,
  stagesToo = true,
  turn: DispatchTurn = newTurn(),
): Promise<keyof typeof REST_MS> {
  const { db, queue, limits } = pipeline
  const { open, starting } = stagesToo ? await openWork(db) : { open: true, starting: false }
  if (!open) return 'idle'
  if (starting) await makeTasks(db)
  const dispatched = await dispatchTasks(pipeline, turn)
  if (dispatched && !stagesToo) return 'dispatched'
  await emptyOpenGroups(db)
  const nowMs = performance.now()
  if (nowMs - turn.recalledMs > RECALL_MS) {
    turn.recalledMs = nowMs
    await recallUnclaimed(pipeline)
  }
  if (nowMs - turn.closedMs > CLOSE_MS) {
    turn.closedMs = nowMs
    await closeFinishedBatches(db)
  }
  const stages = await leaseStages(db, limits.leaseMs)
  for (const { batchId, stage, lease } of stages) {
    await enqueue(queue, stage, [{ id: `${batchId}-${lease}`, data: { batchId, lease } }])
  }
  return dispatched || starting ? 'dispatched' : 'waiting'
}

/** Leases tasks and enqueues them; returns whether there were any. */
async function dispatchTasks(
  { db, queue, limits }: Pick<Pipeline, 'db' | 'queue' | 'limits'>,
  { holder, served }: DispatchTurn,
): Promise<boolean> {
  const { slots, reserve, leaseMs } = limits
  const held = holder === undefined ? {} : { holder }
  const tasks = await leaseTasks(db, { slots, reserve, leaseMs, served, ...held })
  for (const { check, accountId } of tasks) served.set(check, accountId)
  const byCheck = Map.groupBy(tasks, (task) => task.check)
  for (const [check, leased] of byCheck) {
    await enqueue(
      queue,
      bulkQueueOf(check),
      leased.map((task) => ({ id: jobOf(task), data: { taskId: task.taskId, lease: task.lease } })),
    )
  }
  return tasks.length > 0
}
