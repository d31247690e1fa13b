import type { Reason } from '@plumbline/contract/reasons'
import type { Caller, RateLimited } from './registry-rate-limiter.ts'

/** What is known of a registration; null if no registry said it. */
export interface Registration {
  readonly registered: boolean | null
  readonly reason: Reason<'domain'>
  readonly registrar: string | null
  /** ISO 8601, UTC. */
  readonly created: string | null
  readonly expires: string | null
  /** RFC 8056 values, lower case with spaces. */
  readonly statuses: readonly string[]
  readonly reserved: boolean
  readonly source: 'rdap' | 'whois' | null
  readonly server: string | null
  /** The server is the one listed for the name's own suffix, not for a zone above it. */
  readonly exact: boolean
  /** What went wrong, for the evidence. */
  readonly faults: readonly string[]
}

/** A registration, or when to ask again. */
export type LookupResult =
  | {
      readonly kind: 'registration'
      readonly registration: Registration
      readonly cached: boolean
      /** When a registry was asked, milliseconds since the epoch; absent: just now. */
      readonly atMs?: number
    }
  | {
      readonly kind: 'later'
      readonly afterMs: number
      readonly group: string
      readonly reason: string
    }

/**
 * Statuses of a name that nobody can use any more: its holder may redeem it, or it is about to be free. A name
 * in its grace after expiry has none of them (RFC 3915, section 3.1; `quarantine` is how SIDN and EURid say it).
 */
const LAPSED = /redemption|quarantine|^pending delete/

/** A registration as it counts: one that has lapsed is no active one, though the registry has its record yet. */
export function asActive(registration: Registration): Registration {
  const { registered, statuses } = registration
  if (registered !== true || !statuses.some((status) => LAPSED.test(status))) return registration
  return { ...registration, registered: false, reason: 'registration_lapsed' }
}

/** A registration of which nothing is known. */
export const UNKNOWN: Registration = {
  registered: null,
  reason: 'no_registry_data',
  registrar: null,
  created: null,
  expires: null,
  statuses: [],
  reserved: false,
  source: null,
  server: null,
  exact: false,
  faults: [],
}

/** When a batch asks again, where a server has no room or throttles; null in every other case. */
export function laterOf(
  limited: RateLimited<unknown>,
  caller: Caller,
  server: string,
): LookupResult | null {
  if (limited.kind === 'later') {
    return { kind: 'later', afterMs: limited.afterMs, group: server, reason: 'registry_pace' }
  }
  if (limited.kind === 'paused' && limited.why === 'throttled' && caller.lane === 'bulk') {
    return { kind: 'later', afterMs: limited.retryMs, group: server, reason: 'registry_throttled' }
  }
  return null
}

/** When a batch asks again after a server has throttled; a minute where it did not say. */
export function laterAfterThrottle(server: string, retryMs: number | null): LookupResult {
  return { kind: 'later', afterMs: retryMs ?? 60_000, group: server, reason: 'registry_throttled' }
}

/** A registration that a server just told. */
export function fromServer(registration: Registration): LookupResult {
  return { kind: 'registration', registration: asActive(registration), cached: false }
}
