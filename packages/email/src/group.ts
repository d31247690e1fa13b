import type { Memory } from '@plumbline/ports/engine'
import { unknownFinding } from './finding.ts'
import type { Verdict } from './finding.ts'
import { limitsOf } from './limits.ts'
import type { EmailLimits, GroupLimits } from './limits.ts'
import { createBreaker, createPace } from './pace.ts'
import type { Breaker, Pace } from './pace.ts'
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
