import type { Outcomes } from '@plumbline/contract/score'
import { soakSize } from '@plumbline/testkit/soak'
import { describe, expect, it } from 'vitest'
import { domain, email, ip, phone } from './outcome-fixture.ts'
import { createScorer } from './score.ts'
import { ageSignal, riskSignal, threatSignal } from '@plumbline/contract/signal'
import { packagedWeights } from './weights.ts'

const weights = packagedWeights()
const scorer = createScorer(weights).fraud

const vpn = riskSignal('ip.anonymity', 'vpn')
const tor = riskSignal('ip.anonymity', 'tor')
const datacenter = riskSignal('ip.anonymity', 'datacenter')
const proxy = riskSignal('ip.anonymity', 'public_proxy')

/** Records drawn at random for each property. */
const RECORDS = soakSize(100_000, 10_000)

describe(`${RECORDS} random records`, () => {
  const random = createRandom(20261121)

  it('give a score of 0 to 100 whose reasons add up to it, whatever their order', () => {
    const faults: unknown[] = []
    for (let run = 0; run < RECORDS; run++) {
      const outcomes = build(draw(random))
      const { score, reasons } = scorer(outcomes)
      const sum = reasons.reduce((points, { contribution }) => points + contribution, 0)
      const sound = Number.isInteger(score) && score >= 0 && score <= 100 && sum === score
      const ordered = JSON.stringify(scorer(reversed(outcomes)).reasons) === JSON.stringify(reasons)
      if (!sound || !ordered) faults.push(outcomes)
    }
    expect(faults).toEqual([])
  })

  it('never fall when one property turns towards risk', () => {
    const faults: unknown[] = []
    for (let run = 0; run < RECORDS; run++) {
      const levels = draw(random)
      const place = Math.floor(random() * levels.length)
      const worse = levels.with(place, (levels[place] ?? 0) + 1)
      const [before, after] = [scorer(build(levels)).score, scorer(build(worse)).score]
      if (after < before) faults.push({ before, after, levels, place })
    }
    expect(faults).toEqual([])
  })

  it('do not move when a harmless fact becomes unknown', () => {
    const faults: unknown[] = []
    for (let run = 0; run < RECORDS; run++) {
      const outcomes = build(draw(random))
      const [known, unknown] = [scorer(outcomes).score, scorer(withoutHarmless(outcomes)).score]
      if (known !== unknown) faults.push({ known, unknown, outcomes })
    }
    expect(faults).toEqual([])
  })

  it('never fall under any weights of an operator', () => {
    for (let table = 0; table < 20; table++) {
      const groups = Object.fromEntries(
        Object.entries(weights.groups).map(([group, rows]) => [
          group,
          Object.fromEntries(
            Object.keys(rows).map((code) => [
              code,
              { weight: Math.floor(random() * 100), reason: '' },
            ]),
          ),
        ]),
      )
      const own = { ...steps(groups), version: 'own' }
      for (let run = 0; run < 1_000; run++) {
        const levels = draw(random)
        const place = Math.floor(random() * levels.length)
        const worse = levels.with(place, (levels[place] ?? 0) + 1)
        const score = createScorer(own).fraud
        expect(score(build(worse)).score).toBeGreaterThanOrEqual(score(build(levels)).score)
      }
    }
  })
})

/**
 * Sorts weights so that they rise with the steps of age and lists, as the weights of an operator
 * must.
 */
function steps<T extends Record<string, Record<string, { weight: number; reason: string }>>>(
  groups: T,
): { groups: T } {
  for (const [group, codes] of [
    ['domain.age', ['under_365_days', 'under_90_days', 'under_30_days', 'under_7_days']],
    ['ip.reputation', ['listed_3', 'listed_4', 'listed_5', 'listed_6']],
  ] as const) {
    const rows = groups[group]
    const sorted = codes.map((code) => rows?.[code]?.weight ?? 0).toSorted((a, b) => a - b)
    codes.forEach((code, at) => {
      const row = rows?.[code]
      if (row !== undefined) row.weight = sorted[at] ?? 0
    })
  }
  return { groups }
}

/** Number of properties of a record that can indicate risk; each has a level, and 0 is harmless. */
const PROPERTIES = 33

function draw(random: () => number): number[] {
  return Array.from({ length: PROPERTIES }, () => (random() < 0.3 ? Math.floor(random() * 5) : 0))
}

function build(levels: readonly number[]): Required<Outcomes> {
  const at = (place: number): number => levels[place] ?? 0
  const on = (place: number): boolean => at(place) > 0
  const ipSignals = [
    ...(on(10) ? [vpn] : []),
    ...(on(11) ? [tor] : []),
    ...(on(12) ? [datacenter] : []),
    ...(on(13) ? [proxy] : []),
    ...(on(14) ? [riskSignal('ip.anonymity', 'private_relay')] : []),
    ...(on(32) ? [riskSignal('ip.reputation', 'hijacked')] : []),
    ...(on(15) ? [threatSignal(at(15) + 2)] : []),
  ]
  const ageDays = [4000, 300, 60, 20, 3][Math.min(at(16), 4)] ?? 3
  const domainSignals = [
    ...[ageSignal(ageDays)].filter((signal) => signal !== undefined),
    ...(on(17) ? [riskSignal('domain.dns', 'broken')] : []),
    ...(on(18) ? [riskSignal('domain.dns', 'no_mx')] : []),
    ...(on(19) ? [riskSignal('domain.disposable', 'disposable')] : []),
    ...(on(20) ? [riskSignal('domain.parked', 'parked')] : []),
    ...(on(21) ? [riskSignal('domain.registration', 'expired')] : []),
    ...(on(27) ? [riskSignal('domain.registration', 'redemption')] : []),
    ...(on(28) ? [riskSignal('domain.registration', 'hold')] : []),
    ...(on(29) ? [riskSignal('domain.registration', 'unregistered')] : []),
    ...(on(30) ? [riskSignal('domain.dns', 'no_spf_no_dmarc')] : []),
  ]
  const locals = ['ann.lee', 'x7k2m9q4zt']
  const local = `${locals[Math.min(at(25), 1)]}${on(22) ? '+x' : ''}`
  return {
    email: email({
      address: `${local}@firm.example`,
      syntaxValid: !on(26),
      acceptsMail: !on(0),
      mailbox: on(1) ? 'missing' : 'accepted',
      catchAll: on(2),
      disposable: on(3),
      roleAccount: on(4),
      freeProvider: on(5),
      spamTrap: on(6),
    }),
    phone: phone({
      valid: !on(7),
      lineType: on(8) ? 'voip' : 'mobile',
      numberType: on(31) ? 'premium_rate' : null,
      roaming: on(9),
      countryCode: on(23) ? 'FR' : 'GB',
    }),
    ip: ip(ipSignals),
    domain: domain(domainSignals, {
      ageDays,
      // Another name un-merges groups; another country's name disagrees with the address too.
      domain: ['firm.example', 'other.example', 'other.fr'][Math.min(at(24), 2)] ?? 'other.fr',
    }),
  }
}

/** The same outcomes with every signal and every part in reverse order. */
function reversed({ email, phone, ip, domain }: Required<Outcomes>): Outcomes {
  return {
    domain: { ...domain, facts: { ...domain.facts, signals: domain.facts.signals.toReversed() } },
    ip: { ...ip, facts: { ...ip.facts, signals: ip.facts.signals.toReversed() } },
    phone,
    email,
  }
}

/** The same outcomes with every harmless fact that can be unknown made unknown. */
function withoutHarmless({ email, phone, ip, domain }: Required<Outcomes>): Outcomes {
  const orNull = (value: boolean | null): boolean | null => (value === true ? true : null)
  return {
    email: {
      ...email,
      facts: {
        ...email.facts,
        acceptsMail: email.facts.acceptsMail === false ? false : null,
        mxFound: null,
        smtpValid: null,
        mailbox: email.facts.mailbox === 'accepted' ? 'unknown' : email.facts.mailbox,
        catchAll: orNull(email.facts.catchAll),
      },
    },
    phone: {
      ...phone,
      facts: {
        ...phone.facts,
        reachable: null,
        ported: null,
        roaming: orNull(phone.facts.roaming),
        countryCode: phone.facts.countryCode === 'GB' ? null : phone.facts.countryCode,
      },
    },
    ip: {
      ...ip,
      facts: {
        ...ip.facts,
        isVpn: orNull(ip.facts.isVpn),
        isTor: orNull(ip.facts.isTor),
        isProxy: orNull(ip.facts.isProxy),
        isDatacenter: orNull(ip.facts.isDatacenter),
      },
    },
    domain: {
      ...domain,
      facts: {
        ...domain.facts,
        registered: null,
        dnsHealthy: null,
        parked: null,
        ageDays: (domain.facts.ageDays ?? 0) > 365 ? null : domain.facts.ageDays,
      },
    },
  }
}

/** Mulberry32: the same numbers for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
