/**
 * Counts of everything that the servers received, for tests of the client's limits. Times are
 * milliseconds since the Unix epoch.
 */
export interface Counters {
  dnsQueries: number
  readonly smtp: Map<string, HostCounters>
  /** RCPT commands for each recipient, as written; null if not counted. */
  readonly recipients: Map<string, number> | null
  readonly registries: Map<string, QueryCounters>
  readonly hlr: HlrCounters
  /** Violations of a protocol by the client, by kind. */
  readonly violations: Map<string, number>
}

/** Counts of one mail host. */
export interface HostCounters {
  sessions: number
  open: number
  mostOpen: number
  tlsSessions: number
  /** DATA or BDAT commands: each would have sent a message. */
  dataCommands: number
  readonly sessionTimes: Times
  readonly rcptTimes: Times
}

/** Counts of one registry's server; `refused` queries exceeded its rate limit. */
export interface QueryCounters {
  queries: number
  refused: number
  open: number
  mostOpen: number
  readonly times: Times
}

/** Counts of all HLR providers; `refused` requests got a status of 400 or more. */
export interface HlrCounters {
  requests: number
  refused: number
  /** Paid queries for each number, and their price in thousandths of the provider's currency. */
  readonly perNumber: Map<string, { queries: number; costMilli: number }>
  costMilli: number
}

/** Counters at zero. */
export function createCounters(countsRecipients: boolean): Counters {
  return {
    dnsQueries: 0,
    smtp: new Map(),
    recipients: countsRecipients ? new Map() : null,
    registries: new Map(),
    hlr: { requests: 0, refused: 0, perNumber: new Map(), costMilli: 0 },
    violations: new Map(),
  }
}

/** The counters of a mail host, created on first use. */
export function hostCounters(counters: Counters, host: string): HostCounters {
  let found = counters.smtp.get(host)
  if (found === undefined) {
    found = {
      sessions: 0,
      open: 0,
      mostOpen: 0,
      tlsSessions: 0,
      dataCommands: 0,
      sessionTimes: createTimes(),
      rcptTimes: createTimes(),
    }
    counters.smtp.set(host, found)
  }
  return found
}

/** The counters of a registry's server, created on first use. */
export function queryCounters(counters: Counters, server: string): QueryCounters {
  let found = counters.registries.get(server)
  if (found === undefined) {
    found = { queries: 0, refused: 0, open: 0, mostOpen: 0, times: createTimes() }
    counters.registries.set(server, found)
  }
  return found
}

/** Counts a RCPT command. */
export function countRecipient(
  { recipients }: Counters,
  host: HostCounters,
  address: string,
): void {
  host.rcptTimes.add(Date.now())
  recipients?.set(address, (recipients.get(address) ?? 0) + 1)
}

/** Counts a violation of a protocol by the client. */
export function countViolation(counters: Counters, what: string): void {
  counters.violations.set(what, (counters.violations.get(what) ?? 0) + 1)
}

/** Timestamps in ascending order. */
export interface Times {
  readonly count: () => number
  readonly add: (atMs: number) => void
  /** The largest number within any window of this length. */
  readonly mostWithin: (windowMs: number) => number
  /** The number within the window that ends now. */
  readonly within: (windowMs: number, nowMs: number) => number
  readonly toJSON: () => number[]
}

/** Timestamps stored in eight bytes each. */
export function createTimes(): Times {
  let values = new Float64Array(16)
  let count = 0
  const at = (index: number): number => values[index] ?? 0
  return {
    count: () => count,
    add: (atMs) => {
      if (count === values.length) {
        const grown = new Float64Array(count * 2)
        grown.set(values)
        values = grown
      }
      values[count++] = atMs
    },
    mostWithin: (windowMs) => {
      let most = 0
      let first = 0
      for (let last = 0; last < count; last++) {
        while (at(last) - at(first) >= windowMs) first++
        most = Math.max(most, last - first + 1)
      }
      return most
    },
    within: (windowMs, nowMs) => {
      let found = 0
      for (let i = count - 1; i >= 0 && nowMs - at(i) < windowMs; i--) found++
      return found
    },
    toJSON: () => Array.from(values.subarray(0, count)),
  }
}

/**
 * Counters as sent to another process: records in place of maps, arrays in place of times; recipients
 * are sent separately.
 */
export interface CountersJson {
  readonly dnsQueries: number
  readonly smtp: Readonly<
    Record<
      string,
      Omit<HostCounters, 'sessionTimes' | 'rcptTimes'> & {
        sessionTimes: number[]
        rcptTimes: number[]
      }
    >
  >
  readonly registries: Readonly<Record<string, Omit<QueryCounters, 'times'> & { times: number[] }>>
  readonly hlr: Omit<HlrCounters, 'perNumber'> & {
    perNumber: Record<string, { queries: number; costMilli: number }>
  }
  readonly violations: Readonly<Record<string, number>>
}

/** Totals of all servers. */
export interface Totals {
  /** RCPT commands. */
  readonly probes: number
  /** Open connections to mail hosts. */
  readonly open: number
  /** Paid HLR queries. */
  readonly bought: number
}

/** The current totals of the counters. */
export function totalsOf({ smtp, hlr }: Counters): Totals {
  let [probes, open] = [0, 0]
  for (const host of smtp.values()) {
    probes += host.rcptTimes.count()
    open += host.open
  }
  return { probes, open, bought: hlr.perNumber.size }
}

/** A copy of the counters as plain data. */
export function countersJson(counters: Counters): CountersJson {
  const smtp = [...counters.smtp].map(([host, { sessionTimes, rcptTimes, ...rest }]) => {
    return [
      host,
      { ...rest, sessionTimes: sessionTimes.toJSON(), rcptTimes: rcptTimes.toJSON() },
    ] as const
  })
  const registries = [...counters.registries].map(([server, { times, ...rest }]) => {
    return [server, { ...rest, times: times.toJSON() }] as const
  })
  return {
    dnsQueries: counters.dnsQueries,
    smtp: Object.fromEntries(smtp),
    registries: Object.fromEntries(registries),
    hlr: { ...counters.hlr, perNumber: Object.fromEntries(counters.hlr.perNumber) },
    violations: Object.fromEntries(counters.violations),
  }
}
