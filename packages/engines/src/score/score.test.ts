import type {
  DomainFacts,
  EmailFacts,
  IpFacts,
  Outcome,
  PhoneFacts,
  Signal,
} from '@plumbline/contract/outcome'
import { riskLevel } from '@plumbline/contract/results'
import type { Outcomes } from '@plumbline/contract/score'
import { describe, expect, it } from 'vitest'
import { looksRandom } from './random-local.ts'
import { createFraudScorer, riskOf } from './score.ts'
import { ageSignal, listedSignal, riskSignal } from './signal.ts'
import { overlayWeights, packagedWeights } from './weights.ts'

const weights = packagedWeights()
const scorer = createFraudScorer(weights)

const around = {
  kind: 'outcome',
  evidence: {},
  cached: false,
  checkedAt: '',
  durationMs: 0,
} as const

function email(
  facts: Partial<EmailFacts> = {},
  more: Partial<Outcome<'email'>> = {},
): Outcome<'email'> {
  const plain: EmailFacts = {
    address: 'ann.lee@firm.example',
    normalized: 'ann.lee@firm.example',
    domain: 'firm.example',
    syntaxValid: true,
    mxFound: true,
    acceptsMail: true,
    smtpValid: true,
    mailbox: 'accepted',
    catchAll: false,
    disposable: false,
    roleAccount: false,
    freeProvider: false,
    spamTrap: false,
    confidence: 'high',
  }
  return {
    ...around,
    status: 'deliverable',
    reason: 'accepted',
    facts: { ...plain, ...facts },
    ...more,
  }
}

function phone(
  facts: Partial<PhoneFacts> = {},
  more: Partial<Outcome<'phone'>> = {},
): Outcome<'phone'> {
  const plain: PhoneFacts = {
    number: '+442079460958',
    valid: true,
    reachable: true,
    country: 'United Kingdom',
    countryCode: 'GB',
    nationalFormat: null,
    lineType: 'mobile',
    numberType: 'mobile',
    carrier: null,
    carrierCountry: null,
    ported: false,
    roaming: false,
  }
  return {
    ...around,
    status: 'answered',
    reason: 'hlr_connected',
    facts: { ...plain, ...facts },
    ...more,
  }
}

function ip(signals: readonly Signal[] = [], facts: Partial<IpFacts> = {}): Outcome<'ip'> {
  const plain: IpFacts = {
    ip: '192.0.2.1',
    valid: true,
    country: null,
    countryCode: 'GB',
    region: null,
    city: null,
    latitude: null,
    longitude: null,
    timezone: null,
    isp: null,
    asn: null,
    isVpn: signals.some(({ code }) => code === 'vpn'),
    isProxy: signals.some(({ code }) => code === 'public_proxy'),
    isTor: signals.some(({ code }) => code === 'tor'),
    isDatacenter: signals.some(({ code }) => code === 'datacenter'),
    isRelay: false,
    threatScore: riskOf(signals, weights),
    signals,
  }
  return { ...around, status: 'answered', reason: 'located', facts: { ...plain, ...facts } }
}

function domain(
  signals: readonly Signal[] = [],
  facts: Partial<DomainFacts> = {},
): Outcome<'domain'> {
  const plain: DomainFacts = {
    domain: 'firm.example',
    valid: true,
    registered: true,
    registrar: null,
    createdDate: null,
    expiryDate: null,
    ageDays: 4000,
    dnsHealthy: true,
    mxFound: true,
    spfFound: true,
    dmarcFound: true,
    disposable: false,
    parked: false,
    safetyScore: 100 - riskOf(signals, weights),
    signals,
  }
  return { ...around, status: 'answered', reason: 'registered', facts: { ...plain, ...facts } }
}

function aged(days: number, name = 'firm.example'): Outcome<'domain'> {
  const signal = ageSignal(days)
  return domain(signal === undefined ? [] : [signal], { ageDays: days, domain: name })
}

const vpn = riskSignal('ip.anonymity', 'vpn')
const tor = riskSignal('ip.anonymity', 'tor')
const datacenter = riskSignal('ip.anonymity', 'datacenter')
const proxy = riskSignal('ip.anonymity', 'public_proxy')

describe('worked examples', () => {
  const voip = phone({ lineType: 'voip', numberType: 'voip' })
  const examples: [string, Outcomes, number][] = [
    ['nothing known', {}, 0],
    ['a plain record', { email: email(), phone: phone(), ip: ip(), domain: domain() }, 0],
    ['free mail', { email: email({ freeProvider: true }) }, 4],
    [
      'free, role, accept-all',
      { email: email({ freeProvider: true, roleAccount: true, catchAll: true }) },
      21,
    ],
    ['phone and IP of two countries', { phone: phone({ countryCode: 'FR' }), ip: ip() }, 25],
    ['data centre', { ip: ip([datacenter]) }, 35],
    ['VPN', { ip: ip([vpn]) }, 45],
    ['VPN and internet number', { ip: ip([vpn]), phone: voip }, 64],
    ['VPN hides the country', { ip: ip([vpn]), phone: phone({ countryCode: 'FR' }) }, 45],
    ['new name, data centre', { domain: aged(20), ip: ip([datacenter]) }, 70],
    ['newest name, internet number', { domain: aged(3), phone: voip }, 78],
    ['Tor', { ip: ip([tor]) }, 70],
    ['disposable', { email: email({ disposable: true }) }, 72],
    ['proxy and disposable', { email: email({ disposable: true }), ip: ip([proxy]) }, 89],
    ['malformed address', { email: email({ syntaxValid: false, domain: null }) }, 85],
  ]
  it.each(examples)('%s', (_, outcomes, score) => {
    expect(scorer(outcomes).score).toBe(score)
  })

  it('tells the bands apart where the table says', () => {
    expect([0, 30, 31, 69, 70, 100].map(riskLevel)).toEqual([
      'low',
      'low',
      'medium',
      'medium',
      'high',
      'high',
    ])
  })

  it('puts a small sign alone in low, a hidden address in medium, a throwaway one in high', () => {
    const level = (outcomes: Outcomes): string => riskLevel(scorer(outcomes).score)
    expect(level({ email: email({ roleAccount: true }) })).toBe('low')
    expect(level({ ip: ip([vpn]) })).toBe('medium')
    expect(level({ email: email({ disposable: true }) })).toBe('high')
  })
})

describe('the email domain is the supplied domain', () => {
  const throwaway = riskSignal('domain.disposable', 'disposable')
  const noMx = riskSignal('domain.dns', 'no_mx')

  it('counts a throwaway name once', () => {
    const same = { email: email({ disposable: true }), domain: domain([throwaway]) }
    expect(scorer(same).score).toBe(72)
    expect(scorer(same).reasons.map(({ part, contribution }) => [part, contribution])).toEqual([
      ['domain', 72],
      ['email', 0],
    ])
  })

  it('counts a name without mail once', () => {
    const outcomes = { email: email({ acceptsMail: false }), domain: domain([noMx]) }
    expect(scorer(outcomes).score).toBe(72)
  })

  it('knows a subdomain and another spelling as the same name', () => {
    const address = email({ domain: 'mail.firm.example', disposable: true })
    expect(
      scorer({ email: address, domain: domain([throwaway], { domain: 'FIRM.example.' }) }).score,
    ).toBe(72)
    const german = email({ domain: 'xn--bcher-kva.example' })
    expect(scorer({ email: german, domain: domain([], { domain: 'Bücher.example' }) }).score).toBe(
      0,
    )
  })

  it('counts two throwaway names twice, and that they differ', () => {
    const other = domain([throwaway], { domain: 'other.example' })
    const score = scorer({ email: email({ disposable: true }), domain: other })
    expect(score.score).toBe(Math.round(100 * (1 - 0.28 * 0.28 * 0.9)))
    expect(score.reasons.map(({ code }) => code)).toContain('email_domain_mismatch')
  })
})

describe('100,000 random records', () => {
  const random = createRandom(20261121)

  it('give a score of 0 to 100 whose reasons add up to it, whatever their order', () => {
    for (let run = 0; run < 100_000; run++) {
      const outcomes = build(draw(random))
      const { score, reasons } = scorer(outcomes)
      const sum = reasons.reduce((points, { contribution }) => points + contribution, 0)
      if (!(Number.isInteger(score) && score >= 0 && score <= 100 && sum === score)) {
        expect.fail(`score ${score}, reasons ${sum}: ${JSON.stringify(outcomes)}`)
      }
      const turned = scorer(turn(outcomes))
      if (JSON.stringify(turned.reasons) !== JSON.stringify(reasons)) {
        expect.fail(`depends on order: ${JSON.stringify(outcomes)}`)
      }
    }
  })

  it('never fall when one thing turns towards risk', () => {
    for (let run = 0; run < 100_000; run++) {
      const levels = draw(random)
      const place = Math.floor(random() * levels.length)
      const worse = levels.with(place, (levels[place] ?? 0) + 1)
      const [before, after] = [scorer(build(levels)).score, scorer(build(worse)).score]
      if (after < before) expect.fail(`${before} fell to ${after}: ${levels.join()} at ${place}`)
    }
  })

  it('do not move when a harmless fact becomes unknown', () => {
    for (let run = 0; run < 100_000; run++) {
      const outcomes = build(draw(random))
      const [known, unknown] = [scorer(outcomes).score, scorer(forget(outcomes)).score]
      if (known !== unknown) expect.fail(`${known} became ${unknown}: ${JSON.stringify(outcomes)}`)
    }
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
        const score = createFraudScorer(own)
        expect(score(build(worse)).score).toBeGreaterThanOrEqual(score(build(levels)).score)
      }
    }
  })
})

it('an unknown part is neutral and stands in the coverage', () => {
  const silent = email(
    { mxFound: null, acceptsMail: null, smtpValid: null, mailbox: 'unknown', catchAll: null },
    { status: 'unknown', reason: 'timeout' },
  )
  const { score, coverage, modelVersion } = scorer({ email: silent, ip: ip([vpn]) })
  expect(score).toBe(45)
  expect(coverage).toEqual({ supplied: ['email', 'ip'], resolved: ['ip'], unknown: ['email'] })
  expect(modelVersion).toBe(weights.version)
})

it('a signal that the table does not have is a bug', () => {
  expect(() => riskOf([{ group: 'ip.anonymity', code: 'toString' }], weights)).toThrow(
    'the weights table has no row ip.anonymity.toString',
  )
  expect(() => riskOf([{ group: '__proto__', code: 'x' }], weights)).toThrow('no row')
})

it('every code stands once for a part, so that a reason names one row', () => {
  const names = Object.entries(weights.groups).flatMap(([group, rows]) =>
    Object.keys(rows).map((code) => `${group.split('.')[0]} ${code}`),
  )
  expect(new Set(names).size).toBe(names.length)
})

it('ages step at 7, 30, 90 and 365 days', () => {
  const codes = [0, 6, 7, 29, 30, 89, 90, 364, 365].map((days) => ageSignal(days)?.code)
  expect(codes).toEqual([
    'under_7_days',
    'under_7_days',
    'under_30_days',
    'under_30_days',
    'under_90_days',
    'under_90_days',
    'under_365_days',
    'under_365_days',
    undefined,
  ])
  expect(ageSignal(null)).toBeUndefined()
  expect([2, 3, 6, 40].map((lists) => listedSignal(lists)?.code)).toEqual([
    undefined,
    'listed_3',
    'listed_6',
    'listed_6',
  ])
})

it('generated local parts are told from names', () => {
  const random = ['x7k2m9q4zt', 'a1b2c3d4e5f6', 'qwrtpsdfgh', 'ab12cd34ef56']
  const names = [
    'christopherson',
    'ann.lee',
    'john19841984',
    'info',
    'maximilian2024',
    'wolfgang.schmidt',
  ]
  expect(random.filter((local) => !looksRandom(local))).toEqual([])
  expect(names.filter(looksRandom)).toEqual([])
})

describe('an operator file', () => {
  it('lays its rows over the packaged ones', () => {
    const text =
      '{"version":"acme-1","groups":{"ip.anonymity":{"vpn":10,"tor":{"weight":80,"reason":"ours"}}}}'
    const own = overlayWeights(text, 'own.json')
    expect(riskOf([vpn], own)).toBe(10)
    expect(riskOf([tor], own)).toBe(80)
    expect(riskOf([proxy], own)).toBe(62)
    expect(riskOf([vpn], weights)).toBe(45)
    expect(createFraudScorer(own)({}).modelVersion).toBe('acme-1')
  })

  it('is refused with every fault at once', () => {
    const text =
      '{"extra":1,"groups":{"ip.odd":{},"ip.anonymity":{"vpn":120,"tro":1,"tor":{"weight":"9"}},"email.free":3}}'
    expect(() => overlayWeights(text, 'own.json')).toThrow(
      /own\.json has 7 faults: .*"extra".*version.*ip\.odd.*vpn has the weight 120.*tro is none of.*tor has the weight "9".*email\.free is not an object/,
    )
    expect(() => overlayWeights('{', 'own.json')).toThrow(/not JSON/)
    expect(() => overlayWeights('{"version":"1","groups":{"__proto__":{}}}', 'own.json')).toThrow(
      '1 faults',
    )
  })
})

/** Makes weights rise with the steps of age and lists, as an operator's have to. */
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

/** One level for each thing that can turn towards risk; 0 is harmless. */
const THINGS = 25

function draw(random: () => number): number[] {
  return Array.from({ length: THINGS }, () => (random() < 0.3 ? Math.floor(random() * 5) : 0))
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
    ...[listedSignal(at(15) + 1)].filter((signal) => signal !== undefined),
  ]
  const ageDays = [4000, 300, 60, 20, 3][Math.min(at(16), 4)] ?? 3
  const domainSignals = [
    ...[ageSignal(ageDays)].filter((signal) => signal !== undefined),
    ...(on(17) ? [riskSignal('domain.dns', 'broken')] : []),
    ...(on(18) ? [riskSignal('domain.dns', 'no_mx')] : []),
    ...(on(19) ? [riskSignal('domain.disposable', 'disposable')] : []),
    ...(on(20) ? [riskSignal('domain.parked', 'parked')] : []),
    ...(on(21) ? [riskSignal('domain.registration', 'expired')] : []),
  ]
  return {
    email: email({
      address: on(22) ? 'ann.lee+x@firm.example' : 'ann.lee@firm.example',
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

/** The same outcomes with every signal and every part in the other order. */
function turn({ email, phone, ip, domain }: Required<Outcomes>): Outcomes {
  return {
    domain: { ...domain, facts: { ...domain.facts, signals: domain.facts.signals.toReversed() } },
    ip: { ...ip, facts: { ...ip.facts, signals: ip.facts.signals.toReversed() } },
    phone,
    email,
  }
}

/** The same outcomes with every harmless fact that can be unknown made unknown. */
function forget({ email, phone, ip, domain }: Required<Outcomes>): Outcomes {
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
