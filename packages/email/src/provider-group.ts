import { pauseLeftMs } from '@plumbline/concurrency/pause'
import type { Memory } from '@plumbline/ports/memory'
import type { SmtpConnection } from './connect.ts'
import { limitsOf } from './limits.ts'
import type { EmailLimits, GroupLimits } from './limits.ts'
import { transition } from './pool-state.ts'
import type { PoolState } from './pool-state.ts'
import { createProbeQueue } from './probe-queue.ts'
import type { HostsRoute, Probe, ProbeQueue } from './probe-queue.ts'
import { unknownResult } from './probe-result.ts'
import type { ProbeResult } from './probe-result.ts'
import type { Provider } from './providers.ts'
import { createRefusingDomains, type RefusingDomains } from './refusing-domains.ts'

/** Where a probe is sent to. */
export interface Destination {
  /** Provider id, or registrable domain of the mail host. */
  readonly group: string
  readonly provider: Provider
  readonly route: HostsRoute
  /** Outgoing address; undefined lets the system choose. */
  readonly source: string | undefined
}

/** Mail hosts under one administration, probed from one outgoing address. */
export interface ProviderGroup {
  readonly name: string
  /** Name and outgoing address: its key in the shared limits. */
  readonly key: string
  readonly provider: Provider
  readonly source: string | undefined
  readonly limits: GroupLimits
  readonly queue: ProbeQueue
  readonly pace: Pace
  readonly breaker: CircuitBreaker
  readonly refusing: RefusingDomains
  /** Connections by state, without closed ones. */
  readonly counts: Record<Exclude<PoolState<'connection'>, 'closed'>, number>
  /** Connections that wait for probes, the longest idle first. */
  readonly idle: Set<PooledConnection>
  /** Recipients in one transaction; lowered if the server takes fewer. */
  perTransaction: number
  /** `held`: no probe is sent before `holdTimer` fires. */
  rate: PoolState<'rate'>
  holdTimer: NodeJS.Timeout | null
  /** End of the last shortage of tokens or leases; bulk probes are postponed until then. */
  fullUntilMs: number
  /**
   * Since when connections are attempted without a reply of any host, by the pool's clock; null if
   * one has replied.
   */
  silentSinceMs: number | null
  /** The last shortage of places at addresses of its hosts; null if there was none. */
  fullAt: FullAddresses | null
}

/** Addresses at which no place was free, for which is asked before the tokens of a transaction. */
export interface FullAddresses {
  /** The domain whose host has them. */
  readonly domain: string
  readonly addresses: readonly string[]
  /** When it is forgotten, by the pool's clock: the host may have other addresses then. */
  readonly untilMs: number
}

/** One connection of the pool, from before its lease until it is closed. */
export interface PooledConnection {
  readonly group: ProviderGroup
  state: PoolState<'connection'>
  /** The open SMTP session; null if there is none, or it is broken. */
  smtp: SmtpConnection | null
  /** Transactions in this session. */
  transactions: number
  /** Consecutive refused recipients. */
  refusals: number
  /** Whether the lease was lost: nothing more may be sent. */
  isLost: boolean
  /** Ends the idle state: with true the connection takes probes again, with false it closes. */
  wake: ((goesOn: boolean) => void) | null
}

/** Adds a connection to the group, in state `starting`. */
export function addConnection(group: ProviderGroup): PooledConnection {
  group.counts.starting++
  return {
    group,
    state: 'starting',
    smtp: null,
    transactions: 0,
    refusals: 0,
    isLost: false,
    wake: null,
  }
}

/** Sets the state of a connection. Throws on a transition that `POOL_TRANSITIONS` does not have. */
export function setConnectionState(
  connection: PooledConnection,
  to: Exclude<PoolState<'connection'>, 'starting'>,
): void {
  const { group, state } = connection
  connection.state = transition('connection', state, to)
  if (state !== 'closed') group.counts[state]--
  if (to !== 'closed') group.counts[to]++
  if (to === 'idle') group.idle.add(connection)
  else group.idle.delete(connection)
}

/** Connections of the group that are not closed. */
export function connectionCount({ counts }: ProviderGroup): number {
  return counts.starting + counts.busy + counts.idle + counts.closing
}

/** Sends no probe for this time, and then calls `onReady`; the group must be ready. */
export function holdRate(group: ProviderGroup, ms: number, onReady: () => void): void {
  group.rate = transition('rate', group.rate, 'held')
  group.holdTimer = setTimeout(() => {
    group.rate = transition('rate', group.rate, 'ready')
    group.holdTimer = null
    onReady()
  }, ms)
}

/** Longest delay of a probe because of the group's limits. */
const POSTPONE_MAX_MS = 10 * 60_000

/** A group without probes or connections. */
export function createProviderGroup(
  to: Destination,
  key: string,
  limits: EmailLimits,
  breaker: CircuitBreaker,
  now: () => number,
): ProviderGroup {
  const own = limitsOf(limits, to.group, to.provider)
  return {
    name: to.group,
    key,
    provider: to.provider,
    source: to.source,
    limits: own,
    queue: createProbeQueue(),
    pace: createPace(limits.startConnections, own.connections, now),
    breaker,
    refusing: createRefusingDomains(now),
    counts: { starting: 0, busy: 0, idle: 0, closing: 0 },
    idle: new Set(),
    perTransaction: own.recipientsPerTransaction,
    rate: 'ready',
    holdTimer: null,
    fullUntilMs: 0,
    silentSinceMs: null,
    fullAt: null,
  }
}

/**
 * Ends bulk probes as `later`, until the group has capacity for half a transaction. All get the
 * same delay: the batch stores its waiting subjects by group and dispatches one task at a time.
 */
export function postpone(group: ProviderGroup, probes: readonly Probe[], ms: number): void {
  const count = Math.min(probes.length, Math.ceil(group.perTransaction / 2))
  const roomMs = Math.min(POSTPONE_MAX_MS, (count * 1000) / group.limits.bucket.perSecond)
  const result = waitingResult('rate_limit', Math.round(Math.max(1000, ms, roomMs)))
  for (const probe of probes) probe.settle(result)
}

/** Ends every waiting probe of a group that refuses us. */
export function refuseWaiting(group: ProviderGroup, openMs: number): void {
  for (const probe of group.queue.clear()) {
    if (probe.lane === 'bulk') probe.settle(waitingResult('blocked', openMs))
    else probe.settle(unknownResult('blocked', { provider: group.provider.id }))
  }
}

/** The result of a probe that was not sent: why, and the milliseconds until it may be. */
export function waitingResult(
  cause: 'guard' | 'blocked' | 'rate_limit' | 'slow_share',
  afterMs: number,
): ProbeResult {
  const reason = {
    guard: 'probe_limit',
    blocked: 'blocked',
    rate_limit: 'rate_limited',
    slow_share: 'rate_limited',
  } as const
  return { ...unknownResult(reason[cause]), wait: { cause, afterMs } }
}

/** How many connections a group may have now, and when it may be probed again. */
export interface Pace {
  /** Connections allowed at this moment. */
  connections(): number
  /** Records a transaction that was not throttled. */
  succeeded(): void
  /** Records that we were throttled. */
  throttled(): void
  /** End of the pause after throttling, by the group's clock; 0 if there was none. */
  readonly pausedUntilMs: number
}

/**
 * The pause after the first throttled transaction; doubled with each further one, up to the
 * longest.
 */
const PAUSE_FIRST_MS = 2_000
const PAUSE_LONGEST_MS = 5 * 60_000

/** Successful transactions on each connection before another one is added. */
const GROW_TRANSACTIONS = 4

/**
 * Begins with `start` connections; adds one while transactions succeed, halves them when throttled,
 * up to `cap`.
 */
export function createPace(start: number, cap: number, now: () => number): Pace {
  let allowed = Math.max(1, Math.min(start, cap))
  let goodCount = 0
  let pauseMs = 0
  let pausedUntilMs = 0
  return {
    connections: () => Math.floor(allowed),
    succeeded() {
      pauseMs = 0
      if (++goodCount < GROW_TRANSACTIONS * allowed || allowed >= cap) return
      goodCount = 0
      allowed = Math.min(cap, allowed + 1)
    },
    throttled() {
      goodCount = 0
      allowed = Math.max(1, Math.floor(allowed / 2))
      pauseMs = Math.min(PAUSE_LONGEST_MS, pauseMs === 0 ? PAUSE_FIRST_MS : pauseMs * 2)
      pausedUntilMs = now() + pauseMs
    },
    get pausedUntilMs() {
      return pausedUntilMs
    },
  }
}

/** Stops probing a group that refuses us, in all workers. */
export interface CircuitBreaker {
  state(): PoolState<'circuit'>
  /** Milliseconds until the group may be probed again; 0 if it may. */
  openMs(): number
  /**
   * Records a transaction in which we were refused and no recipient was accepted.
   *
   * @param customer the customer of the group whose settings may be the reason; null if the group
   * itself has refused us
   */
  refused(customer: string | null): void
  accepted(): void
  /** Reads whether another worker has opened the breaker; at most every 30 s. */
  refresh(): Promise<void>
}

/**
 * Consecutive refusals that open the breaker, and for how long: doubled each time, up to the
 * longest.
 */
const REFUSALS_TO_OPEN = 3
/**
 * Customers of one provider that refuse us, without one that accepts, until the provider counts as
 * refusing us: anybody can have a few domains there whose settings refuse us, and must not close it
 * for all.
 */
const CUSTOMERS_TO_OPEN = 20
const OPEN_FIRST_MS = 15 * 60_000
const OPEN_LONGEST_MS = 6 * 3_600_000
const REFRESH_MS = 30_000

/** A circuit breaker stored under one key of the shared memory. */
export function createCircuitBreaker(
  key: string,
  memory: Memory,
  now: () => number,
  warn: (error: unknown) => void,
): CircuitBreaker {
  let current: PoolState<'circuit'> = 'closed'
  let refusals = 0
  const customers = new Set<string>()
  /** How often the breaker was opened since it was last closed. */
  let times = 0
  let untilMs = 0
  let readMs = Number.NEGATIVE_INFINITY
  const enter = (to: PoolState<'circuit'>): void => {
    current = transition('circuit', current, to)
  }
  const isPause = (endMs: number): boolean => pauseLeftMs(endMs, now(), OPEN_LONGEST_MS) > 0
  const state = (): PoolState<'circuit'> => {
    if (current === 'open' && !isPause(untilMs)) enter('half_open')
    return current
  }
  const open = (): void => {
    const lastMs = Math.min(OPEN_LONGEST_MS, OPEN_FIRST_MS * 2 ** times)
    enter('open')
    times++
    refusals = 0
    customers.clear()
    untilMs = now() + lastMs
    // Stored beyond its end, so that the next pause is longer.
    memory.set([{ key, value: { untilMs, times }, ttlMs: lastMs * 3 }]).catch(warn)
  }
  return {
    state,
    openMs: () => (state() === 'open' ? untilMs - now() : 0),
    refused(customer) {
      if (customer === null) refusals++
      else customers.add(customer)
      const isTrial = customer === null && state() === 'half_open'
      if (refusals >= REFUSALS_TO_OPEN || customers.size >= CUSTOMERS_TO_OPEN || isTrial) open()
    },
    accepted() {
      refusals = 0
      customers.clear()
      if (state() === 'closed') return
      enter('closed')
      times = 0
      untilMs = 0
      memory.delete([key]).catch(warn)
    },
    async refresh() {
      if (Math.abs(now() - readMs) < REFRESH_MS) return
      readMs = now()
      try {
        const [value] = await memory.get([key])
        if (typeof value !== 'object' || value === null || !('untilMs' in value)) return
        const stored = { untilMs: value['untilMs'], times: value['times'] }
        const { untilMs: endMs } = stored
        if (typeof endMs === 'number' && isPause(endMs) && !(isPause(untilMs) && endMs < untilMs))
          untilMs = endMs
        if (typeof stored.times === 'number') times = Math.max(times, stored.times)
        if (isPause(untilMs)) enter('open')
        else if (times > 0 && state() === 'closed') enter('half_open')
      } catch (error) {
        warn(error)
      }
    },
  }
}
