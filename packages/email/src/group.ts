import type { Memory } from '@plumbline/ports/engine'
import { unknownFinding } from './finding.ts'
import type { Verdict } from './finding.ts'
import { limitsOf } from './limits.ts'
import type { EmailLimits, GroupLimits } from './limits.ts'
import type { Provider } from './providers.ts'
import { createGroupQueue } from './queue.ts'
import type { GroupQueue, HostsRoute, Ticket } from './queue.ts'

/** Where a ticket belongs. */
export interface Destination {
  /** Provider id, or registrable domain of the mail host. */
  readonly group: string
  readonly provider: Provider
  readonly route: HostsRoute
  /** Outgoing address; undefined for the system's choice. */
  readonly source: string | undefined
}

/** Mail hosts under one administration, asked from one outgoing address. */
export interface Group {
  readonly name: string
  /** Name and outgoing address, as shared limits know it. */
  readonly key: string
  readonly provider: Provider
  readonly source: string | undefined
  readonly limits: GroupLimits
  readonly queue: GroupQueue
  readonly pace: Pace
  readonly breaker: Breaker
  /** Connections in work, those being opened included. */
  workers: number
  /** Those of them that have taken nothing yet. */
  starting: number
  /** Recipients in one transaction; falls where the server takes fewer. */
  perTransaction: number
  /** No room before this, by the limiter. */
  fullUntilMs: number
  /** Runs until waiting tickets are tried again; null where nothing holds them. */
  wakeTimer: NodeJS.Timeout | null
  /** End the waiting of idle connections; false ends the connection too. */
  wakers: ((goesOn: boolean) => void)[]
}

/** Longest wait for room, whatever is waited for. */
const LATER_MAX_MS = 10 * 60_000

/** A group without tickets. */
export function createGroup(
  to: Destination,
  key: string,
  limits: EmailLimits,
  memory: Memory,
  now: () => number,
  warn: (error: unknown) => void,
): Group {
  const own = limitsOf(limits, to.group, to.provider)
  return {
    name: to.group,
    key,
    provider: to.provider,
    source: to.source,
    limits: own,
    queue: createGroupQueue(),
    pace: createPace(limits.startConnections, own.connections, now),
    breaker: createBreaker(`email:breaker:${key}`, memory, now, warn),
    workers: 0,
    starting: 0,
    perTransaction: own.recipientsPerTransaction,
    fullUntilMs: 0,
    wakeTimer: null,
    wakers: [],
  }
}

/**
 * Sends list tickets away, to come back when the group has room for half a transaction. All are given
 * the same wait: a list holds them by group and lets them out again one task at a time.
 */
export function sendAway(group: Group, tickets: readonly Ticket[], ms: number): void {
  const count = Math.min(tickets.length, Math.ceil(group.perTransaction / 2))
  const roomMs = Math.min(LATER_MAX_MS, (count * 1000) / group.limits.bucket.perSecond)
  const verdict = waiting('room', Math.round(Math.max(1000, ms, roomMs)))
  for (const ticket of tickets) ticket.settle(verdict)
}

/** Answers everything that waits for a group that refuses us. */
export function refuseAll(group: Group, openMs: number): void {
  for (const ticket of group.queue.clear()) {
    if (ticket.lane === 'bulk') ticket.settle(waiting('breaker', openMs))
    else {
      const finding = unknownFinding('blocked', { provider: group.provider.id })
      ticket.settle({ kind: 'finding', finding })
    }
  }
}

/** The verdict of a subject that is kept back. */
export function waiting(cause: 'guard' | 'breaker' | 'room', afterMs: number): Verdict {
  const reason = {
    guard: 'probe_limit',
    breaker: 'blocked',
    room: 'rate_limited',
  } as const
  return { kind: 'wait', cause, afterMs, finding: unknownFinding(reason[cause]) }
}

/** How many connections a group is given now, and whether it may be asked at all. */
export interface Pace {
  /** Connections allowed at this moment. */
  connections(): number
  /** A transaction that the server took well. */
  eased(): void
  /** A refusal for going too fast, or a session cut off. */
  pressed(): void
  /** Until when to hold still after being pressed; 0 where there is no need. */
  readonly restUntilMs: number
}

/** A pause after the first refusal for speed, doubled up to the longest. */
const REST_FIRST_MS = 2_000
const REST_LONGEST_MS = 5 * 60_000

/** Transactions a connection must see go well before another is added. */
const EASE_TRANSACTIONS = 4

/** Begins low; one connection more while all goes well, half of them when pressed. */
export function createPace(start: number, cap: number, now: () => number): Pace {
  let allowed = Math.max(1, Math.min(start, cap))
  let well = 0
  let restMs = 0
  let restUntilMs = 0
  return {
    connections: () => Math.floor(allowed),
    eased() {
      restMs = 0
      if (++well < EASE_TRANSACTIONS * allowed || allowed >= cap) return
      well = 0
      allowed = Math.min(cap, allowed + 1)
    },
    pressed() {
      well = 0
      allowed = Math.max(1, Math.floor(allowed / 2))
      restMs = Math.min(REST_LONGEST_MS, restMs === 0 ? REST_FIRST_MS : restMs * 2)
      restUntilMs = now() + restMs
    },
    get restUntilMs() {
      return restUntilMs
    },
  }
}

/** Stops asking a group that refuses us, over all workers. */
export interface Breaker {
  /** Milliseconds until the group may be asked again; 0 while it may. */
  openMs(): number
  /** Whether the next transaction is a trial after a pause. */
  readonly onTrial: boolean
  /** A transaction in which we were refused and nobody was accepted. */
  refused(): void
  accepted(): void
  /** Looks whether another worker has opened it; at most now and then. */
  refresh(): Promise<void>
}

/** Refusals in a row that open it, and for how long: doubled each time, up to the longest. */
const REFUSALS_TO_OPEN = 3
const OPEN_FIRST_MS = 15 * 60_000
const OPEN_LONGEST_MS = 6 * 3_600_000
const REFRESH_MS = 30_000

/** A breaker kept under one key of the shared memory. */
export function createBreaker(
  key: string,
  memory: Memory,
  now: () => number,
  warn: (error: unknown) => void,
): Breaker {
  let refusals = 0
  let times = 0
  let untilMs = 0
  let lookedMs = Number.NEGATIVE_INFINITY
  const open = (): void => {
    const lastMs = Math.min(OPEN_LONGEST_MS, OPEN_FIRST_MS * 2 ** times)
    times++
    refusals = 0
    untilMs = now() + lastMs
    // Remembered beyond its end, so that the next pause is longer.
    memory.set([{ key, value: { untilMs, times }, ttlMs: lastMs * 3 }]).catch(warn)
  }
  return {
    openMs: () => Math.max(0, untilMs - now()),
    get onTrial() {
      return times > 0 && untilMs <= now()
    },
    refused() {
      refusals++
      if (refusals >= REFUSALS_TO_OPEN || (times > 0 && untilMs <= now())) open()
    },
    accepted() {
      refusals = 0
      if (times === 0) return
      times = 0
      untilMs = 0
      memory.delete([key]).catch(warn)
    },
    async refresh() {
      if (now() - lookedMs < REFRESH_MS) return
      lookedMs = now()
      try {
        const [value] = await memory.get([key])
        if (typeof value !== 'object' || value === null || !('untilMs' in value)) return
        const met = { untilMs: value['untilMs'], times: value['times'] }
        if (typeof met.untilMs === 'number' && met.untilMs > untilMs) untilMs = met.untilMs
        if (typeof met.times === 'number') times = Math.max(times, met.times)
      } catch (error) {
        warn(error)
      }
    },
  }
}
