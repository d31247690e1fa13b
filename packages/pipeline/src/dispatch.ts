import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Check } from '@plumbline/contract/products'
import { advanceGroups, emptyOpenGroups } from '@plumbline/db/batches/groups'
import { leaseTasks, type LeasedTask, type LostTask } from '@plumbline/db/batches/lease-tasks'
import { closeFinishedBatches, leaseStages } from '@plumbline/db/batches/stages'
import { openWork, type OpenWork } from '@plumbline/db/batches/tasks'
import { DISPATCH_TERM_MS, holdDuty, leaveDuty } from '@plumbline/db/duties'
import { isTemporary } from '@plumbline/db/retry'
import { countBatchWorkers, readCapacity, type TaskCapacity } from '@plumbline/db/workers'
import type { QueueBackend } from '@plumbline/queue/backend'
import { enqueue } from '@plumbline/queue/jobs'
import { bulkQueueOf } from '@plumbline/queue/names'
import { stageJob, taskJob } from './batch-jobs.ts'
import type { Pipeline } from './pipeline.ts'
import { isJobLeft, keepQueuedStages, recallUnclaimed, removeLostJobs } from './recall.ts'
import { LONG_STAGES } from './long-stage-limit.ts'
import { makeTasks } from './start.ts'
import { DEFAULT_CAPACITY } from './task-capacity.ts'

/**
 * Milliseconds between two rounds: after a round that dispatched many tasks, while tasks run, and
 * without work. If everything open waits for a time, the pause lasts until then, at most as long as
 * without work.
 */
const BUSY_MS = 5
const WAITING_MS = 20
const IDLE_MS = 250

/**
 * Milliseconds between two rounds after so long without work; a batch that arrives then starts a
 * little later.
 */
const LONG_IDLE_MS = 1_000
const LONG_IDLE_AFTER_MS = 60_000

/** Milliseconds: how often a dispatcher renews its duty, and how often others try to take it over. */
const RENEW_MS = 1_500
const STANDBY_MS = 1_000

/** Milliseconds between two times of the work that a round does only now and then. */
const EVERY_MS = {
  /** Reading the workers' capacity. */
  capacity: 1_000,
  /** Searching for accounts whose groups are far behind. */
  advance: 500,
  /** Searching for unclaimed tasks. */
  recall: 1_000,
  /** Searching for finished batches that no worker closed. */
  close: 5_000,
  /** Planning the lease statement again, as tables grow; this takes longer than a round. */
  plan: 5_000,
} as const

/**
 * Share of a check's slots that a round must have filled for the next round to begin at once. When
 * tasks end one by one, a longer pause leaves a slot idle only briefly, while a round for each
 * would load the database.
 */
const MANY = 1 / 8

/** Milliseconds between two searches for stages while every round finds tasks. */
const STAGES_MS = 60

/**
 * Maximum milliseconds for which a task is held back, longer than a dead worker's job is locked: a
 * worker that has lost the lease but does not end may renew its job's lock for ever.
 */
const HELD_MS = 60_000

/**
 * Milliseconds after an outage or a standstill of the database, and after a takeover, in which
 * workers renew the leases that ran out meanwhile: they try once a second, and three times in the
 * time of a lease. Until then no such task is given to another worker. At most the time of a lease.
 */
const RENEWAL_MS = 5_000

const PAUSES_MS = { dispatched: BUSY_MS, waiting: WAITING_MS, idle: IDLE_MS } as const

/** State that a dispatcher keeps between rounds; the next dispatcher starts without it. */
export interface DispatcherState {
  /** Name of this dispatcher; undefined if there can be no other. */
  readonly holder: string | undefined
  /** The account of each check that was served last. */
  readonly served: Map<Check, string>
  /** Leased tasks that are dispatched once they no longer grow. */
  growing: readonly LeasedTask[]
  /** Leased tasks that are enqueued once the queue has lost their previous job, and since when. */
  readonly held: Map<LeasedTask, number>
  /** Milliseconds until something may be due, as of the last round. */
  quietMs: number
  /** The batch that the last search for groups that are far behind ended with. */
  advancedAfter: string
  /** When it last did the work of `EVERY_MS`, by the clock of the process. */
  readonly doneMs: Record<keyof typeof EVERY_MS, number>
  /** From when on expired leases are given to other workers; null: some time after the next round. */
  lostFromMs: number | null
  /** Capacity of all workers. */
  capacity: Readonly<Record<Check, TaskCapacity>>
  /** Live workers that read files and write results; at least this one. */
  batchWorkers: number
}

/** Callbacks of the dispatcher. */
export interface DispatchCallbacks {
  /** Called after each round with its duration in milliseconds. */
  readonly onRound?: (ms: number) => void
  /** Called when more tasks of a started batch were created, which only large batches need. */
  readonly onStarting?: () => void
}

/** The state of a dispatcher before its first round. */
export function newDispatcherState(holder?: string): DispatcherState {
  return {
    holder,
    served: new Map(),
    growing: [],
    held: new Map(),
    quietMs: 0,
    advancedAfter: '',
    doneMs: {
      capacity: -Infinity,
      advance: -Infinity,
      recall: -Infinity,
      close: -Infinity,
      plan: -Infinity,
    },
    lostFromMs: -Infinity,
    capacity: DEFAULT_CAPACITY,
    batchWorkers: 1,
  }
}

/** Whether work that is done now and then is due; it counts as done then. */
function isDue({ doneMs }: DispatcherState, work: keyof typeof EVERY_MS): boolean {
  const nowMs = performance.now()
  if (nowMs - doneMs[work] <= EVERY_MS[work]) return false
  doneMs[work] = nowMs
  return true
}

/**
 * The dispatcher: leases stages of batches and tasks of chunks by database time and enqueues them
 * until the signal aborts. Only one process dispatches; if it stops or dies, another takes over
 * within 4 seconds. A lost job, a killed worker and an emptied queue are the same case: the lease
 * runs out, and the work is leased again.
 */
export async function runDispatcher(
  pipeline: Pipeline,
  signal: AbortSignal,
  { onRound, onStarting }: DispatchCallbacks = {},
): Promise<void> {
  const { db, log } = pipeline
  const holder = randomUUID()
  let state: DispatcherState | undefined
  let renewedMs = -Infinity
  let stagedMs = -Infinity
  let workedMs = performance.now()
  while (!signal.aborted) {
    let pauseMs = STANDBY_MS
    try {
      const nowMs = performance.now()
      if (state === undefined || nowMs - renewedMs > RENEW_MS) {
        const isOurs = await holdDuty(db, 'dispatch', holder, DISPATCH_TERM_MS)
        // Database or process may have stood still for longer than the term, and with it renewals.
        const isLate = performance.now() - renewedMs > DISPATCH_TERM_MS
        if (!isOurs) state = undefined
        else if (state === undefined) state = { ...newDispatcherState(holder), lostFromMs: null }
        else if (isLate) state.lostFromMs = null
        renewedMs = nowMs
      }
      if (state !== undefined) {
        const startedMs = performance.now()
        const stagesToo = nowMs - stagedMs > STAGES_MS
        if (stagesToo) stagedMs = nowMs
        const found = await dispatchOnce(pipeline, stagesToo, state, onStarting)
        if (found !== 'idle') workedMs = nowMs
        pauseMs = nowMs - workedMs > LONG_IDLE_AFTER_MS ? LONG_IDLE_MS : PAUSES_MS[found]
        if (found === 'waiting') pauseMs = Math.min(IDLE_MS, Math.max(pauseMs, state.quietMs))
        onRound?.(performance.now() - startedMs)
      }
    } catch (error) {
      if (state !== undefined && isTemporary(error)) state.lostFromMs = null
      if (!signal.aborted) log.warn({ err: error }, 'dispatch failed; trying again')
    }
    await wait(pauseMs, undefined, { signal }).catch(() => undefined)
  }
  try {
    // Tasks that still grow are dispatched as they are, since the next dispatcher would find them
    // leased.
    if (state !== undefined) await enqueueTasks(pipeline.queue, state.growing)
    await leaveDuty(db, 'dispatch', holder)
  } catch (error) {
    log.warn({ err: error }, 'the next dispatcher takes over a little later')
  }
}

/**
 * One round: tasks first; then stages, which are few, if requested or if there was no task. Its
 * cost grows with the dispatched work, not with the work that runs or waits.
 */
export async function dispatchOnce(
  pipeline: Pick<Pipeline, 'db' | 'queue' | 'limits'>,
  stagesToo = true,
  state: DispatcherState = newDispatcherState(),
  onStarting?: () => void,
): Promise<keyof typeof PAUSES_MS> {
  const { db, queue, limits } = pipeline
  const work = stagesToo ? await openWork(db) : UNSEEN
  const { open, starting } = work
  state.quietMs = 0
  if (!open) return 'idle'
  if (starting) {
    await makeTasks(db)
    onStarting?.()
  }
  const found = await dispatchTasks(pipeline, state)
  if (found !== 'none' && !stagesToo) return REST_AFTER[found]
  await emptyOpenGroups(db)
  if (isDue(state, 'advance')) {
    state.advancedAfter = await advanceGroups(db, state.advancedAfter)
  }
  if (isDue(state, 'recall')) {
    const held = [...state.held.keys()]
    await recallUnclaimed(pipeline, held)
    await enqueueFree(queue, state, held)
  }
  if (isDue(state, 'close')) await closeFinishedBatches(db)
  await keepQueuedStages(pipeline)
  const stages = await leaseStages(db, limits.leaseMs, LONG_STAGES * state.batchWorkers)
  for (const [stage, leased] of Map.groupBy(stages, (each) => each.stage)) {
    await enqueue(
      queue,
      stage,
      leased.map((each) => stageJob(each)),
    )
  }
  if (found === 'none' && stages.length === 0) state.quietMs = work.quietMs
  return starting ? 'dispatched' : REST_AFTER[found]
}

/** Assumed by a round that does not look for open work. */
const UNSEEN: OpenWork = { open: true, starting: false, quietMs: 0 }

type Found = 'many' | 'few' | 'none'

const REST_AFTER = { many: 'dispatched', few: 'waiting', none: 'waiting' } as const

/** Leases tasks and enqueues them; returns whether the next round may soon find as many. */
async function dispatchTasks(
  { db, queue, limits }: Pick<Pipeline, 'db' | 'queue' | 'limits'>,
  state: DispatcherState,
): Promise<Found> {
  const { leaseMs } = limits
  const { holder, served } = state
  const nowMs = performance.now()
  if (isDue(state, 'capacity')) {
    state.capacity = await readCapacity(db, DEFAULT_CAPACITY)
    state.batchWorkers = await countBatchWorkers(db)
  }
  state.lostFromMs ??= nowMs + Math.min(RENEWAL_MS, leaseMs)
  const slots = ofEach(state.capacity, ({ slots: count }) => count)
  const reserve = ofEach(state.capacity, ({ reserve: count }) => count)
  const { growing } = state
  let lost: readonly LostTask[] = []
  const leased = await leaseTasks(db, {
    slots,
    reserve,
    leaseMs,
    growing,
    served,
    waitingFirst: Math.random() < 0.5,
    replan: isDue(state, 'plan'),
    keepLost: nowMs < state.lostFromMs,
    onLost: (tasks) => (lost = tasks),
    holder,
  })
  for (const { check, accountId } of leased.slice(growing.length)) served.set(check, accountId)
  state.growing = leased.filter(({ grows }) => grows)
  const tasks = leased.filter(({ grows }) => !grows)
  await enqueueFree(queue, state, tasks)
  await removeLostJobs(queue, lost)
  if (leased.length === 0) return 'none'
  // A round dispatches tasks of only a few groups, however many are due.
  if (leased.some(({ group }) => group !== null)) return 'many'
  const byCheck = Map.groupBy(tasks, ({ check }) => check)
  return [...byCheck].some(([check, { length }]) => length > slots[check] * MANY) ? 'many' : 'few'
}

/** Enqueues the tasks of which the queue holds no earlier job; the others are held back. */
async function enqueueFree(
  queue: QueueBackend,
  { held }: DispatcherState,
  tasks: readonly LeasedTask[],
): Promise<void> {
  const nowMs = performance.now()
  const free: LeasedTask[] = []
  for (const task of tasks) {
    const sinceMs = held.get(task) ?? nowMs
    if (nowMs - sinceMs < HELD_MS && (await isJobLeft(queue, task))) {
      held.set(task, sinceMs)
      continue
    }
    held.delete(task)
    free.push(task)
  }
  await enqueueTasks(queue, free)
}

async function enqueueTasks(queue: QueueBackend, tasks: readonly LeasedTask[]): Promise<void> {
  const queuedMs = queue.clock.nowMs()
  for (const [check, leased] of Map.groupBy(tasks, (task) => task.check)) {
    await enqueue(
      queue,
      bulkQueueOf(check),
      leased.map((task) => taskJob(task, queuedMs)),
    )
  }
}

function ofEach(
  capacity: Readonly<Record<Check, TaskCapacity>>,
  countOf: (of: TaskCapacity) => number,
): Readonly<Record<Check, number>> {
  const { email, phone, ip, domain } = capacity
  return { email: countOf(email), phone: countOf(phone), ip: countOf(ip), domain: countOf(domain) }
}
