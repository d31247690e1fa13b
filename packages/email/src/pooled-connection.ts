import type { LeaseRenewal } from '@plumbline/concurrency/lease-renewal'
import { reservePlace } from './address-places.ts'
import type { AddressPlaces, ReservedPlace } from './address-places.ts'
import type { ConnectCallers, ConnectResult, SmtpConnection } from './connect.ts'
import type { HostsRoute, Probe, Recipients } from './probe-queue.ts'
import { unknownResult, type ProbeResult } from './probe-result.ts'
import { connectionCount, postpone, refuseWaiting, setConnectionState } from './provider-group.ts'
import type { PooledConnection, ProviderGroup } from './provider-group.ts'
import { restingResult } from './refusing-domains.ts'
import type { Opening, SlowOpenings } from './slow-openings.ts'
import { grantRecipients } from './grant-recipients.ts'
import type { GrantTools } from './grant-recipients.ts'
import { verifyRecipients } from './verify-recipients.ts'
import type { TransactionSummary, VerifyTools } from './verify-recipients.ts'

/** Dependencies of a pooled connection. */
export interface ConnectionTools extends GrantTools {
  readonly leases: LeaseRenewal
  readonly addresses: AddressPlaces
  readonly openings: SlowOpenings
  readonly verify: VerifyTools
  readonly connect: (
    route: HostsRoute,
    provider: string,
    source: string | undefined,
    callers: ConnectCallers,
  ) => Promise<ConnectResult>
  /** Called after each attempt to connect to an address, with whether any accepted. */
  readonly reached: (ok: boolean) => void
  readonly now: () => number
  /**
   * The customer of a group on whose account it may have refused us for a domain; null if it is the
   * group itself that refuses us.
   *
   * @param isVague whether the reason may also be the domain
   */
  readonly customerOf: (group: ProviderGroup, domain: string, isVague: boolean) => string | null
  /** Sends probes to hosts of another group, since no host of theirs has replied. */
  readonly moveOn: (probes: readonly Probe[], domain: string, route: HostsRoute) => void
  /** Called if there may be work for another connection. */
  readonly grow: (group: ProviderGroup) => void
  /** Waits for more probes; false if the connection should close. */
  readonly idle: (connection: PooledConnection) => Promise<boolean>
  /** Whether connections are so scarce that none should serve probes whose callers have gone. */
  readonly isScarce: () => boolean
  readonly isOver: () => boolean
}

/**
 * Milliseconds after which an unrenewed lease ends, so that a killed worker's lease is soon free.
 */
export const LEASE_MS = 20_000

/** Longest delay of bulk probes while all leases are held by other workers. */
const LEASE_AGAIN_MS = 5_000

/** Milliseconds for which hosts that had no place are asked for one before tokens are taken. */
const FULL_MS = 60_000

/** Transactions after which a session is closed, before the server does it. */
const TRANSACTIONS_MAX = 200

/** Runs one connection: acquires a shared lease, then runs transactions until no probe waits. */
export async function runConnection(
  connection: PooledConnection,
  tools: ConnectionTools,
): Promise<void> {
  try {
    await runUnderLease(connection, tools)
  } finally {
    if (connection.state !== 'closing') setConnectionState(connection, 'closing')
  }
}

async function runUnderLease(connection: PooledConnection, tools: ConnectionTools): Promise<void> {
  const { group } = connection
  const { limiter, now } = tools
  await group.breaker.refresh()
  const openMs = group.breaker.openMs()
  if (openMs > 0) return refuseWaiting(group, openMs)
  const pauseMs = group.pace.pausedUntilMs - now()
  if (pauseMs > 0) return tools.holdBack(group, pauseMs)
  const lease = await limiter.lease(
    `email:connections:${group.key}`,
    group.limits.connections,
    LEASE_MS,
  )
  if (!lease.granted) {
    // A lease may be released long before it expires.
    const afterMs = Math.min(lease.retryMs, LEASE_AGAIN_MS)
    return awaitCapacity(group, lease.retryMs, afterMs, tools)
  }
  const stopRenewing = tools.leases.keep(lease, () => {
    connection.isLost = true
    connection.smtp?.session.close()
  })
  try {
    while (!tools.isOver() && !connection.isLost && (await step(connection, tools)));
  } finally {
    // The place first: whoever gets this lease also needs a place.
    await endSession(connection)
    stopRenewing()
    await lease.release()
  }
}

/** Puts recipients back until a place may be free at an address of their host. */
function awaitPlace(
  group: ProviderGroup,
  { probes, route }: Recipients,
  afterMs: number,
  tools: ConnectionTools,
): void {
  group.queue.putBack(probes, route)
  awaitCapacity(group, afterMs, afterMs, tools)
}

/**
 * Holds a group back that may not have another connection now; if it has no other, its bulk probes
 * are postponed for `afterMs`.
 */
function awaitCapacity(
  group: ProviderGroup,
  retryMs: number,
  afterMs: number,
  tools: ConnectionTools,
): void {
  const isAlone = connectionCount(group) <= 1
  postpone(group, isAlone ? group.queue.expire(Number.POSITIVE_INFINITY) : [], afterMs)
  tools.holdBack(group, Math.min(Math.max(retryMs, 100), tools.limits.soonMs))
}

/** Closes the session, if there is one, and releases its place at the address. */
async function endSession(connection: PooledConnection): Promise<void> {
  const { smtp } = connection
  connection.smtp = null
  connection.transactions = 0
  connection.refusals = 0
  smtp?.session.close()
  await smtp?.place.release()
}

/** Runs one transaction; false if the connection has nothing more to do. */
async function step(connection: PooledConnection, tools: ConnectionTools): Promise<boolean> {
  const { group, smtp } = connection
  const { breaker, pace, perTransaction, queue } = group
  if (connectionCount(group) > pace.connections() || breaker.openMs() > 0) return false
  if (connection.state === 'starting') setConnectionState(connection, 'busy')
  const count = breaker.state() === 'half_open' ? 1 : perTransaction
  const recipients = queue.take(count, smtp === null ? undefined : (route) => serves(smtp, route))
  if (recipients === null) return smtp?.session.usable === true && (await tools.idle(connection))
  try {
    return await runTransaction(connection, recipients, tools)
  } catch (error) {
    // Nothing else would settle these probes, and their callers would wait for ever.
    const result = unknownResult('protocol_error', { provider: group.provider.id })
    for (const probe of recipients.probes) probe.settle(result)
    throw error
  }
}

async function runTransaction(
  connection: PooledConnection,
  recipients: Recipients,
  tools: ConnectionTools,
): Promise<boolean> {
  if (servesAgain(connection, recipients, tools)) return send(connection, recipients, null, tools)
  await endSession(connection)
  const { addresses, now } = tools
  const isLive = hasLive(recipients)
  const reserved = await reservePlace(addresses, connection, recipients.domain, isLive, now())
  if (!reserved.granted) {
    awaitPlace(connection.group, recipients, reserved.afterMs, tools)
    return false
  }
  await using place = reserved
  return send(connection, recipients, place, tools)
}

function hasLive({ probes }: Recipients): boolean {
  return probes.some(({ lane }) => lane === 'live')
}

async function send(
  connection: PooledConnection,
  recipients: Recipients,
  place: ReservedPlace | null,
  tools: ConnectionTools,
): Promise<boolean> {
  const { group } = connection
  const granted = await grantRecipients(group, recipients, tools)
  if (granted === null) return false
  const { probes, tokens } = granted
  const smtp = place === null ? connection.smtp : await openFor(connection, granted, place, tools)
  if (smtp === null) return mayOpenAnother(group, tools)
  for (const probe of probes) probe.heard()
  using _ = whenAllGaveUp(probes, () => {
    if (tools.isScarce()) smtp.session.close()
  })
  const { provider, name } = group
  const summary = await verifyRecipients(smtp, granted, tokens, provider, name, tools.verify)
  connection.transactions++
  connection.refusals = summary.accepted ? 0 : connection.refusals + summary.refusals
  applySummary(group, summary, granted.domain, tools)
  if (summary.unanswered.length > 0) group.queue.putBack(summary.unanswered, granted.route)
  if (summary.throttled || group.breaker.openMs() > 0) return false
  const afterMs = tools.addresses.leavesFor(connection)
  if (afterMs !== null) awaitCapacity(group, afterMs, afterMs, tools)
  return afterMs === null
}

function mayOpenAnother({ queue, pace, rate }: ProviderGroup, { now }: ConnectionTools): boolean {
  return queue.size > 0 && pace.pausedUntilMs <= now() && rate === 'ready'
}

/**
 * Calls `gone` once nobody waits for any of the probes; disposing of the result cancels the call.
 */
function whenAllGaveUp(probes: readonly Probe[], gone: () => void): Disposable {
  const check = (): void => {
    if (probes.every(({ settled }) => settled)) gone()
  }
  for (const probe of probes) probe.onGivenUp = check
  return {
    [Symbol.dispose]: () => {
      for (const probe of probes) probe.onGivenUp = null
    },
  }
}

/**
 * Applies the result of a transaction to its group: circuit breaker, size of transactions, and
 * pace.
 */
function applySummary(
  group: ProviderGroup,
  summary: TransactionSummary,
  domain: string,
  tools: ConnectionTools,
): void {
  group.silentSinceMs = null
  if (summary.accepted) {
    group.breaker.accepted()
    group.refusing.accepted(domain)
  } else if (summary.refusedUs !== false) {
    const customer = tools.customerOf(group, domain, summary.refusedUs === 'maybe')
    group.breaker.refused(customer)
    if (customer !== null) refusedFor(group, domain)
  }
  if (summary.tooMany) group.perTransaction = Math.max(1, Math.floor(group.perTransaction / 2))
  if (summary.throttled) {
    slowDown(group, tools)
  } else {
    group.pace.succeeded()
    if (group.queue.size > group.perTransaction) tools.grow(group)
  }
  const openMs = group.breaker.openMs()
  if (openMs > 0) refuseWaiting(group, openMs)
}

/** Leaves a domain alone for which the group keeps refusing us. */
function refusedFor({ provider, queue, refusing }: ProviderGroup, domain: string): void {
  refusing.refused(domain)
  const restMs = refusing.restMs(domain)
  if (restMs === 0) return
  for (const probe of queue.drain(domain)) probe.settle(restingResult(provider.id, restMs))
}

function slowDown(group: ProviderGroup, tools: ConnectionTools): void {
  group.pace.throttled()
  tools.holdBack(group, group.pace.pausedUntilMs - tools.now())
}

/** Whether a session is with a host of the route, and not with an address to avoid. */
function serves(smtp: SmtpConnection, route: HostsRoute): boolean {
  if (!route.hosts.includes(smtp.host)) return false
  // If all other addresses have failed, the avoided one is used.
  return route.avoid === undefined || route.avoid !== smtp.address || smtp.avoided === route.avoid
}

/** Whether the open session, if there is one, can serve the recipients. */
function servesAgain(
  { smtp, transactions, refusals }: PooledConnection,
  { route }: Recipients,
  { limits }: ConnectionTools,
): boolean {
  return (
    smtp !== null &&
    smtp.session.usable &&
    serves(smtp, route) &&
    transactions < TRANSACTIONS_MAX &&
    refusals < limits.refusalsPerSession
  )
}

/** A new session that serves the recipients; null if no host accepts us, or has a place for us. */
async function openFor(
  connection: PooledConnection,
  recipients: Recipients,
  place: ReservedPlace,
  tools: ConnectionTools,
): Promise<SmtpConnection | null> {
  const { group } = connection
  const opened = await openForCallers(connection, recipients, place, tools)
  if (opened === null) return null
  if (opened.kind === 'full') {
    const { addresses, afterMs } = opened
    const untilMs = tools.now() + FULL_MS
    group.fullAt = { domain: recipients.domain, addresses, untilMs }
    awaitPlace(group, recipients, afterMs, tools)
    return null
  }
  if (opened.kind === 'connected') {
    tools.reached(true)
    connection.smtp = opened.connection
    if (connection.isLost) opened.connection.session.close()
    return opened.connection
  }
  if (opened.reached !== null) tools.reached(opened.reached)
  // Other probes of the domain would fail alike, unless only this connection was one too many.
  const others = opened.throttled ? [] : group.queue.drain(recipients.domain)
  const probes = [...recipients.probes, ...others]
  const { others: elsewhere, failed, avoid } = recipients.route
  if (elsewhere !== undefined && !opened.replied) {
    const route = { ...elsewhere, failed: failed ?? opened.result }
    tools.moveOn(probes, recipients.domain, avoid === undefined ? route : { ...route, avoid })
    return null
  }
  for (const probe of probes) probe.settle(worseKnown(opened.result, failed))
  if (opened.throttled) slowDown(group, tools)
  if (opened.refusedUs) {
    // Before a recipient is named, only the group itself can refuse us.
    group.breaker.refused(null)
    const openMs = group.breaker.openMs()
    if (openMs > 0) refuseWaiting(group, openMs)
  }
  return null
}

/**
 * The result of hosts that did not reply: that none exists is certain only if it holds for the hosts
 * tried before, too.
 */
function worseKnown(result: ProbeResult, before: ProbeResult | undefined): ProbeResult {
  return result.reason === 'no_mail_host' && before !== undefined ? before : result
}

/** Opens a session as long as anybody waits for it; null if nobody does any more. */
async function openForCallers(
  { group }: PooledConnection,
  recipients: Recipients,
  place: ReservedPlace,
  tools: ConnectionTools,
): Promise<ConnectResult | null> {
  const { probes, route } = recipients
  const isLive = hasLive(recipients)
  const unattended = new AbortController()
  using _ = whenAllGaveUp(probes, () => unattended.abort())
  using opening = isLive ? null : beginBulk(group, probes, tools, () => unattended.abort())
  const { silentSinceMs } = group
  group.silentSinceMs ??= tools.now()
  const first = probes.find(({ lane }) => lane === 'live') ?? probes[0]
  const opened = await tools.connect(route, group.provider.id, group.source, {
    signal: unattended.signal,
    heard() {
      group.silentSinceMs = null
      opening?.heard()
      for (const probe of probes) probe.heard()
    },
    ...(first === undefined ? {} : { dns: first }),
    placeAt: place.placeAt,
  })
  if (opened.kind === 'full') group.silentSinceMs = silentSinceMs
  // It says nothing about the host, as we did not wait.
  return unattended.signal.aborted && opened.kind !== 'connected' ? null : opened
}

/**
 * Records the opening of a connection for bulk probes alone. If it is displaced, all bulk probes of
 * the group wait in their batches, as the next opening would be as slow.
 */
function beginBulk(
  group: ProviderGroup,
  probes: readonly Probe[],
  { limits, now, openings }: ConnectionTools,
  abort: () => void,
): Opening | null {
  const [first] = probes
  if (first === undefined) return null
  return openings.begin(first.account, () => {
    group.fullUntilMs = now() + limits.queueMs
    const others = group.queue.expire(Number.POSITIVE_INFINITY)
    postpone(group, [...probes, ...others], limits.queueMs)
    abort()
  })
}
