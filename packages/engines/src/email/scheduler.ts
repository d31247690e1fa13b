import type { Limiter, Memory } from '@plumbline/contract/engine'
import { converse } from './dialogue.ts'
import type { DialogueTools, Told } from './dialogue.ts'
import type { Line, Reached } from './dial.ts'
import { unknownFinding } from './finding.ts'
import type { Verdict, WaitCause } from './finding.ts'
import { limitsOf } from './limits.ts'
import type { EmailLimits, GroupLimits } from './limits.ts'
import { createBreaker, createPace } from './pace.ts'
import type { Breaker, Pace } from './pace.ts'
import type { Provider } from './providers.ts'
import { createGroupQueue } from './queue.ts'
import type { Batch, GroupQueue, HostsRoute, Ticket } from './queue.ts'

/** What the scheduler works with. */
export interface SchedulerOptions {
  readonly limits: EmailLimits
  readonly limiter: Limiter
  readonly memory: Memory
  readonly tools: DialogueTools
  readonly reach: (
    route: HostsRoute,
    provider: string,
    source: string | undefined,
  ) => Promise<Reached>
  /** Told of each opening that reached a server or did not. */
  readonly reached: (ok: boolean) => void
  readonly now: () => number
  readonly warn: (error: unknown) => void
}

/** Where a ticket belongs. */
export interface Destination {
  readonly group: string
  readonly provider: Provider
  readonly route: HostsRoute
  /** Outgoing address; undefined for the system's choice. */
  readonly source: string | undefined
}

/** Gathers the tickets of all runs by group and asks them over few, well-used connections. */
export interface Scheduler extends AsyncDisposable {
  submit(ticket: Ticket, destination: Destination): void
  /** Groups that refuse us now. */
  broken(): readonly string[]
}

interface Group {
  readonly name: string
  readonly key: string
  readonly provider: Provider
  readonly source: string | undefined
  readonly limits: GroupLimits
  readonly queue: GroupQueue
  readonly pace: Pace
  readonly breaker: Breaker
  workers: number
  /** Those of them that have taken nothing yet. */
  starting: number
  /** Recipients in one transaction; falls where the server takes fewer. */
  perTransaction: number
  /** No room before this, by the limiter. */
  fullUntilMs: number
  wakeTimer: NodeJS.Timeout | null
  /** Ends the waiting of idle workers; false ends the worker too. */
  wakers: ((goesOn: boolean) => void)[]
}

/** How often waiting list tickets are looked through. */
const SWEEP_MS = 250

/** A place is held this long without a sign of life, and renewed at half of it. */
const LEASE_MS = 90_000

/** Sessions are ended after so many transactions, before servers do it. */
const TRANSACTIONS_MAX = 200

/** Longest wait that a list's subject is sent away for at once. */
const LATER_MAX_MS = 10 * 60_000

/** Makes a scheduler; nothing is opened before a ticket comes. */
export function createScheduler(options: SchedulerOptions): Scheduler {
  const { limits, limiter, tools, now } = options
  const groups = new Map<string, Group>()
  const hungry = new Set<Group>()
  const running = new Set<Promise<void>>()
  let openCount = 0
  let disposed = false
  let sweeper: NodeJS.Timeout | null = null

  const groupOf = (to: Destination): Group => {
    const key = `${to.group} ${to.source ?? ''}`
    let group = groups.get(key)
    if (group === undefined) {
      const own = limitsOf(limits, to.group, to.provider)
      group = {
        name: to.group,
        key,
        provider: to.provider,
        source: to.source,
        limits: own,
        queue: createGroupQueue(),
        pace: createPace(limits.startConnections, own.connections, now),
        breaker: createBreaker(`email:breaker:${key}`, options.memory, now, options.warn),
        workers: 0,
        starting: 0,
        perTransaction: own.recipientsPerTransaction,
        fullUntilMs: 0,
        wakeTimer: null,
        wakers: [],
      }
      groups.set(key, group)
    }
    return group
  }

  const pump = (group: Group): void => {
    if (disposed) return
    const woken = group.wakers.splice(0)
    for (const wake of woken) wake(true)
    const batches = Math.ceil(group.queue.size / group.perTransaction)
    // A list's tickets wait for a busy connection's next batch; a live one does not.
    const busy = group.queue.liveSize > 0 ? 0 : group.workers - woken.length - group.starting
    let wanted = batches - woken.length - group.starting - busy
    while (wanted-- > 0 && group.workers < group.pace.connections()) {
      if (openCount >= limits.sessions) {
        hungry.add(group)
        // An idle connection elsewhere makes room.
        for (const other of groups.values()) {
          const wake = other.wakers.shift()
          if (wake !== undefined) {
            wake(false)
            break
          }
        }
        return
      }
      group.workers++
      group.starting++
      openCount++
      const done = work(group)
        .catch(options.warn)
        .finally(() => {
          group.workers--
          openCount--
          running.delete(done)
          next(group)
        })
      running.add(done)
    }
  }

  const next = (group: Group): void => {
    if (group.queue.size > 0 && group.wakeTimer === null) pump(group)
    for (const other of hungry) {
      if (openCount >= limits.sessions) return
      hungry.delete(other)
      pump(other)
    }
    if (group.workers === 0 && group.queue.size === 0 && !group.breaker.onTrial) forget(group)
  }

  // What a group has learnt of pace is kept while it is busy; idle groups must not fill the memory.
  const forget = (group: Group): void => {
    if (group.breaker.openMs() === 0 && groups.size > IDLE_GROUPS_MAX) groups.delete(group.key)
  }

  const wakeIn = (group: Group, ms: number): void => {
    if (group.wakeTimer !== null || disposed) return
    group.wakeTimer = setTimeout(
      () => {
        group.wakeTimer = null
        pump(group)
      },
      Math.max(1, ms),
    )
  }

  /** Sends the waiting list tickets away; live ones stay and are tried again. */
  const sendAway = (
    group: Group,
    tickets: readonly Ticket[],
    cause: WaitCause,
    ms: number,
  ): void => {
    const eachMs = 1000 / group.limits.bucket.perSecond
    tickets.forEach((ticket, place) => {
      const afterMs = Math.max(1000, Math.min(LATER_MAX_MS, Math.round(ms + place * eachMs)))
      ticket.settle(waiting(cause, afterMs))
    })
  }

  const noRoom = (group: Group, ms: number): void => {
    group.fullUntilMs = now() + ms
    if (ms > limits.soonMs) {
      sendAway(group, group.queue.expire(Number.POSITIVE_INFINITY), 'room', ms)
    }
    if (group.queue.size > 0) wakeIn(group, ms)
  }

  const sweep = (): void => {
    let waits = false
    for (const group of groups.values()) {
      if (group.queue.bulkSize === 0) continue
      const old = group.queue.expire(now() - limits.soonMs)
      if (old.length > 0) sendAway(group, old, 'room', limits.soonMs)
      waits ||= group.queue.bulkSize > 0
    }
    if (!waits && sweeper !== null) {
      clearInterval(sweeper)
      sweeper = null
    }
  }

  /** One connection's life: a lease, then batch after batch until there is nothing more. */
  const work = async (group: Group): Promise<void> => {
    const hold: Hold = {
      line: null,
      transactions: 0,
      refusals: 0,
      renewedMs: now(),
      isStarting: true,
    }
    try {
      await workOn(group, hold)
    } finally {
      if (hold.isStarting) group.starting--
    }
  }

  const workOn = async (group: Group, hold: Hold): Promise<void> => {
    await group.breaker.refresh()
    const openMs = group.breaker.openMs()
    if (openMs > 0) return refuseAll(group, openMs)
    const restMs = group.pace.restUntilMs - now()
    if (restMs > 0) return noRoom(group, restMs)
    const lease = await limiter.lease(
      `email:connections:${group.key}`,
      group.limits.connections,
      LEASE_MS,
    )
    if (!lease.granted) {
      // The place may be given back long before its lease would end.
      if (group.workers <= 1) noRoom(group, Math.min(Math.max(lease.retryMs, 100), limits.soonMs))
      return
    }
    try {
      while (!disposed && (await step(group, hold))) {
        if (now() - hold.renewedMs > LEASE_MS / 2) {
          hold.renewedMs = now()
          if (!(await lease.renew())) break
        }
      }
    } finally {
      hold.line?.session.close()
      await lease.release()
    }
  }

  /** One transaction; false where the connection has nothing more to do. */
  const step = async (group: Group, hold: Hold): Promise<boolean> => {
    const { queue } = group
    if (group.workers > group.pace.connections() || group.breaker.openMs() > 0) return false
    const host = hold.line?.host
    const count = group.breaker.onTrial ? 1 : group.perTransaction
    if (hold.isStarting) {
      hold.isStarting = false
      group.starting--
    }
    const batch = queue.take(
      count,
      host === undefined ? undefined : (route) => route.hosts.includes(host),
    )
    if (batch === null) return hold.line?.session.usable === true && idle(group)
    const granted = await room(group, batch)
    if (granted === null) return false
    const line = await lineFor(group, hold, granted)
    if (line === null) return group.queue.size > 0
    const told = await converse(line, granted, group.provider, group.name, tools)
    hold.transactions++
    hold.refusals = told.accepted ? 0 : hold.refusals + told.refusals
    heed(group, told)
    if (told.again.length > 0) queue.putBack(told.again, granted.route)
    return !told.pressed && group.breaker.openMs() === 0
  }

  const heed = (group: Group, told: Told): void => {
    if (told.accepted) group.breaker.accepted()
    else if (told.refusedUs) group.breaker.refused()
    if (told.tooMany) group.perTransaction = Math.max(1, Math.floor(group.perTransaction / 2))
    if (told.pressed) {
      group.pace.pressed()
      noRoom(group, group.pace.restUntilMs - now())
    } else {
      group.pace.eased()
      if (group.queue.size > group.perTransaction) pump(group)
    }
    const openMs = group.breaker.openMs()
    if (openMs > 0) refuseAll(group, openMs)
  }

  const refuseAll = (group: Group, openMs: number): void => {
    for (const ticket of group.queue.clear()) {
      if (ticket.lane === 'bulk') ticket.settle(waiting('breaker', openMs))
      else
        ticket.settle({
          kind: 'finding',
          finding: unknownFinding('blocked', { provider: group.provider.id }),
        })
    }
  }

  /** Takes the tokens of a batch; fewer tickets where there are fewer tokens. Null where there is no room. */
  const room = async (group: Group, batch: Batch): Promise<Batch | null> => {
    const perHour = limits.recipientsPerDomainPerHour
    const domainBucket = { perSecond: perHour / 3600, burst: Math.max(1, Math.floor(perHour / 4)) }
    let tickets = batch.tickets
    for (;;) {
      // One more for an invented mailbox.
      const extra = tickets.some((ticket) => ticket.depth === 'extended') ? 1 : 0
      const count = Math.min(tickets.length + extra, group.limits.bucket.burst)
      const grant = await limiter.take(`email:recipients:${group.key}`, count, group.limits.bucket)
      if (grant.granted) break
      if (tickets.length === 1) {
        group.queue.putBack(tickets, batch.route)
        noRoom(group, Math.max(1, grant.retryMs))
        return null
      }
      const half = Math.ceil(tickets.length / 2)
      group.queue.putBack(tickets.slice(half), batch.route)
      tickets = tickets.slice(0, half)
    }
    const domain = await limiter.take(`email:domain:${batch.domain}`, tickets.length, domainBucket)
    if (domain.granted) return { ...batch, tickets }
    const held = [...tickets, ...group.queue.drain(batch.domain)]
    for (const ticket of held) ticket.settle(waiting('guard', Math.max(1000, domain.retryMs)))
    return null
  }

  const lineFor = async (group: Group, hold: Hold, batch: Batch): Promise<Line | null> => {
    const { line } = hold
    const isGood =
      line !== null &&
      line.session.usable &&
      batch.route.hosts.includes(line.host) &&
      hold.transactions < TRANSACTIONS_MAX &&
      hold.refusals < limits.refusalsPerSession
    if (isGood) return line
    line?.session.close()
    hold.line = null
    hold.transactions = 0
    hold.refusals = 0
    const reached = await options.reach(batch.route, group.provider.id, group.source)
    if (reached.kind === 'line') {
      options.reached(true)
      hold.line = reached.line
      return reached.line
    }
    if (reached.unreachable) options.reached(false)
    const verdict: Verdict = { kind: 'finding', finding: reached.finding }
    for (const ticket of batch.tickets) ticket.settle(verdict)
    // Nobody else of the domain would get further just now.
    for (const ticket of group.queue.drain(batch.domain)) ticket.settle(verdict)
    if (reached.refusedUs) {
      group.breaker.refused()
      const openMs = group.breaker.openMs()
      if (openMs > 0) refuseAll(group, openMs)
    }
    return null
  }

  const idle = (group: Group): Promise<boolean> =>
    new Promise((resolve) => {
      if (hungry.size > 0) {
        resolve(false)
        return
      }
      const timer = setTimeout(() => {
        group.wakers = group.wakers.filter((each) => each !== wake)
        resolve(false)
      }, limits.idleMs)
      const wake = (goesOn: boolean): void => {
        clearTimeout(timer)
        resolve(goesOn && !disposed)
      }
      group.wakers.push(wake)
    })

  return {
    submit(ticket, to) {
      const group = groupOf(to)
      const fullMs = group.fullUntilMs - now()
      if (ticket.lane === 'bulk' && fullMs > limits.soonMs) {
        sendAway(group, [ticket], 'room', fullMs)
        return
      }
      group.queue.push(ticket, to.route)
      if (ticket.lane === 'bulk') sweeper ??= setInterval(sweep, SWEEP_MS)
      if (group.wakeTimer === null) pump(group)
    },
    broken() {
      return [...groups.values()]
        .filter((group) => group.breaker.openMs() > 0)
        .map((group) => group.name)
    },
    async [Symbol.asyncDispose]() {
      disposed = true
      if (sweeper !== null) clearInterval(sweeper)
      for (const group of groups.values()) {
        if (group.wakeTimer !== null) clearTimeout(group.wakeTimer)
        for (const wake of group.wakers.splice(0)) wake(false)
        const verdict: Verdict = { kind: 'finding', finding: unknownFinding('timeout') }
        for (const ticket of group.queue.clear()) ticket.settle(verdict)
      }
      await Promise.all(running)
    },
  }
}

interface Hold {
  line: Line | null
  transactions: number
  /** Refused recipients since the last accepted one. */
  refusals: number
  renewedMs: number
  /** Nothing was taken yet. */
  isStarting: boolean
}

/** Groups without work that are remembered. */
const IDLE_GROUPS_MAX = 2_000

function waiting(cause: WaitCause, afterMs: number): Verdict {
  const reason =
    cause === 'guard' ? 'probe_limit' : cause === 'breaker' ? 'blocked' : 'rate_limited'
  return { kind: 'wait', cause, afterMs, finding: unknownFinding(reason) }
}
