import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Check } from '@plumbline/contract/products'
import { emptyOpenGroups } from '@plumbline/db/batches/groups'
import { leaseTasks, type LeasedTask } from '@plumbline/db/batches/lease-tasks'
import { closeFinishedBatches, leaseStages } from '@plumbline/db/batches/stages'
import { openWork, type OpenWork } from '@plumbline/db/batches/tasks'
import { holdDuty, leaveDuty } from '@plumbline/db/duties'
import { countBatchWorkers, readRoom, type TaskRoom } from '@plumbline/db/workers'
import type { QueueBackend } from '@plumbline/queue/backend'
import { enqueue } from '@plumbline/queue/jobs'
import { bulkQueueOf } from '@plumbline/queue/names'
import type { Pipeline } from './pipeline.ts'
import { jobOf, jobOfStage, keepQueuedStages, recallUnclaimed } from './recall.ts'
import { LONG_STAGES } from './stage-room.ts'
import { makeTasks } from './start.ts'
import { DEFAULT_ROOM } from './task-room.ts'

/**
 * Pause between two rounds: after one that found many tasks, while tasks run, and without work. Where all that is
 * open waits for its time, it lasts until then, as without work at most.
 */
const BUSY_MS = 5
const WAITING_MS = 20
const IDLE_MS = 250

/** Pause where there was no work for so long: a batch that comes then begins a little later. */
const RESTING_MS = 1_000
const RESTS_AFTER_MS = 60_000

/** How long a dispatcher that is gone keeps others out, how often it says that it is there, and others look. */
const TERM_MS = 3_000
const RENEW_MS = 1_500
const STANDBY_MS = 1_000

/**
 * Time between two looks at what workers there are, for tasks that nobody claims, and for batches that ended and
 * nobody closed, and between two plans of the statement that leases: tables grow by then, and it takes longer
 * than a round.
 */
const ROOM_MS = 1_000
const RECALL_MS = 1_000
const CLOSE_MS = 5_000
const PLAN_MS = 5_000

/**
 * Share of its slots that a check must have been given in a round for the next to follow at once. Where tasks end
 * one by one, a longer pause costs a slot little, and a round for each of them would cost the database much.
 */
const MANY = 1 / 8

/** Time between two searches for stages while every round finds tasks. */
const STAGES_MS = 60

const REST_MS = { dispatched: BUSY_MS, waiting: WAITING_MS, idle: IDLE_MS } as const

/** What a dispatcher keeps from round to round; another begins anew. */
export interface DispatchTurn {
  /** Left out where no other can dispatch. */
  readonly holder?: string
  /** The account of each check that was served last. */
  readonly served: Map<Check, string>
  /** Leased tasks that go out when they are whole. */
  growing: readonly LeasedTask[]
  /** Milliseconds after which what is open may be due, as far as the last round saw. */
  quietMs: number
  /** When it did last what it does now and then, by the clock of the process. */
  recalledMs: number
  closedMs: number
  plannedMs: number
  /** The room of all workers, and when it was read last. */
  room: Readonly<Record<Check, TaskRoom>>
  /** Live workers that read files and write results, at least this one. */
  batchWorkers: number
  roomMs: number
}

/** Who is told what the dispatcher does. */
export interface DispatchTold {
  /** After each round, with its milliseconds. */
  readonly onRound?: (ms: number) => void
  /** Where a batch that has started was given more of its tasks: it is a large one. */
  readonly onStarting?: () => void
}

/** A turn that begins. */
export function newTurn(holder?: string): DispatchTurn {
  const begun: DispatchTurn = {
    served: new Map(),
    growing: [],
    quietMs: 0,
    recalledMs: -Infinity,
    closedMs: -Infinity,
    plannedMs: -Infinity,
    room: DEFAULT_ROOM,
    batchWorkers: 1,
    roomMs: -Infinity,
  }
  return holder === undefined ? begun : { ...begun, holder }
}

/**
 * The dispatcher: leases stages of batches and tasks of chunks by database time and enqueues them, until the
 * signal aborts. One process of all dispatches; where it stops or is lost, the next takes over in 4 seconds. A
 * lost job, a killed worker and an emptied queue are one case: the lease runs out, and the work is leased again.
 */
export async function runDispatcher(
  pipeline: Pipeline,
  signal: AbortSignal,
  { onRound, onStarting }: DispatchTold = {},
): Promise<void> {
  const { db, log } = pipeline
  const holder = randomUUID()
  let turn: DispatchTurn | undefined
  let renewedMs = -Infinity
  let stagedMs = -Infinity
  let workedMs = performance.now()
  while (!signal.aborted) {
    let restMs = STANDBY_MS
    try {
      const nowMs = performance.now()
      if (turn === undefined || nowMs - renewedMs > RENEW_MS) {
        const isOurs = await holdDuty(db, 'dispatch', holder, TERM_MS)
        turn = isOurs ? (turn ?? newTurn(holder)) : undefined
        renewedMs = nowMs
      }
      if (turn !== undefined) {
        const startedMs = performance.now()
        const stagesToo = nowMs - stagedMs > STAGES_MS
        if (stagesToo) stagedMs = nowMs
        const found = await dispatchOnce(pipeline, stagesToo, turn, onStarting)
        if (found !== 'idle') workedMs = nowMs
        restMs = nowMs - workedMs > RESTS_AFTER_MS ? RESTING_MS : REST_MS[found]
        if (found === 'waiting') restMs = Math.min(IDLE_MS, Math.max(restMs, turn.quietMs))
        onRound?.(performance.now() - startedMs)
      }
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'dispatch failed; trying again')
    }
    await wait(restMs, undefined, { signal }).catch(() => undefined)
  }
  try {
    // What grows goes out as it is: to the next dispatcher it is leased.
    if (turn !== undefined) await enqueueTasks(pipeline.queue, turn.growing)
    await leaveDuty(db, 'dispatch', holder)
  } catch (error) {
    log.warn({ err: error }, 'the next dispatcher takes over a little later')
  }
}

/**
 * One round: tasks first; stages, of which there are few, when asked or where there was no task. Its work
 * grows with what it hands out, not with what runs or waits.
 */
export async function dispatchOnce(
  pipeline: Pick<Pipeline, 'db' | 'queue' | 'limits'>,
  stagesToo = true,
  turn: DispatchTurn = newTurn(),
  onStarting?: () => void,
): Promise<keyof typeof REST_MS> {
  const { db, queue, limits } = pipeline
  const work = stagesToo ? await openWork(db) : UNSEEN
  const { open, starting } = work
  turn.quietMs = 0
  if (!open) return 'idle'
  if (starting) {
    await makeTasks(db)
    onStarting?.()
  }
  const found = await dispatchTasks(pipeline, turn)
  if (found !== 'none' && !stagesToo) return REST_AFTER[found]
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
  await keepQueuedStages(pipeline)
  const stages = await leaseStages(db, limits.leaseMs, LONG_STAGES * turn.batchWorkers)
  for (const leased of stages) {
    const { batchId, stage, lease } = leased
    await enqueue(queue, stage, [{ id: jobOfStage(leased), data: { batchId, lease } }])
  }
  if (found === 'none' && stages.length === 0) turn.quietMs = work.quietMs
  return starting ? 'dispatched' : REST_AFTER[found]
}

/** A round that does not look at what is open takes it that there is something. */
const UNSEEN: OpenWork = { open: true, starting: false, quietMs: 0 }

type Found = 'many' | 'few' | 'none'

const REST_AFTER = { many: 'dispatched', few: 'waiting', none: 'waiting' } as const

/** Leases tasks and enqueues them; answers whether another round may soon find as much. */
async function dispatchTasks(
  { db, queue, limits }: Pick<Pipeline, 'db' | 'queue' | 'limits'>,
  turn: DispatchTurn,
): Promise<Found> {
  const { leaseMs } = limits
  const { holder, served } = turn
  const nowMs = performance.now()
  if (nowMs - turn.roomMs > ROOM_MS) {
    turn.room = await readRoom(db, DEFAULT_ROOM)
    turn.batchWorkers = await countBatchWorkers(db)
    turn.roomMs = nowMs
  }
  const replan = nowMs - turn.plannedMs > PLAN_MS
  if (replan) turn.plannedMs = nowMs
  const held = holder === undefined ? {} : { holder }
  const slots = ofEach(turn.room, ({ slots: count }) => count)
  const reserve = ofEach(turn.room, ({ reserve: count }) => count)
  const { growing } = turn
  const leased = await leaseTasks(db, {
    slots,
    reserve,
    leaseMs,
    growing,
    served,
    replan,
    ...held,
  })
  for (const { check, accountId } of leased.slice(growing.length)) served.set(check, accountId)
  turn.growing = leased.filter(({ grows }) => grows)
  const tasks = leased.filter(({ grows }) => !grows)
  await enqueueTasks(queue, tasks)
  if (leased.length === 0) return 'none'
  // One round gives out a few groups only, however many are due.
  if (leased.some(({ group }) => group !== null)) return 'many'
  const byCheck = Map.groupBy(tasks, ({ check }) => check)
  return [...byCheck].some(([check, { length }]) => length > slots[check] * MANY) ? 'many' : 'few'
}

async function enqueueTasks(queue: QueueBackend, tasks: readonly LeasedTask[]): Promise<void> {
  const queuedMs = queue.clock.nowMs()
  for (const [check, leased] of Map.groupBy(tasks, (task) => task.check)) {
    await enqueue(
      queue,
      bulkQueueOf(check),
      leased.map((task) => ({
        id: jobOf(task),
        data: { taskId: task.taskId, lease: task.lease, queuedMs },
      })),
    )
  }
}

function ofEach(
  room: Readonly<Record<Check, TaskRoom>>,
  countOf: (of: TaskRoom) => number,
): Readonly<Record<Check, number>> {
  const { email, phone, ip, domain } = room
  return { email: countOf(email), phone: countOf(phone), ip: countOf(ip), domain: countOf(domain) }
}
