import { setTimeout as wait } from 'node:timers/promises'
import { cancelLabBatch, startCalls, submitBatch, type Names } from './load.ts'
import type { Scenario } from './scenario.ts'

/**
 * Domains alternate: the mail host of an even one replies at once, that of an odd one is silent.
 */
const DOMAINS = 1_000_000
const INTERNET = { bulkDomains: { count: DOMAINS, kinds: ['no-tls', 'silent'] } } as const

/**
 * A name shared by many records is answered from the cache, so each name is used once. Calls have
 * those below `ROWS_FROM`.
 */
const QUICK: Names = {
  call: (no) => `user${no}@d${(2 * no) % ROWS_FROM}.example`,
  row: (batchNo, row) => `user${row}@d${(ROWS_FROM + 40 * batchNo + 2 * row) % DOMAINS}.example`,
}
const ROWS_FROM = 100_000

const LASTS_MS = 20_000

/** Long enough for all known addresses. */
const ASKING_MS = 4_000

/** Calls a second that an account sends to tarpits, its full rate, besides a batch. */
const FLOOD_A_SECOND = 50
const TARPIT_RECORDS = 500

/** Hosts of the simulated internet that keep a client waiting as long as it allows. */
const TARPITS = ['tarpit', 'dripping-banner', 'ehlo-drips', 'rcpt-drips', 'silent-at-rcpt']

function tarpitAddress(no: number): string {
  const kind = TARPITS[(no / 2) % TARPITS.length]
  return no % 2 === 0 && kind !== undefined
    ? `user${no}@smtp-${kind}.example`
    : `user${no}@d${(2 * no + 1) % DOMAINS}.example`
}

/**
 * One account calls hosts that never finish, at its full rate and in a batch that it finally
 * cancels.
 */
export const tarpits: Scenario = {
  what: 'an account sends 50 calls a second and a batch to tarpits, for 20 s',
  internet: INTERNET,
  names: QUICK,
  happen: async ({ entrance, other, runsBefore }) => {
    const addressOf = (no: number): string => tarpitAddress(no + runsBefore * ROWS_FROM)
    const emails = Array.from({ length: TARPIT_RECORDS }, (_, row) => addressOf(row))
    const batch = await submitBatch(entrance, other, emails)
    const flood = startCalls(entrance, [other], addressOf, FLOOD_A_SECOND)
    await wait(LASTS_MS)
    const canceled = await cancelLabBatch(entrance, batch)
    return { calls: await flood.stop(), batches: [canceled] }
  },
}

/** Addresses that are asked about again and again, so that their answers are in the cache. */
const KNOWN_COUNT = 20

function knownAddress(no: number): string {
  return `known@d${DOMAINS - 2 * (1 + (no % KNOWN_COUNT))}.example`
}

/**
 * The resolver does not reply for a while; calls that ask it then get an outcome that says so, and
 * are not charged. Every other call is about an address that is known, and must not notice.
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
  prepare: async ({ entrance, other }) => {
    const asking = startCalls(entrance, [other], knownAddress)
    await wait(ASKING_MS)
    return { calls: await asking.stop() }
  },
  happen: async ({ nameServer }) => {
    nameServer?.fallSilent()
    await wait(LASTS_MS)
    nameServer?.answerAgain()
    return undefined
  },
}
