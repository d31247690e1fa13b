import { createLeaseRenewal } from '@plumbline/concurrency/lease-renewal'
import type { Memory } from '@plumbline/ports/memory'
import { createAddressPlaces } from './address-places.ts'
import { createAccountTurns } from './account-turns.ts'
import type { AccountTurns } from './account-turns.ts'
import { LEASE_MS, runConnection } from './pooled-connection.ts'
import type { ConnectionTools } from './pooled-connection.ts'
import { unknownResult } from './probe-result.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'
import { addConnection, connectionCount, createProviderGroup } from './provider-group.ts'
import { holdRate, setConnectionState, postpone, waitingResult } from './provider-group.ts'
import type { Destination, PooledConnection, ProviderGroup } from './provider-group.ts'
import type { EmailLimits } from './limits.ts'
import type { HostsRoute, Probe } from './probe-queue.ts'
import { restingResult } from './refusing-domains.ts'
import { createSlowOpenings } from './slow-openings.ts'
import type { SlowOpeningLimits } from './slow-openings.ts'

/** Settings and dependencies of the pool. */
export interface PoolOptions extends Pick<
  ConnectionTools,
  'limits' | 'limiter' | 'verify' | 'connect' | 'reached' | 'customerOf' | 'now'
> {
  readonly destination: (domain: string, route: HostsRoute) => Destination
  /** Whether the hosts of a destination are never probed. */
  readonly isOff: (to: Destination) => boolean
  readonly memory: Memory
  /** Milliseconds since the Unix epoch, for what other workers read. */
  readonly clock: () => number
  readonly warn: (error: unknown) => void
}

/** Collects the probes of all runs by provider group and sends them over few connections. */
export interface ConnectionPool extends AsyncDisposable {
  submit(probe: Probe, destination: Destination): void
  /** Tells that another account waits for a submitted probe too. */
  joined(probe: Probe, destination: Destination, account: string): void
  /** Provider ids of the groups whose circuit breakers are open. */
  broken(): readonly string[]
}

/** State of the pool; the states of its groups and connections are drawn at `POOL_TRANSITIONS`. */
interface Pool {
  readonly limits: EmailLimits
  readonly options: PoolOptions
  readonly connection: ConnectionTools
  readonly groups: Map<string, ProviderGroup>
  /**
   * Groups whose probes wait because all connections of the process are in use: with live probes,
   * and with bulk probes only.
   */
  readonly starved: Readonly<Record<Probe['lane'], AccountTurns<ProviderGroup>>>
  /** Connections by the account for whose probes they were started. */
  readonly held: Map<string, number>
  /** Groups without probes and connections, the longest quiet first. */
  readonly quiet: Set<ProviderGroup>
  readonly running: Set<Promise<void>>
  /** End of the longest pause of the refusing groups that were forgotten, by provider id. */
  readonly refusing: Map<string, number>
  expiryTimer: NodeJS.Timeout | null
  openCount: number
  isOver: boolean
}

/** Milliseconds between two checks for bulk probes that have waited too long. */
const EXPIRY_MS = 250

/**
 * Limit of connections up to which they are scarce in a group: each is a large part of those that
 * all workers share.
 */
const SCARCE_CONNECTIONS = 2

/** Makes a pool; no connection is opened before the first probe. */
export function createConnectionPool(options: PoolOptions): ConnectionPool {
  const { limiter, now, warn } = options
  const leases = createLeaseRenewal({ leaseMs: LEASE_MS, now, warn })
  const pool: Pool = {
    limits: options.limits,
    options,
    connection: {
      ...options,
      leases,
      addresses: createAddressPlaces({ limiter, leases, leaseMs: LEASE_MS, now, warn }),
      openings: createSlowOpenings(slowLimits(options.limits), now),
      holdBack: (group, ms) => holdBack(pool, group, ms),
      grow: (group) => grow(pool, group),
      idle: (connection) => idle(pool, connection),
      moveOn: (probes, domain, route) => moveOn(pool, probes, domain, route),
      isScarce: () => pool.openCount > pool.limits.sessions / 2,
      isOver: () => pool.isOver,
    },
    groups: new Map(),
    starved: { live: createAccountTurns(), bulk: createAccountTurns() },
    held: new Map(),
    quiet: new Set(),
    running: new Set(),
    refusing: new Map(),
    expiryTimer: null,
    openCount: 0,
    isOver: false,
  }
  return {
    submit: (probe, to) => submit(pool, probe, to),
    joined: (probe, to, account) => pool.groups.get(keyOf(to))?.queue.advance(probe, account),
    broken: () => broken(pool),
    [Symbol.asyncDispose]: () => close(pool),
  }
}

function broken({ groups, refusing, options }: Pool): readonly string[] {
  const held = [...groups.values()].filter((group) => group.breaker.openMs() > 0)
  const forgotten = [...refusing].filter(([, untilMs]) => untilMs > options.now())
  return [...held.map((group) => group.provider.id), ...forgotten.map(([id]) => id)]
}

function submit(pool: Pool, probe: Probe, to: Destination): void {
  const group = groupOf(pool, to)
  const fullMs = group.fullUntilMs - pool.options.now()
  if (probe.lane === 'bulk' && fullMs > pool.limits.soonMs) {
    postpone(group, [probe], fullMs)
    return
  }
  const restMs = group.refusing.restMs(probe.domain)
  if (restMs > 0) {
    probe.settle(restingResult(group.provider.id, restMs))
    return
  }
  if (probe.lane === 'live' && isSilent(pool, group)) {
    probe.settle(waitingResult('slow_share', 0))
    return
  }
  group.queue.push(probe, to.route)
  pool.quiet.delete(group)
  if (probe.lane === 'bulk') watchExpiry(pool)
  grow(pool, group, probe.account)
}

/** Submits probes to hosts of the next group that may be probed. */
function moveOn(pool: Pool, probes: readonly Probe[], domain: string, route: HostsRoute): void {
  const { destination, isOff } = pool.options
  const to = destination(domain, route)
  if (!isOff(to)) {
    for (const probe of probes) submit(pool, probe, to)
    return
  }
  const { others, failed } = to.route
  // That the hosts tried before do not exist says nothing about these.
  const off = unknownResult('probing_off', { provider: to.provider.id })
  const known = failed?.status === 'unknown' ? failed : off
  if (others !== undefined) moveOn(pool, probes, domain, { ...others, failed: known })
  else for (const probe of probes) probe.settle(known)
}

/**
 * Whether a group that does not reply already has as many live probes as it may: its share of slow
 * calls.
 */
function isSilent({ limits, options }: Pool, { silentSinceMs, queue }: ProviderGroup): boolean {
  if (silentSinceMs === null || queue.liveSize < limits.silentProbes) return false
  return options.now() - silentSinceMs >= limits.silentMs
}

function keyOf({ group, source }: Destination): string {
  return `${group} ${source ?? ''}`
}

function groupOf(pool: Pool, to: Destination): ProviderGroup {
  const key = keyOf(to)
  let group = pool.groups.get(key)
  if (group === undefined) {
    const { memory, now, clock, warn } = pool.options
    const breaker = createCircuitBreaker(`email:breaker:${key}`, memory, clock, warn)
    group = createProviderGroup(to, key, pool.limits, breaker, now)
    pool.groups.set(key, group)
  }
  return group
}

/**
 * Wakes idle connections, and opens as many as the waiting probes need and the limits allow, which
 * are held for the account; if there is no place, the group waits for its turn.
 */
function grow(pool: Pool, group: ProviderGroup, account = group.queue.nextAccount): void {
  if (pool.isOver) return
  const { counts, idle: waiting } = group
  const wokenCount = waiting.size
  for (const connection of waiting) connection.wake?.(true)
  if (group.rate === 'held') return
  const transactions = Math.ceil(group.queue.size / group.perTransaction)
  // Bulk probes wait for the next transaction of a busy connection; a live one does not.
  const busy = group.queue.liveSize > 0 ? 0 : counts.busy + counts.closing - wokenCount
  let wanted = transactions - wokenCount - counts.starting - busy
  while (wanted-- > 0 && connectionCount(group) < group.pace.connections()) {
    if (pool.openCount >= sessionsFor(pool, group)) {
      starve(pool, group, account)
      endOneIdle(pool)
      return
    }
    start(pool, group, account)
  }
}

function sessionsFor({ limits }: Pool, { queue }: ProviderGroup): number {
  return queue.liveSize > 0 ? limits.sessions : bulkSessions(limits)
}

/** Connections that bulk probes may use: some are left for live ones. */
function bulkSessions({ sessions, liveSessions }: EmailLimits): number {
  return sessions - Math.min(liveSessions, Math.floor(sessions / 2))
}

/** Slow openings are displaced early enough for others before their probes are postponed. */
function slowLimits(limits: EmailLimits): SlowOpeningLimits {
  return { slowMs: limits.queueMs / 2, slowMax: Math.floor(bulkSessions(limits) / 2) }
}

function starve({ starved }: Pool, group: ProviderGroup, account: string): void {
  starved[group.queue.liveSize > 0 ? 'live' : 'bulk'].add(account, group)
}

function start(pool: Pool, group: ProviderGroup, account: string): void {
  const connection = addConnection(group)
  pool.openCount++
  hold(pool, account, 1)
  const done = runConnection(connection, pool.connection)
    .catch((error: unknown) => {
      pool.options.warn(error)
      // A shared store that has failed is not asked again at once.
      holdBack(pool, group, pool.limits.soonMs)
    })
    .finally(() => {
      setConnectionState(connection, 'closed')
      pool.openCount--
      hold(pool, account, -1)
      pool.running.delete(done)
      afterConnection(pool, group)
    })
  pool.running.add(done)
}

function hold({ held }: Pool, account: string, change: 1 | -1): void {
  const count = (held.get(account) ?? 0) + change
  if (count === 0) held.delete(account)
  else held.set(account, count)
}

/** After a connection was closed: others may have waited longer for its place than its group. */
function afterConnection(pool: Pool, group: ProviderGroup): void {
  const { limits, starved } = pool
  if (group.queue.size > 0) starve(pool, group, group.queue.nextAccount)
  // Live probes first: their callers wait.
  serveInTurn(pool, starved.live, limits.sessions)
  serveInTurn(pool, starved.bulk, bulkSessions(limits))
  restIfQuiet(pool, group)
}

function serveInTurn(pool: Pool, turns: AccountTurns<ProviderGroup>, sessions: number): void {
  while (pool.openCount < sessions) {
    const next = turns.next(pool.held)
    if (next === null) return
    grow(pool, next.item, next.account)
    restIfQuiet(pool, next.item)
  }
}

/**
 * Keeps a group without probes and connections for its measured pace, until others have been quiet
 * since. An open circuit is in the shared memory too, and is read when the group is needed again.
 */
function restIfQuiet(pool: Pool, group: ProviderGroup): void {
  if (connectionCount(group) > 0 || group.queue.size > 0 || group.rate === 'held') return
  pool.quiet.delete(group)
  pool.quiet.add(group)
  const [oldest] = pool.quiet
  if (oldest === undefined || pool.quiet.size <= pool.limits.quietGroups) return
  pool.quiet.delete(oldest)
  pool.groups.delete(oldest.key)
  const openMs = oldest.breaker.openMs()
  if (openMs === 0) return
  const untilMs = Math.max(pool.refusing.get(oldest.provider.id) ?? 0, pool.options.now() + openMs)
  pool.refusing.set(oldest.provider.id, untilMs)
}

function endOneIdle(pool: Pool): void {
  for (const group of pool.groups.values()) {
    const [longestIdle] = group.idle
    if (longestIdle === undefined) continue
    longestIdle.wake?.(false)
    return
  }
}

/**
 * Sends the group nothing for this time; its bulk probes are postponed if that exceeds `soonMs`.
 */
function holdBack(pool: Pool, group: ProviderGroup, ms: number): void {
  const { limits, options } = pool
  group.fullUntilMs = options.now() + ms
  if (ms > limits.soonMs) postpone(group, group.queue.expire(Number.POSITIVE_INFINITY), ms)
  if (group.queue.size === 0 || group.rate === 'held' || pool.isOver) return
  // They may have been put back after the last check that found none.
  if (group.queue.bulkSize > 0) watchExpiry(pool)
  holdRate(group, Math.max(1, ms), () => {
    grow(pool, group)
    restIfQuiet(pool, group)
  })
}

function watchExpiry(pool: Pool): void {
  pool.expiryTimer ??= setInterval(() => expireBulk(pool), EXPIRY_MS)
}

/** Postpones bulk probes that have waited too long, so that their batch can go on. */
function expireBulk(pool: Pool): void {
  const { limits, options, starved } = pool
  if (!starved.bulk.isEmpty) pool.connection.openings.displace(starved.bulk.accounts())
  let waits = false
  for (const group of pool.groups.values()) {
    if (group.queue.bulkSize === 0) continue
    const old = group.queue.expire(options.now() - limits.queueMs)
    if (old.length > 0) postpone(group, old, limits.queueMs)
    waits ||= group.queue.bulkSize > 0
    restIfQuiet(pool, group)
  }
  if (waits || pool.expiryTimer === null) return
  clearInterval(pool.expiryTimer)
  pool.expiryTimer = null
}

/** Waits for probes; false if the connection should close. */
function idle(pool: Pool, connection: PooledConnection): Promise<boolean> {
  const { connection: tools, starved } = pool
  const isStarved = !starved.live.isEmpty || !starved.bulk.isEmpty
  if (isStarved || tools.addresses.isWanted(connection)) return Promise.resolve(false)
  setConnectionState(connection, 'idle')
  return new Promise((resolve) => {
    const timer = setTimeout(() => wake(false), idleMs(pool, connection.group))
    const wake = (goesOn: boolean): void => {
      clearTimeout(timer)
      connection.wake = null
      setConnectionState(connection, goesOn ? 'busy' : 'closing')
      resolve(goesOn && !pool.isOver)
    }
    connection.wake = wake
  })
}

/** If few connections are allowed, an idle one blocks the probes of another worker. */
function idleMs({ limits }: Pool, group: ProviderGroup): number {
  return group.limits.connections <= SCARCE_CONNECTIONS ? limits.idleScarceMs : limits.idleMs
}

async function close(pool: Pool): Promise<void> {
  pool.isOver = true
  if (pool.expiryTimer !== null) clearInterval(pool.expiryTimer)
  for (const group of pool.groups.values()) {
    if (group.holdTimer !== null) clearTimeout(group.holdTimer)
    for (const connection of group.idle) connection.wake?.(false)
  }
  endWaiting(pool)
  await Promise.all(pool.running)
  // Aborted connections have put their probes back.
  endWaiting(pool)
}

function endWaiting(pool: Pool): void {
  const result = unknownResult('timeout')
  for (const { queue } of pool.groups.values()) {
    for (const probe of queue.clear()) probe.settle(result)
  }
}
