import type { Provider } from './providers.ts'

/** How much is asked of others, and how long a subject may wait for room. */
export interface EmailLimits {
  /** Connections open at once in this process. */
  readonly sessions: number
  /** Of these, those that live probes alone may open; half of them at most. */
  readonly liveSessions: number
  /** Live probes that may wait for a group of which nothing was heard for `silentMs`. */
  readonly silentProbes: number
  readonly silentMs: number
  /** Connections at once to a group from one outgoing address; absent: the provider's own. */
  readonly connectionsPerGroup?: number
  /** Recipients a minute to a group from one outgoing address; absent: the provider's own. */
  readonly recipientsPerMinute?: number
  /** The same for single groups, by provider id or registrable domain of the mail host. */
  readonly groups?: {
    readonly [group: string]: {
      readonly connections?: number
      readonly recipientsPerMinute?: number
    }
  }
  /** Connections a group begins with. */
  readonly startConnections: number
  /** Recipients of one domain that may be asked for in an hour. */
  readonly recipientsPerDomainPerHour: number
  /** Recipients in a transaction, at most. */
  readonly recipientsPerTransaction: number
  /** Refusals in a row after which a session ends (Postfix hangs up at 20 errors). */
  readonly refusalsPerSession: number
  /** Where a limit has no room for longer than this, bulk probes are postponed. */
  readonly soonMs: number
  /** A bulk probe that has waited for so long in a group's queue is postponed. */
  readonly queueMs: number
  /** A subject that a limit or guard kept back for so long ends as unknown. */
  readonly guardWaitMs: number
  readonly rateWaitMs: number
  /** Subjects of one run in work at once. */
  readonly window: number
  /** A refusal that one reply does not prove is rechecked after this; 0 for never. */
  readonly recheckMs: number
  /** Idle connections are kept for so long: of groups that allow several, and of those that allow few. */
  readonly idleMs: number
  readonly idleScarceMs: number
  /** An account that asks for so many recipients of a domain, this share of them missing, is stopped. */
  readonly dictionaryAsked: number
  readonly dictionaryShare: number
}

/** Sources: the reference figures of Postfix (2 to 20 connections, 20 errors) and of one recipient a second. */
export const DEFAULT_LIMITS: EmailLimits = {
  sessions: 1_200,
  liveSessions: 600,
  silentProbes: 32,
  silentMs: 2_000,
  startConnections: 2,
  recipientsPerDomainPerHour: 20_000,
  recipientsPerTransaction: 20,
  refusalsPerSession: 15,
  soonMs: 500,
  queueMs: 2_000,
  guardWaitMs: 2 * 3_600_000,
  rateWaitMs: 24 * 3_600_000,
  window: 4_000,
  recheckMs: 10 * 60_000,
  idleMs: 2_000,
  idleScarceMs: 50,
  dictionaryAsked: 200,
  dictionaryShare: 0.9,
}

/** Limits of one group. */
export interface GroupLimits {
  readonly connections: number
  readonly recipientsPerTransaction: number
  /** Bucket that grants at most the recipients a minute in any 60 s. */
  readonly bucket: { readonly perSecond: number; readonly burst: number }
}

/** The limits that hold for a group: its own, else those for all, else the provider's. */
export function limitsOf(limits: EmailLimits, group: string, provider: Provider): GroupLimits {
  const own = limits.groups?.[group]
  const perMinute =
    own?.recipientsPerMinute ?? limits.recipientsPerMinute ?? provider.recipientsPerMinute
  const burst = Math.max(1, Math.floor(perMinute / 4))
  return {
    connections: own?.connections ?? limits.connectionsPerGroup ?? provider.connections,
    recipientsPerTransaction: Math.max(
      1,
      Math.min(limits.recipientsPerTransaction, provider.recipientsPerTransaction, burst - 1),
    ),
    // One less, for the control that a uniform refusal asks for.
    bucket: { perSecond: Math.max(perMinute - burst - 1, 1) / 60, burst },
  }
}
