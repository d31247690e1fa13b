import type { Provider } from './providers.ts'

/** Limits towards mail hosts, and how long a subject may wait. */
export interface EmailLimits {
  /** Connections open at once in this process. */
  readonly sessions: number
  /** Of these, connections reserved for live probes; half of them at most. */
  readonly liveSessions: number
  /** Live probes that may wait for a group that has not replied for `silentMs`. */
  readonly silentProbes: number
  readonly silentMs: number
  /**
   * Concurrent connections to a group from one outgoing address; absent: the provider's own limit.
   */
  readonly connectionsPerGroup?: number
  /** Recipients a minute to a group from one outgoing address; absent: the provider's own limit. */
  readonly recipientsPerMinute?: number
  /** The same for single groups, by provider id or registrable domain of the mail host. */
  readonly groups?: {
    readonly [group: string]: {
      readonly connections?: number
      readonly recipientsPerMinute?: number
    }
  }
  /** Groups that stay in memory without probes and connections. */
  readonly quietGroups: number
  /** Connections that a group begins with. */
  readonly startConnections: number
  /**
   * A recipient that is not sent within this time after the shared limit granted it needs a new
   * grant: so the limit holds for what is sent, however slow the host or this process is.
   */
  readonly sendWithinMs: number
  /** Recipients of one domain that may be probed in an hour. */
  readonly recipientsPerDomainPerHour: number
  /** Recipients in a transaction, at most. */
  readonly recipientsPerTransaction: number
  /** Consecutive refusals after which a session is closed (Postfix disconnects after 20 errors). */
  readonly refusalsPerSession: number
  /** If a limit delays a group for longer than this, bulk probes are postponed. */
  readonly soonMs: number
  /** A bulk probe that has waited in a group's queue for this time is postponed. */
  readonly queueMs: number
  /** A subject that a limit or guard has delayed for this time ends as unknown. */
  readonly guardWaitMs: number
  readonly rateWaitMs: number
  /** Subjects of one run that are processed concurrently. */
  readonly window: number
  /** Delay before the recheck of a refusal that one reply does not prove; 0 disables rechecks. */
  readonly recheckMs: number
  /**
   * Time for which idle connections are kept: of groups that allow several, and of those that allow
   * few.
   */
  readonly idleMs: number
  readonly idleScarceMs: number
  /**
   * Recipients of a domain, and share of missing ones among them, from which on an account is
   * stopped.
   */
  readonly dictionaryAsked: number
  readonly dictionaryShare: number
}

/**
 * Sources: the defaults of Postfix (2 to 20 connections, 20 errors) and of one recipient a second.
 */
export const DEFAULT_LIMITS: EmailLimits = {
  sessions: 1_200,
  liveSessions: 600,
  silentProbes: 32,
  silentMs: 2_000,
  quietGroups: 1_000,
  startConnections: 2,
  sendWithinMs: 5_000,
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
  /**
   * Token bucket: grants at most the recipients of a minute in any period of 60 s plus
   * `sendWithinMs`.
   */
  readonly bucket: { readonly perSecond: number; readonly burst: number }
  /** See `EmailLimits`. */
  readonly sendWithinMs: number
}

/** The limits of a group: its own, else those for all groups, else the provider's. */
export function limitsOf(limits: EmailLimits, group: string, provider: Provider): GroupLimits {
  const own = limits.groups?.[group]
  const perMinute =
    own?.recipientsPerMinute ?? limits.recipientsPerMinute ?? provider.recipientsPerMinute
  // At least two, if allowed: a recipient and an accept-all probe.
  const burst = Math.max(Math.min(2, perMinute), Math.floor(perMinute / 4))
  return {
    connections: own?.connections ?? limits.connectionsPerGroup ?? provider.connections,
    recipientsPerTransaction: Math.max(
      1,
      Math.min(limits.recipientsPerTransaction, provider.recipientsPerTransaction, burst - 1),
    ),
    bucket: {
      perSecond: Math.max(perMinute - burst, 1) / (60 + limits.sendWithinMs / 1_000),
      burst,
    },
    sendWithinMs: limits.sendWithinMs,
  }
}
