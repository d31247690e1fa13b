import type { Reason } from '@plumbline/contract/reasons'
import { isLapsed } from './registration-status.ts'
import type { RegistryCaller, RateLimited } from './registry-rate-limiter.ts'

/** A registration; null for parts that no registry reported. */
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
  /** Whether the server is listed for the name's own suffix, not for a zone above it. */
  readonly exact: boolean
  /** Errors of the queries, for the evidence. */
  readonly faults: readonly string[]
}

/** A registration, or when to try again. */
export type LookupResult =
  | {
      readonly kind: 'registration'
      readonly registration: Registration
      readonly cached: boolean
      /** Whether facts are missing that the registrar, which gave no reply, may have. */
      readonly isPartial?: boolean
      /** When a registry was queried, in milliseconds since the Unix epoch; absent: just now. */
      readonly atMs?: number
    }
  | {
      readonly kind: 'later'
      readonly afterMs: number
      readonly group: string
      /** Whether only this name is delayed, and not its whole group. */
      readonly isOwnWait?: boolean
      readonly reason: string
    }

/** Counts a lapsed registration as none, though the registry still has its record. */
export function asActive(registration: Registration): Registration {
  const { registered, statuses } = registration
  if (registered !== true || !statuses.some(isLapsed)) return registration
  return { ...registration, registered: false, reason: 'registration_lapsed' }
}

/** A registration that is all unknown. */
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

/** The delay of a name in a batch, if a server is at its limit or throttles; null otherwise. */
export function laterOf(
  limited: RateLimited<unknown>,
  caller: RegistryCaller,
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

/**
 * The delay after throttling; a minute if the server named none. Unless it `isSure`, other names of
 * the server need not wait.
 */
export function laterAfterThrottle(
  server: string,
  retryMs: number | null,
  isSure: boolean,
): LookupResult {
  const afterMs = retryMs ?? 60_000
  const own = isSure ? {} : { isOwnWait: true }
  return { kind: 'later', afterMs, group: server, ...own, reason: 'registry_throttled' }
}

/** A registration that was just queried. */
export function fromServer(registration: Registration): LookupResult {
  return { kind: 'registration', registration: asActive(registration), cached: false }
}
