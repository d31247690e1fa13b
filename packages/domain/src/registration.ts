import type { Reason } from '@plumbline/contract/reasons'
import type { Turn, Turned } from './registry-rate-limiter.ts'

/** What is known of a registration; null where no registry said it. */
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
  /** The server is listed for the very suffix of the name, not for a zone above it. */
  readonly exact: boolean
  /** What went wrong on the way. */
  readonly faults: readonly string[]
}

/** A registration, or when to come again. */
export type Finding =
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

/** What a lookup is when nothing is known. */
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

/** What a list is told when a server has no room or asks for peace; null for every other case. */
export function laterOf(turned: Turned<unknown>, turn: Turn, server: string): Finding | null {
  if (turned.kind === 'later') {
    return { kind: 'later', afterMs: turned.afterMs, group: server, reason: 'registry_pace' }
  }
  if (turned.kind === 'paused' && turned.why === 'throttled' && turn.lane === 'bulk') {
    return { kind: 'later', afterMs: turned.retryMs, group: server, reason: 'registry_throttled' }
  }
  return null
}

/** The first wait after a server said that it is asked too much. */
export function throttledLater(server: string, retryMs: number | null): Finding {
  return { kind: 'later', afterMs: retryMs ?? 60_000, group: server, reason: 'registry_throttled' }
}

/** A finding fresh from a server. */
export function known(registration: Registration): Finding {
  return { kind: 'registration', registration: asActive(registration), cached: false }
}
