import type { CircuitBreaker } from './circuit-breaker.ts'
import type { SmtpConnection } from './connect.ts'
import { limitsOf } from './limits.ts'
import type { EmailLimits, GroupLimits } from './limits.ts'
import { createPace, type Pace } from './pace.ts'
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
