import { setTimeout as wait } from 'node:timers/promises'
import { cancelLabBatch, startCalls, submitBatch, type Names } from './load.ts'
import type { Scenario } from './scenario.ts'

/** Domains by turns: an even one's mail host answers at once, an odd one's stays silent. */
const DOMAINS = 100_000
const INTERNET = { bulkDomains: { count: DOMAINS, kinds: ['no-tls', 'silent'] } } as const

/**
 * Domains that many records share a second time are answered from memory: each name is asked for
 * once.
 */
const QUICK: Names = {
  call: (no) => `user${no}@d${(2 * no) % DOMAINS}.example`,
  row: (batchNo, row) => `user${row}@d${(20_000 + 40 * batchNo + 2 * row) % DOMAINS}.example`,
}

const LASTS_MS = 20_000

/** What an account sends to tarpits: its whole rate, and a batch. */
const FLOOD_A_SECOND = 50
const TARPIT_RECORDS = 500

/** Hosts of the simulated internet that keep whoever asks them for as long as he lets them. */
const TARPITS = ['tarpit', 'dripping-banner', 'ehlo-drips', 'rcpt-drips', 'silent-at-rcpt']

function tarpitAddress(no: number): string {
  const kind = TARPITS[(no / 2) % TARPITS.length]
  return no % 2 === 0 && kind !== undefined
    ? `user${no}@smtp-${kind}.example`
    : `user${no}@d${(2 * no + 1) % DOMAINS}.example`
}

/**
 * One account asks hosts that never come to an end, at its full rate and in a batch that it cancels
 * at last.
 */
export const tarpits: Scenario = {
  what: 'an account sends 50 calls a second and a batch to tarpits, for 20 s',
  internet: INTERNET,
  names: QUICK,
  happen: async ({ entrance, other }) => {
    const emails = Array.from({ length: TARPIT_RECORDS }, (_, row) => tarpitAddress(row))
    const batch = await submitBatch(entrance, other, emails)
    const flood = startCalls(entrance, [other], tarpitAddress, FLOOD_A_SECOND)
    await wait(LASTS_MS)
    const canceled = await cancelLabBatch(entrance, batch)
    return { calls: await flood.stop(), batches: [canceled] }
  },
}

/**
 * No name is found for a while; calls of then are told that nobody could be asked, and pay nothing.
 */
export const resolverAway: Scenario = {
  what: 'the resolver silent for 20 s',
  internet: INTERNET,
  names: QUICK,
  env: { CHARGE_UNKNOWN: 'false' },
  happen: async ({ nameServer }) => {
    nameServer?.fallSilent()
    await wait(LASTS_MS)
    nameServer?.answerAgain()
    return undefined
  },
}
