import type { Outcome } from '@plumbline/contract/outcome'
import { riskLevel } from '@plumbline/contract/results'
import type { Outcomes } from '@plumbline/contract/score'
import { describe, expect, it } from 'vitest'
import { domain, email, ip, phone } from './outcome-fixture.ts'
import { looksRandom } from './random-local.ts'
import { createScorer, riskOf } from './score.ts'
import { ageSignal, riskSignal, SIGNALS, threatSignal } from '@plumbline/contract/signal'
import { overlayWeights, packagedWeights } from './weights.ts'

const weights = packagedWeights()
const scorer = createScorer(weights).fraud

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

  it('has the risk levels of the table', () => {
    expect([0, 30, 31, 69, 70, 100].map(riskLevel)).toEqual([
      'low',
      'low',
      'medium',
      'medium',
      'high',
      'high',
    ])
  })

  it('is low for a weak signal alone, medium for an anonymous address, high for a disposable one', () => {
    const level = (outcomes: Outcomes): string => riskLevel(scorer(outcomes).score)
    expect(level({ email: email({ roleAccount: true }) })).toBe('low')
    expect(level({ ip: ip([vpn]) })).toBe('medium')
    expect(level({ email: email({ disposable: true }) })).toBe('high')
  })
})

describe('the email domain is the supplied domain', () => {
  const throwaway = riskSignal('domain.disposable', 'disposable')
  const noMx = riskSignal('domain.dns', 'no_mx')

  it('counts a disposable domain once', () => {
    const same = { email: email({ disposable: true }), domain: domain([throwaway]) }
    expect(scorer(same).score).toBe(72)
    expect(scorer(same).reasons.map(({ part, contribution }) => [part, contribution])).toEqual([
      ['domain', 72],
      ['email', 0],
    ])
  })

  it('counts a domain without mail once', () => {
    const outcomes = { email: email({ acceptsMail: false }), domain: domain([noMx]) }
    expect(scorer(outcomes).score).toBe(72)
  })

  it('recognizes a subdomain and another spelling as the same domain', () => {
    const address = email({ domain: 'mail.firm.example', disposable: true })
    expect(
      scorer({ email: address, domain: domain([throwaway], { domain: 'FIRM.example.' }) }).score,
    ).toBe(72)
    const german = email({ domain: 'xn--bcher-kva.example' })
    expect(scorer({ email: german, domain: domain([], { domain: 'Bücher.example' }) }).score).toBe(
      0,
    )
  })

  it('counts two disposable domains twice, and that they differ', () => {
    const other = domain([throwaway], { domain: 'other.example' })
    const score = scorer({ email: email({ disposable: true }), domain: other })
    expect(score.score).toBe(Math.round(100 * (1 - 0.28 * 0.28 * 0.9)))
    expect(score.reasons.map(({ code }) => code)).toContain('email_domain_mismatch')
  })
})

it('scores thousands of texts that are no names as fast as names', () => {
  const letters = Array.from({ length: 980 }, (_, at) => String.fromCharCode(0x4e00 + at * 7))
  const text = letters.join('')
  const malformed = { email: email({ domain: text }), domain: domain([], { domain: `${text}.` }) }
  const beganMs = performance.now()
  // Converted, they would take minutes.
  for (let count = 0; count < 20_000; count++) scorer(malformed)
  expect(performance.now() - beganMs).toBeLessThan(20_000)
  expect(scorer(malformed).score).toBe(0)
})

describe('what an address and a name look like', () => {
  const codesOf = (outcomes: Outcomes): string[] => scorer(outcomes).reasons.map(({ code }) => code)

  it.each<[string, string[]]>([
    ['ann.lee@firm.example', []],
    ['ann+shop@firm.example', ['plus_tag']],
    ['+ann@firm.example', []],
    ['ann@fi+rm.example', []],
    ['x7k2q9w4t1@firm.example', ['random_local']],
    ['aqwrtpsdfeio@firm.example', ['random_local']],
    ['no address', []],
  ])('the local part of %s has the signals %j', (address, codes) => {
    expect(codesOf({ email: email({ address }) })).toEqual(codes)
  })

  it.each<[string, string[]]>([
    ['firm.de', ['domain_country_mismatch']],
    ['firm.co.uk', []],
    ['firm.io', []],
    ['firm.example', []],
  ])('%s, seen from an address in Great Britain, has the signals %j', (name, codes) => {
    expect(codesOf({ ip: ip(), domain: domain([], { domain: name }) })).toEqual(codes)
  })

  it.each<[string, number | null, Partial<Outcome<'ip'>['facts']>, boolean]>([
    ['a new name behind a VPN', 3, { isVpn: true }, true],
    ['a new name in a data centre', 3, { isDatacenter: true }, true],
    ['a new name behind a proxy', 3, { isProxy: true }, true],
    ['a new name from Tor', 3, { isTor: true }, true],
    ['a new name', 3, {}, false],
    ['the oldest new name behind a VPN', 29, { isVpn: true }, true],
    ['an older name behind a VPN', 30, { isVpn: true }, false],
    ['a name of an unknown age behind a VPN', null, { isVpn: true }, false],
    ['a name whose date is yet to come, behind a VPN', -1, { isVpn: true }, false],
  ])('%s', (_, ageDays, facts, isBoth) => {
    const codes = codesOf({ ip: ip([], facts), domain: domain([], { ageDays }) })
    expect(codes.includes('fresh_and_hidden')).toBe(isBoth)
  })
})

it('an unknown part is neutral and is listed in the coverage', () => {
  const silent = email(
    { mxFound: null, acceptsMail: null, smtpValid: null, mailbox: 'unknown', catchAll: null },
    { status: 'unknown', reason: 'timeout' },
  )
  const { score, coverage, modelVersion } = scorer({ email: silent, ip: ip([vpn]) })
  expect(score).toBe(45)
  expect(coverage).toEqual({ supplied: ['email', 'ip'], resolved: ['ip'], unknown: ['email'] })
  expect(modelVersion).toBe(weights.version)
})

it('a signal that the table does not have, of another version of the program, weighs nothing', () => {
  const newer = { group: 'ip.anonymity', code: 'toString' }
  expect(riskOf([newer, { group: '__proto__', code: 'x' }], weights)).toBe(0)
  const { score, reasons } = scorer({ ip: ip([vpn, newer]) })
  expect([score, reasons.map(({ code }) => code)]).toEqual([45, ['vpn']])
})

it('has a weight for each signal, and for nothing else', () => {
  const rows = Object.entries(weights.groups).map(([group, codes]) => [group, Object.keys(codes)])
  expect(Object.fromEntries(rows)).toEqual(SIGNALS)
})

describe('the version of a table', () => {
  const own = (rows: string): string =>
    overlayWeights(`{"version":"acme-1","groups":{"ip.anonymity":${rows}}}`, 'own.json').version

  it('changes with any of its content, even if the name stays the same', () => {
    const versions = [
      '{}',
      '{"vpn":10}',
      '{"vpn":11}',
      '{"vpn":{"weight":11,"reason":"ours"}}',
    ].map(own)
    expect(new Set(versions).size).toBe(4)
  })

  it('does not depend on the order of its rows', () => {
    expect(own('{"vpn":10,"tor":9}')).toBe(own('{"tor":9,"vpn":10}'))
  })
})

it('every code occurs once for a part, so that a reason names one row', () => {
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
})

it('levels of threat lists step at 3 to 6 lists, and at 9 for hijacked networks', () => {
  expect([1, 2, 3, 5, 6, 8, 9].map((level) => threatSignal(level).code)).toEqual([
    'listed',
    'listed',
    'listed_3',
    'listed_5',
    'listed_6',
    'listed_6',
    'hijacked',
  ])
})

it('generated local parts are distinguished from names', () => {
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
  it('overrides rows of the packaged weights', () => {
    const text =
      '{"version":"acme-1","groups":{"ip.anonymity":{"vpn":10,"tor":{"weight":80,"reason":"ours"}}}}'
    const own = overlayWeights(text, 'own.json')
    expect(riskOf([vpn], own)).toBe(10)
    expect(riskOf([tor], own)).toBe(80)
    expect(riskOf([proxy], own)).toBe(62)
    expect(riskOf([vpn], weights)).toBe(45)
    expect(createScorer(own).fraud({}).modelVersion).toMatch(/^acme-1\+[0-9a-f]{12}$/)
  })

  it('is refused with every fault at once', () => {
    const text =
      '{"extra":1,"groups":{"ip.odd":{},"ip.anonymity":{"vpn":120,"tro":1,"tor":{"weight":"9"}},"email.free":3}}'
    expect(() => overlayWeights(text, 'own.json')).toThrow(
      /own\.json has 7 faults: .*"extra".*version.*ip\.odd.*vpn has the weight 120.*tro is none of.*tor has the weight "9".*email\.free is not an object/,
    )
    expect(() => overlayWeights('{', 'own.json')).toThrow(/not JSON/)
    expect(() => overlayWeights('{}'.padEnd(1_048_577), 'own.json')).toThrow(/over 1048576/)
    for (const version of ['', 'x'.repeat(65), 'naïve', 'two\nlines']) {
      const named = JSON.stringify({ version, groups: {} })
      expect(() => overlayWeights(named, 'own.json')).toThrow(/1 faults: version is not a text/)
    }
    const packaged = JSON.stringify({ version: weights.version.split('+')[0], groups: {} })
    expect(() => overlayWeights(packaged, 'own.json')).toThrow(/names the packaged weights/)
    expect(() => overlayWeights('{"version":"1","groups":{"__proto__":{}}}', 'own.json')).toThrow(
      '1 faults',
    )
  })
})
