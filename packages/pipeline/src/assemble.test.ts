import type { BareOutcome, EmailFacts, FactsOf } from '@plumbline/contract/outcome'
import { CHECKS, type Check } from '@plumbline/contract/products'
import { RESULTS } from '@plumbline/contract/results'
import type { BareOutcomes, Scorer } from '@plumbline/contract/score'
import { describe, expect, test } from 'vitest'
import { outcomeFor } from '@plumbline/testkit/instant-engines'
import { PRICES } from '@plumbline/testkit/prices'
import { assembleKnown, assembleResult } from './assemble.ts'

const SUBJECTS = {
  email: 'ada@example.com',
  phone: '+14155550100',
  ip: '192.0.2.1',
  domain: 'example.com',
} as const

const scoreOf = (score: number): Scorer => ({
  version: 'test',
  fraud: () => ({
    score,
    reasons: [],
    coverage: { supplied: [], resolved: [], unknown: [] },
    modelVersion: 'test',
  }),
  risk: () => score,
})

function outcomesOf(checks: readonly Check[]): BareOutcomes {
  return Object.fromEntries(checks.map((check) => [check, outcomeFor(check, SUBJECTS[check])]))
}

/** The same outcome with every fact unknown that can be null. */
function unknown<C extends Check>(check: C): BareOutcome<C> {
  const outcome = outcomeFor(check, SUBJECTS[check])
  const named = ['ip', 'phone', 'email', 'number', 'address', 'normalized', 'domain']
  const facts = Object.fromEntries(
    Object.entries(outcome.facts).map(([name, fact]) => [
      name,
      named.includes(name) || Array.isArray(fact) ? fact : null,
    ]),
  )
  // Safe for a test of what becomes of null: the shape is the one of the facts.
  return { ...outcome, facts: facts as unknown as FactsOf[C] }
}

describe('a result', () => {
  test.each(PRICES)(
    'of %s from %j has the fields of its contract and costs %i',
    (product, checks, price) => {
      const result = assembleResult(product, outcomesOf(checks), scoreOf(40))
      expect(RESULTS[product].strict().parse(result)).toEqual(result)
      expect(result.credits_used).toBe(price)
      for (const check of CHECKS) {
        if (product === 'contact-intel' || product === 'fraud-signals') {
          expect(check in result).toBe(checks.includes(check))
        }
      }
    },
  )

  test.each([
    ['ip', ['ip'], { threat_score: 37 }],
    ['domain', ['domain'], { safety_score: 63 }],
    ['contact-intel', CHECKS, { ip: { threat_score: 37 }, domain: { safety_score: 63 } }],
    [
      'fraud-signals',
      CHECKS,
      { fraud_score: 37, ip: { threat_score: 37 }, domain: { safety_score: 63 } },
    ],
  ] as const)(
    'of %s has every score by the weights that it is made with',
    (product, checks, scores) => {
      expect(assembleResult(product, outcomesOf(checks), scoreOf(37))).toMatchObject(scores)
    },
  )

  test.each(CHECKS)('of %s has false for flags that could not be found out', (check) => {
    const result = assembleResult(check, { [check]: unknown(check) }, scoreOf(0))
    expect(Object.values(result)).not.toContain(true)
    if ('age_days' in result) expect(result.age_days).toBe(-1)
  })

  // Decision 26: the numbering plan's word in `phone`, whether it can be dialled in the bundles.
  test.each([
    [true, 'hlr_connected', true, true],
    [true, 'hlr_absent', true, true],
    [true, 'hlr_undetermined', true, true],
    [true, 'hlr_unknown_subscriber', true, false],
    [false, 'invalid_number', false, false],
  ] as const)('of a number that is valid: %s, %s says so', (valid, reason, plan, dialable) => {
    const { facts, ...around } = outcomeFor('phone', SUBJECTS.phone)
    const phone: BareOutcome<'phone'> = { ...around, reason, facts: { ...facts, valid } }
    const score = scoreOf(0)
    expect(assembleResult('phone', { phone }, score)).toMatchObject({ valid: plan })
    for (const product of ['deliverability', 'contact-intel', 'fraud-signals'] as const) {
      const outcomes = { ...outcomesOf(['email']), phone }
      expect(assembleResult(product, outcomes, score)).toMatchObject({ phone: { valid: dialable } })
    }
  })

  test.each(PRICES)('of %s with only the parts of %j known has no others', (product, checks) => {
    for (const known of CHECKS.filter((check) => checks.includes(check) && checks.length > 1)) {
      const whole = assembleResult(product, outcomesOf(checks), scoreOf(40))
      const { credits_used, ...fields } = assembleKnown(product, outcomesOf([known]), scoreOf(40))
      expect(whole).toMatchObject(fields)
      expect(fields).not.toHaveProperty('fraud_score')
      expect(Object.keys(fields).length).toBeGreaterThan(0)
      expect(credits_used).toBeLessThan(whole.credits_used)
    }
  })

  test('without the outcome of its required check throws', () => {
    expect(() => assembleResult('email', {}, scoreOf(0))).toThrow('missing')
  })

  test.each([
    [0, 'low'],
    [30, 'low'],
    [31, 'medium'],
    [69, 'medium'],
    [70, 'high'],
    [100, 'high'],
  ])('with a fraud score of %i has the level %s', (score, risk_level) => {
    const result = assembleResult('fraud-signals', outcomesOf(['email']), scoreOf(score))
    expect(result).toMatchObject({ fraud_score: score, risk_level })
  })
})

// Decisions 21 to 23.
describe('the verdict on a mailbox', () => {
  const accepted: Partial<EmailFacts> = { smtpValid: true, mailbox: 'accepted', catchAll: false }
  const cases: readonly (readonly [string, Partial<EmailFacts>, object, object, object])[] = [
    [
      'accepted',
      {},
      { valid: true, deliverable: true },
      { deliverable: true },
      { valid: true, deliverable: true },
    ],
    [
      'accepted by a domain that accepts all',
      { catchAll: true },
      { valid: true, deliverable: false },
      { deliverable: true, catch_all: true, confidence: 'low' },
      { valid: true, deliverable: false },
    ],
    [
      'missing',
      { smtpValid: false, mailbox: 'missing' },
      { valid: false, deliverable: false },
      { deliverable: false },
      { valid: true, deliverable: false },
    ],
    [
      'full',
      { smtpValid: false, mailbox: 'full' },
      { valid: true, deliverable: false },
      { deliverable: false },
      { valid: true, deliverable: false },
    ],
    [
      'unknown',
      { smtpValid: null, mailbox: 'unknown', catchAll: null },
      { valid: true, deliverable: false, smtp_valid: false },
      { deliverable: false, catch_all: false },
      { valid: true, deliverable: false },
    ],
    [
      'at a domain without a host for mail',
      { acceptsMail: false, mxFound: false, smtpValid: null, mailbox: 'unknown' },
      { valid: false, mx_found: false },
      { deliverable: false },
      { valid: false },
    ],
    [
      'at a host found by its address alone',
      { mxFound: false },
      { valid: true, mx_found: false, deliverable: true },
      { deliverable: true, mx_found: false },
      { valid: true, mx_found: false },
    ],
    [
      'disposable, role, free and a trap',
      { disposable: true, roleAccount: true, freeProvider: true, spamTrap: true },
      { valid: true, deliverable: true },
      { deliverable: true, spam_trap: true },
      { valid: true, deliverable: true },
    ],
  ]

  test.each(cases)('%s', (_, facts, email, deliverability, part) => {
    const outcome = outcomeFor('email', SUBJECTS.email)
    const outcomes = { email: { ...outcome, facts: { ...outcome.facts, ...accepted, ...facts } } }
    expect(assembleResult('email', outcomes, scoreOf(0))).toMatchObject(email)
    expect(assembleResult('deliverability', outcomes, scoreOf(0))).toMatchObject(deliverability)
    expect(assembleResult('contact-intel', outcomes, scoreOf(0))).toMatchObject({ email: part })
  })
})
