import { setTimeout as wait } from 'node:timers/promises'
import { cancelLabBatch, startCalls, submitBatch, type Names } from './load.ts'
import type { Scenario } from './scenario.ts'

/**
 * Domains alternate: the mail host of an even one replies at once, that of an odd one is silent.
 */
const DOMAINS = 1_000_000
const INTERNET = { bulkDomains: { count: DOMAINS, kinds: ['no-tls', 'silent'] } } as const

/**
 * Addresses at hosts that reply at once. Each domain is used once, since results are cached; calls have
 * numbers below `ROWS_FROM`, batches those from there.
 */
const QUICK: Names = {
  call: (no) => `user${no}@d${(2 * no) % ROWS_FROM}.example`,
  row: (batchNo, row) => `user${row}@d${(ROWS_FROM + 40 * batchNo + 2 * row) % DOMAINS}.example`,
}
const ROWS_FROM = 100_000

const FAULT_MS = 20_000

/** Milliseconds in which every known address is probed and cached. */
const WARM_UP_MS = 4_000

/** Calls a second that an account sends to tarpits: the full rate of an account. */
const FLOOD_A_SECOND = 50
const TARPIT_RECORDS = 500

/** Faults of simulated mail hosts that delay a session for as long as the client waits. */
const TARPITS = ['tarpit', 'dripping-banner', 'ehlo-drips', 'rcpt-drips', 'silent-at-rcpt']

function tarpitAddress(no: number): string {
  const kind = TARPITS[(no / 2) % TARPITS.length]
  return no % 2 === 0 && kind !== undefined
    ? `user${no}@smtp-${kind}.example`
    : `user${no}@d${(2 * no + 1) % DOMAINS}.example`
}

/**
 * One account has addresses checked whose hosts never complete a session: in single calls at its full
 * rate, and in a batch, which it cancels at the end.
 */
export const tarpits: Scenario = {
  what: 'an account sends 50 calls a second and a batch to tarpits, for 20 s',
  internet: INTERNET,
  names: QUICK,
  inject: async ({ loadBalancer, other, runsBefore }) => {
    const addressOf = (no: number): string => tarpitAddress(no + runsBefore * ROWS_FROM)
    const emails = Array.from({ length: TARPIT_RECORDS }, (_, row) => addressOf(row))
    const batch = await submitBatch(loadBalancer, other, emails)
    const flood = startCalls(loadBalancer, [other], addressOf, FLOOD_A_SECOND)
    await wait(FAULT_MS)
    const canceled = await cancelLabBatch(loadBalancer, batch)
    return { calls: await flood.stop(), batches: [canceled] }
  },
}

/** Addresses that are checked repeatedly, so that their results are in the cache. */
const KNOWN_COUNT = 20

function knownAddress(no: number): string {
  return `known@d${DOMAINS - 2 * (1 + (no % KNOWN_COUNT))}.example`
}

/**
 * The resolver does not reply for a while. Calls that need it get the reason `dns_unavailable`, and are
 * not charged; every second call is about a cached address, and must be answered as fast as before.
 */
export const resolverAway: Scenario = {
  what: 'the resolver silent for 20 s',
  internet: INTERNET,
  names: {
    ...QUICK,
    call: (no) => (no % 2 === 0 ? QUICK.call(no) : knownAddress((no - 1) / 2)),
  },
  isOther: ({ email }) => email.startsWith('known@'),
  env: { CHARGE_UNKNOWN: 'false' },
  prepare: async ({ loadBalancer, other }) => {
    const warmUp = startCalls(loadBalancer, [other], knownAddress)
    await wait(WARM_UP_MS)
    return { calls: await warmUp.stop() }
  },
  inject: async ({ nameServer }) => {
    nameServer?.fallSilent()
    await wait(FAULT_MS)
    nameServer?.answerAgain()
    return undefined
  },
}
