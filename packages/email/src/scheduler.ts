import type { Memory } from '@plumbline/ports/engine'
import { work } from './connection.ts'
import type { ConnectionTools } from './connection.ts'
import { unknownFinding } from './finding.ts'
import { createGroup, sendAway } from './group.ts'
import type { Destination, Group } from './group.ts'
import { createKeeper } from './lease-renewer.ts'
import type { EmailLimits } from './limits.ts'
import type { Ticket } from './queue.ts'

/** What the scheduler works with. */
export interface SchedulerOptions extends Pick<
  ConnectionTools,
  'limits' | 'limiter' | 'dialogue' | 'reach' | 'reached' | 'now'
> {
  readonly memory: Memory
  readonly warn: (error: unknown) => void
}

/** Gathers the tickets of all runs by group and asks them over few, well-used connections. */
export interface Scheduler extends AsyncDisposable {
  submit(ticket: Ticket, destination: Destination): void
  /** Provider ids of the groups that refuse us now. */
  broken(): readonly string[]
}

interface Floor {
  readonly limits: EmailLimits
  readonly options: SchedulerOptions
  readonly connection: ConnectionTools
  readonly groups: Map<string, Group>
  /** Groups with tickets that found all connections of the process in use. */
  readonly hungry: Set<Group>
  readonly running: Set<Promise<void>>
  sweeper: NodeJS.Timeout | null
  openCount: number
  isOver: boolean
}

/** How often waiting list tickets are looked through. */
const SWEEP_MS = 250

/** Connections to a group that are few: each of them is a large part of what all workers share. */
const SCARCE_CONNECTIONS = 2

/** Groups without work that are remembered. */
const IDLE_GROUPS_MAX = 1_000

/** Makes a scheduler; nothing is opened before a ticket comes. */
export function createScheduler(options: SchedulerOptions): Scheduler {
  const floor: Floor = {
    limits: options.limits,
    options,
    connection: {
      ...options,
      keeper: createKeeper(options.now, options.warn),
      noRoom: (group, ms) => noRoom(floor, group, ms),
      pump: (group) => pump(floor, group),
      idle: (group) => idle(floor, group),
      isOver: () => floor.isOver,
    },
    groups: new Map(),
    hungry: new Set(),
    running: new Set(),
    sweeper: null,
    openCount: 0,
    isOver: false,
  }
  return {
    submit: (ticket, to) => submit(floor, ticket, to),
    broken: () =>
      [...floor.groups.values()]
        .filter((group) => group.breaker.openMs() > 0)
        .map((group) => group.provider.id),
    [Symbol.asyncDispose]: () => close(floor),
  }
}

function submit(floor: Floor, ticket: Ticket, to: Destination): void {
  const group = groupOf(floor, to)
  const fullMs = group.fullUntilMs - floor.options.now()
  if (ticket.lane === 'bulk' && fullMs > floor.limits.soonMs) {
    sendAway(group, [ticket], fullMs)
    return
  }
  group.queue.push(ticket, to.route)
  if (ticket.lane === 'bulk') floor.sweeper ??= setInterval(() => sweep(floor), SWEEP_MS)
  pump(floor, group)
}

function groupOf(floor: Floor, to: Destination): Group {
  const key = `${to.group} ${to.source ?? ''}`
  let group = floor.groups.get(key)
  if (group === undefined) {
    const { memory, now, warn } = floor.options
    group = createGroup(to, key, floor.limits, memory, now, warn)
    floor.groups.set(key, group)
  }
  return group
}

/** Starts as many connections as the waiting tickets are worth and the limits allow. */
function pump(floor: Floor, group: Group): void {
  if (floor.isOver) return
  const woken = group.wakers.splice(0)
  for (const wake of woken) wake(true)
  if (group.wakeTimer !== null) return
  const batches = Math.ceil(group.queue.size / group.perTransaction)
  // A list's tickets wait for a busy connection's next batch; a live one does not.
  const busy = group.queue.liveSize > 0 ? 0 : group.workers - woken.length - group.starting
  let wanted = batches - woken.length - group.starting - busy
  while (wanted-- > 0 && group.workers < group.pace.connections()) {
    if (floor.openCount >= floor.limits.sessions) {
      floor.hungry.add(group)
      endOneIdle(floor)
      return
    }
    start(floor, group)
  }
}

function start(floor: Floor, group: Group): void {
  group.workers++
  group.starting++
  floor.openCount++
  const done = work(group, floor.connection)
    .catch((error: unknown) => {
      floor.options.warn(error)
      // A shared store that fails is not asked again at once.
      noRoom(floor, group, floor.limits.soonMs)
    })
    .finally(() => {
      group.workers--
      floor.openCount--
      floor.running.delete(done)
      goOn(floor, group)
    })
  floor.running.add(done)
}

/** After a connection has ended: its group may need another, and so may a group that had to wait. */
function goOn(floor: Floor, group: Group): void {
  if (group.queue.size > 0) pump(floor, group)
  for (const other of floor.hungry) {
    if (floor.openCount >= floor.limits.sessions) break
    floor.hungry.delete(other)
    pump(floor, other)
  }
  const isQuiet = group.workers === 0 && group.queue.size === 0 && group.breaker.openMs() === 0
  // What was learnt of a group's pace is kept while there is room for it.
  if (isQuiet && !group.breaker.onTrial && floor.groups.size > IDLE_GROUPS_MAX) {
    floor.groups.delete(group.key)
  }
}

function endOneIdle(floor: Floor): void {
  for (const group of floor.groups.values()) {
    const wake = group.wakers.shift()
    if (wake === undefined) continue
    wake(false)
    return
  }
}

function noRoom(floor: Floor, group: Group, ms: number): void {
  const { limits, options } = floor
  group.fullUntilMs = options.now() + ms
  if (ms > limits.soonMs) sendAway(group, group.queue.expire(Number.POSITIVE_INFINITY), ms)
  if (group.queue.size === 0 || group.wakeTimer !== null || floor.isOver) return
  group.wakeTimer = setTimeout(
    () => {
      group.wakeTimer = null
      pump(floor, group)
    },
    Math.max(1, ms),
  )
}

/** List tickets that have waited long enough come back later, so that their list goes on. */
function sweep(floor: Floor): void {
  const { limits, options } = floor
  let waits = false
  for (const group of floor.groups.values()) {
    if (group.queue.bulkSize === 0) continue
    const old = group.queue.expire(options.now() - limits.queueMs)
    if (old.length > 0) sendAway(group, old, limits.queueMs)
    waits ||= group.queue.bulkSize > 0
  }
  if (waits || floor.sweeper === null) return
  clearInterval(floor.sweeper)
  floor.sweeper = null
}

function idle(floor: Floor, group: Group): Promise<boolean> {
  if (floor.hungry.size > 0) return Promise.resolve(false)
  return new Promise((resolve) => {
    const timer = setTimeout(
      () => {
        group.wakers = group.wakers.filter((each) => each !== wake)
        resolve(false)
      },
      idleMs(floor, group),
    )
    const wake = (goesOn: boolean): void => {
      clearTimeout(timer)
      resolve(goesOn && !floor.isOver)
    }
    group.wakers.push(wake)
  })
}

/** Where few connections are allowed, an idle one keeps another worker's subjects waiting. */
function idleMs({ limits }: Floor, group: Group): number {
  return group.limits.connections <= SCARCE_CONNECTIONS ? limits.idleScarceMs : limits.idleMs
}

async function close(floor: Floor): Promise<void> {
  floor.isOver = true
  if (floor.sweeper !== null) clearInterval(floor.sweeper)
  for (const group of floor.groups.values()) {
    if (group.wakeTimer !== null) clearTimeout(group.wakeTimer)
    for (const wake of group.wakers.splice(0)) wake(false)
  }
  endWaiting(floor)
  await Promise.all(floor.running)
  // Connections that were cut gave their tickets back.
  endWaiting(floor)
}

function endWaiting(floor: Floor): void {
  const finding = unknownFinding('timeout')
  for (const { queue } of floor.groups.values()) {
    for (const ticket of queue.clear()) ticket.settle({ kind: 'finding', finding })
  }
}
