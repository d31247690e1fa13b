import type { LeaseRenewal } from '@plumbline/concurrency/lease-renewal'
import type { Lease, Limiter } from '@plumbline/ports/limiter'
import type { AddressPlace, GrantedPlace } from './connect.ts'
import { holdNewest } from './hold-newest.ts'
import { connectionCount } from './provider-group.ts'
import type { PooledConnection, ProviderGroup } from './provider-group.ts'
import { ORDINARY_PROVIDER } from './providers.ts'

/**
 * Places for connections at the addresses of mail hosts, shared by all workers: anybody can publish
 * names of any number of groups for one address, which is not to get more connections by that. Hosts
 * with names of a known provider need none: they are one group, which names of others at its addresses
 * must not delay.
 */
export interface AddressPlaces {
  /**
   * Takes a place at an address, which has as many for the connections of all groups as the limit of
   * this one says; if several groups use it, bulk probes leave one to live ones.
   *
   * @param isLive whether the connection is for a live probe
   */
  take(address: string, connection: PooledConnection, isLive: boolean): Promise<AddressPlace>
  /**
   * Milliseconds after which bulk probes of the group come back if the connection leaves its place to
   * another group: to a live probe at once, to bulk probes after it has kept it for `TURN_MS`. Null if
   * it may keep it.
   */
  leavesFor(connection: PooledConnection): number | null
  /** Whether another group waits for the place of an idle connection. */
  isWanted(connection: PooledConnection): boolean
}

/** Dependencies of the places. */
export interface AddressPlacesOptions {
  readonly limiter: Limiter
  readonly leases: LeaseRenewal
  readonly leaseMs: number
  readonly now: () => number
  /** Called with each error of the shared limiter; a place that it cannot grant counts as taken. */
  readonly warn: (error: unknown) => void
}

/** The refusals of places at one address, times by the clock of the pool. */
interface Refusals {
  /**
   * Key of the group that was refused last, or last for a live probe that still waits; null if none
   * was.
   */
  readonly by: string | null
  /** Until when a live probe counts as waiting. */
  readonly liveUntilMs: number
  /** When the last one of the groups that were told to come back does so. */
  readonly lastTurnMs: number
}

/**
 * Milliseconds for which a connection keeps its place while others wait, and between two groups that
 * come back for one.
 */
const TURN_MS = 1_000

/** Longest wait of bulk probes for their turn, in milliseconds. */
const AFTER_MAX_MS = 60_000

/** Addresses whose refusals stay in memory. */
const REFUSING_MAX = 10_000

const NOBODY_WAITS: Refusals = { by: null, liveUntilMs: 0, lastTurnMs: 0 }

const UNLIMITED: GrantedPlace = { granted: true, release: () => Promise.resolve() }

const NO_LEASE: Lease = { granted: false, retryMs: TURN_MS }

interface Places {
  readonly options: AddressPlacesOptions
  /** The connections of this process that have or want a place at each address, and since when. */
  readonly holders: Map<string, Map<PooledConnection, number>>
  readonly refusals: Map<string, Refusals>
}

/** Makes the places of one pool. */
export function createAddressPlaces(options: AddressPlacesOptions): AddressPlaces {
  const places: Places = { options, holders: new Map(), refusals: new Map() }
  return {
    take: (address, connection, isLive) =>
      take(places, keyOf(address, connection.group), connection, isLive),
    leavesFor: (connection) => leavesFor(places, connection),
    isWanted(connection) {
      const { liveUntilMs, lastTurnMs } = othersAt(places, keyAt(connection), connection)
      return Math.max(liveUntilMs, lastTurnMs) > options.now()
    },
  }
}

async function take(
  places: Places,
  key: string,
  connection: PooledConnection,
  isLive: boolean,
): Promise<AddressPlace> {
  const { leases, now, warn } = places.options
  if (connection.group.provider.id !== ORDINARY_PROVIDER.id) return UNLIMITED
  const isLeft = !isLive && leavesFree(places, key, connection)
  const holders = places.holders.get(key) ?? new Map<PooledConnection, number>()
  places.holders.set(key, holders.set(connection, now()))
  const held = isLeft ? NO_LEASE : await lease(places, key, connection.group, isLive)
  const forget = (): void => {
    holders.delete(connection)
    if (holders.size === 0 && places.holders.get(key) === holders) places.holders.delete(key)
  }
  if (!held.granted) {
    forget()
    return { granted: false, afterMs: refuse(places, key, connection, isLive, isLeft) }
  }
  const refused = places.refusals.get(key)
  // What it was refused before, it has now.
  if (refused?.by === connection.group.key)
    places.refusals.set(key, { ...refused, liveUntilMs: isLive ? 0 : refused.liveUntilMs })
  const stopRenewing = leases.keep(held, () => {
    connection.isLost = true
    connection.smtp?.session.close()
  })
  return {
    granted: true,
    async release() {
      stopRenewing()
      forget()
      // If it cannot be released, it expires.
      await held.release().catch(warn)
    },
  }
}

/**
 * Whether a connection for bulk probes is not even tried: others wait, a live probe, or bulk probes
 * while the group has another connection to the address.
 */
function leavesFree(places: Places, key: string, connection: PooledConnection): boolean {
  const nowMs = places.options.now()
  const { liveUntilMs, lastTurnMs } = othersAt(places, key, connection)
  const holders = [...(places.holders.get(key)?.keys() ?? [])]
  const hasAnother = holders.some((holder) => holder.group === connection.group)
  return liveUntilMs > nowMs || (hasAnother && lastTurnMs > nowMs)
}

async function lease(
  { options, holders }: Places,
  key: string,
  group: ProviderGroup,
  isLive: boolean,
): Promise<Lease> {
  const isShared = [...(holders.get(key)?.keys() ?? [])].some((holder) => holder.group !== group)
  const { connections } = group.limits
  const limit = isShared && !isLive ? Math.max(1, connections - 1) : connections
  try {
    return await options.limiter.lease(`email:address:${key}`, limit, options.leaseMs)
  } catch (error) {
    options.warn(error)
    return NO_LEASE
  }
}

/** Notes a refusal; the milliseconds after which bulk probes come back. */
function refuse(
  { options, holders, refusals }: Places,
  key: string,
  { group }: PooledConnection,
  isLive: boolean,
  isLeft: boolean,
): number {
  const nowMs = options.now()
  const before = refusals.get(key) ?? NOBODY_WAITS
  const comesBack = !isLive && connectionCount(group) <= 1
  const lastTurnMs = comesBack ? turnOf(group, before.lastTurnMs, nowMs) : before.lastTurnMs
  const liveUntilMs = isLive ? nowMs + TURN_MS : before.liveUntilMs
  const by = isLeft || (!isLive && liveUntilMs > nowMs) ? before.by : group.key
  holdNewest(refusals, key, { by, liveUntilMs, lastTurnMs }, REFUSING_MAX)
  const idle = [...(holders.get(key)?.keys() ?? [])].find((holder) => holder.wake !== null)
  idle?.wake?.(false)
  return Math.max(TURN_MS, lastTurnMs - nowMs)
}

/** When the bulk probes of a group that has no place come back: after those told so before. */
function turnOf({ limits }: ProviderGroup, lastTurnMs: number, nowMs: number): number {
  const turnMs = Math.max(lastTurnMs, nowMs) + TURN_MS / limits.connections
  return Math.min(Math.max(turnMs, nowMs + TURN_MS), nowMs + AFTER_MAX_MS)
}

/** The refusals at an address, unless the group of the connection is the one that waits. */
function othersAt({ refusals }: Places, key: string, { group }: PooledConnection): Refusals {
  const refused = refusals.get(key)
  return refused === undefined || refused.by === group.key ? NOBODY_WAITS : refused
}

function leavesFor(places: Places, connection: PooledConnection): number | null {
  const { options, holders, refusals } = places
  const nowMs = options.now()
  const key = keyAt(connection)
  const waiting = othersAt(places, key, connection)
  if (waiting.liveUntilMs > nowMs) return TURN_MS
  const keptMs = nowMs - (holders.get(key)?.get(connection) ?? nowMs)
  if (keptMs < TURN_MS || waiting.lastTurnMs <= nowMs) return null
  const { group } = connection
  const lastTurnMs = turnOf(group, waiting.lastTurnMs, nowMs)
  const comesBack = group.queue.bulkSize > 0 && connectionCount(group) <= 1
  if (comesBack) refusals.set(key, { ...waiting, lastTurnMs })
  return lastTurnMs - nowMs
}

function keyAt({ group, smtp }: PooledConnection): string {
  return smtp === null ? '' : keyOf(smtp.address, group)
}

function keyOf(address: string, { source }: ProviderGroup): string {
  return `${address} ${source ?? ''}`
}

/** A place that a connection has taken before its host is connected to, if that was necessary. */
export interface ReservedPlace extends AsyncDisposable {
  readonly granted: true
  /** Takes a place at the address: the reserved one if it is there, else another in its stead. */
  placeAt(address: string): Promise<AddressPlace>
}

/**
 * Reserves a place if the hosts of the domain lately had none, so that no tokens are taken for
 * recipients that cannot be sent.
 *
 * @param isLive whether the connection is for a live probe
 */
export async function reservePlace(
  places: AddressPlaces,
  connection: PooledConnection,
  domain: string,
  isLive: boolean,
  nowMs: number,
): Promise<ReservedPlace | (AddressPlace & { readonly granted: false })> {
  const { fullAt } = connection.group
  let reserved: { readonly address: string; readonly place: GrantedPlace } | null = null
  if (fullAt !== null && fullAt.domain === domain && fullAt.untilMs > nowMs) {
    let afterMs = 0
    for (const address of fullAt.addresses) {
      const place = await places.take(address, connection, isLive)
      if (place.granted) {
        reserved = { address, place }
        break
      }
      ;({ afterMs } = place)
    }
    if (reserved === null) return { granted: false, afterMs }
    connection.group.fullAt = null
  }
  const release = async (): Promise<void> => {
    const unused = reserved
    reserved = null
    await unused?.place.release()
  }
  return {
    granted: true,
    async placeAt(address) {
      const own = reserved
      if (own?.address === address) {
        reserved = null
        return own.place
      }
      await release()
      return places.take(address, connection, isLive)
    },
    [Symbol.asyncDispose]: release,
  }
}
