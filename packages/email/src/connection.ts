import type { Limiter } from '@plumbline/ports/engine'
import type { Line, Reached } from './dial.ts'
import { converse } from './dialogue.ts'
import type { DialogueTools, Told } from './dialogue.ts'
import { unknownFinding } from './finding.ts'
import { refuseAll, sendAway, waiting } from './group.ts'
import type { Group } from './group.ts'
import { LEASE_MS } from './lease-renewer.ts'
import type { Keeper } from './lease-renewer.ts'
import type { EmailLimits } from './limits.ts'
import type { Batch, HostsRoute } from './queue.ts'

/** What a connection works with. */
export interface ConnectionTools {
  readonly limits: EmailLimits
  readonly limiter: Limiter
  readonly keeper: Keeper
  readonly dialogue: DialogueTools
  readonly reach: (
    route: HostsRoute,
    provider: string,
    source: string | undefined,
  ) => Promise<Reached>
  /** Told of each host that was reached or was not. */
  readonly reached: (ok: boolean) => void
  readonly now: () => number
  /** The group has no room for so long. */
  readonly noRoom: (group: Group, ms: number) => void
  /** There may be work for another connection. */
  readonly pump: (group: Group) => void
  /** Waits for more tickets; false where the connection should end. */
  readonly idle: (group: Group) => Promise<boolean>
  readonly isOver: () => boolean
}

interface Hold {
  line: Line | null
  transactions: number
  /** Refused recipients since the last accepted one. */
  refusals: number
  /** The place is another's by now: nothing more may be asked. */
  isLost: boolean
  /** Nothing was taken yet. */
  isStarting: boolean
}

/** Where all places are held elsewhere, a list's subjects come back after this at the latest. */
const LEASE_AGAIN_MS = 5_000

/** Sessions are ended after so many transactions, before servers do it. */
const TRANSACTIONS_MAX = 200

/** One connection's life: a shared lease, then batch after batch until there is nothing more. */
export async function work(group: Group, tools: ConnectionTools): Promise<void> {
  const hold: Hold = {
    line: null,
    transactions: 0,
    refusals: 0,
    isLost: false,
    isStarting: true,
  }
  try {
    await workUnderLease(group, hold, tools)
  } finally {
    started(group, hold)
  }
}

async function workUnderLease(group: Group, hold: Hold, tools: ConnectionTools): Promise<void> {
  const { limiter, now } = tools
  await group.breaker.refresh()
  const openMs = group.breaker.openMs()
  if (openMs > 0) return refuseAll(group, openMs)
  const restMs = group.pace.restUntilMs - now()
  if (restMs > 0) return tools.noRoom(group, restMs)
  const lease = await limiter.lease(
    `email:connections:${group.key}`,
    group.limits.connections,
    LEASE_MS,
  )
  if (!lease.granted) {
    // The place may be given back long before its lease would end.
    const waitMs = Math.min(Math.max(lease.retryMs, 100), tools.limits.soonMs)
    const isAlone = group.workers <= 1
    const bulk = isAlone ? group.queue.expire(Number.POSITIVE_INFINITY) : []
    sendAway(group, bulk, Math.min(lease.retryMs, LEASE_AGAIN_MS))
    tools.noRoom(group, waitMs)
    return
  }
  const place = tools.keeper.hold(lease, () => {
    hold.isLost = true
    hold.line?.session.close()
  })
  try {
    while (!tools.isOver() && !hold.isLost && (await step(group, hold, tools)));
  } finally {
    hold.line?.session.close()
    await place.giveBack()
  }
}

/** One transaction; false where the connection has nothing more to do. */
async function step(group: Group, hold: Hold, tools: ConnectionTools): Promise<boolean> {
  const { queue } = group
  if (group.workers > group.pace.connections() || group.breaker.openMs() > 0) return false
  started(group, hold)
  const { line } = hold
  const count = group.breaker.onTrial ? 1 : group.perTransaction
  const batch = queue.take(count, line === null ? undefined : (route) => serves(line, route))
  if (batch === null) return hold.line?.session.usable === true && (await tools.idle(group))
  try {
    return await askBatch(group, hold, batch, tools)
  } catch (error) {
    // Nobody else holds these tickets, and whoever waits for them must not wait for ever.
    const finding = unknownFinding('protocol_error', { provider: group.provider.id })
    for (const ticket of batch.tickets) ticket.settle({ kind: 'finding', finding })
    throw error
  }
}

async function askBatch(
  group: Group,
  hold: Hold,
  batch: Batch,
  tools: ConnectionTools,
): Promise<boolean> {
  const { queue } = group
  const granted = await takeRoom(group, batch, tools)
  if (granted === null) return false
  const line = await lineFor(group, hold, granted, tools)
  if (line === null) return queue.size > 0 && group.pace.restUntilMs <= tools.now()
  const told = await converse(line, granted, group.provider, group.name, tools.dialogue)
  hold.transactions++
  hold.refusals = told.accepted ? 0 : hold.refusals + told.refusals
  heed(group, told, tools)
  if (told.again.length > 0) queue.putBack(told.again, granted.route)
  return !told.pressed && group.breaker.openMs() === 0
}

function started(group: Group, hold: Hold): void {
  if (!hold.isStarting) return
  hold.isStarting = false
  group.starting--
}

function heed(group: Group, told: Told, tools: ConnectionTools): void {
  if (told.accepted) group.breaker.accepted()
  else if (told.refusedUs) group.breaker.refused()
  if (told.tooMany) group.perTransaction = Math.max(1, Math.floor(group.perTransaction / 2))
  if (told.pressed) {
    slowDown(group, tools)
  } else {
    group.pace.eased()
    if (group.queue.size > group.perTransaction) tools.pump(group)
  }
  const openMs = group.breaker.openMs()
  if (openMs > 0) refuseAll(group, openMs)
}

function slowDown(group: Group, tools: ConnectionTools): void {
  group.pace.pressed()
  tools.noRoom(group, group.pace.restUntilMs - tools.now())
}

/** Takes the shared tokens of a batch, or of as much of it as there are tokens for. */
async function takeRoom(group: Group, batch: Batch, tools: ConnectionTools): Promise<Batch | null> {
  const { limiter, limits } = tools
  const { bucket } = group.limits
  let { tickets } = batch
  for (;;) {
    // One more for an invented mailbox.
    const extra = tickets.some((ticket) => ticket.depth === 'extended') ? 1 : 0
    const count = Math.min(tickets.length + extra, bucket.burst)
    const grant = await limiter.take(`email:recipients:${group.key}`, count, bucket)
    if (grant.granted) break
    const kept = Math.floor(tickets.length / 2)
    group.queue.putBack(tickets.slice(kept), batch.route)
    tickets = tickets.slice(0, kept)
    if (kept > 0) continue
    tools.noRoom(group, Math.max(1, grant.retryMs))
    return null
  }
  const perHour = limits.recipientsPerDomainPerHour
  const domainBucket = { perSecond: perHour / 3600, burst: Math.max(1, Math.floor(perHour / 4)) }
  const domain = await limiter.take(`email:domain:${batch.domain}`, tickets.length, domainBucket)
  if (domain.granted) return { ...batch, tickets }
  const verdict = waiting('guard', Math.max(1000, domain.retryMs))
  for (const ticket of [...tickets, ...group.queue.drain(batch.domain)]) ticket.settle(verdict)
  return null
}

/** Whether a line goes where the route does, and not to an address it avoids while there are others. */
function serves(line: Line, route: HostsRoute): boolean {
  if (!route.hosts.includes(line.host)) return false
  return route.avoid === undefined || route.avoid !== line.address || line.avoided === route.avoid
}

/** The open session where it serves the batch, else a new one; null where no host lets us in. */
async function lineFor(
  group: Group,
  hold: Hold,
  batch: Batch,
  tools: ConnectionTools,
): Promise<Line | null> {
  const { line } = hold
  const isGood =
    line !== null &&
    line.session.usable &&
    serves(line, batch.route) &&
    hold.transactions < TRANSACTIONS_MAX &&
    hold.refusals < tools.limits.refusalsPerSession
  if (isGood) return line
  line?.session.close()
  hold.line = null
  hold.transactions = 0
  hold.refusals = 0
  const reached = await tools.reach(batch.route, group.provider.id, group.source)
  if (reached.kind === 'line') {
    tools.reached(true)
    hold.line = reached.line
    if (hold.isLost) reached.line.session.close()
    return reached.line
  }
  tools.reached(!reached.unreachable)
  // Nobody else of the domain would get further just now, but by a connection that was let in.
  const others = reached.pressed ? [] : group.queue.drain(batch.domain)
  for (const ticket of [...batch.tickets, ...others]) ticket.settle(reached.verdict)
  if (reached.pressed) slowDown(group, tools)
  if (reached.refusedUs) {
    group.breaker.refused()
    const openMs = group.breaker.openMs()
    if (openMs > 0) refuseAll(group, openMs)
  }
  return null
}
