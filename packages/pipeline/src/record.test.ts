import type { Outcome } from '@plumbline/contract/outcome'
import { CHECKS, type Check, type Product } from '@plumbline/contract/products'
import type { BareOutcomes, Scorer } from '@plumbline/contract/score'
import { describe, expect, test } from 'vitest'
import { outcomeFor } from '@plumbline/testkit/instant-engines'
import { packOutcomes } from './codec.ts'
import { chargedCredits, recordAsAsked, recordsOfChunk, verdictNames, verdictOf } from './record.ts'

const email = (address: string): Outcome<'email'> => outcomeFor('email', address)
const stored = (address: string): Outcome => outcomeFor<Check>('email', address)

function outcomesOf(checks: readonly Check[], unknown: readonly Check[] = []): BareOutcomes {
  const subjects = {
    email: 'ada@example.com',
    phone: '+14155550100',
    ip: '192.0.2.1',
    domain: 'a.example',
  }
  return Object.fromEntries(
    checks.map((check) => {
      const outcome = outcomeFor(check, subjects[check])
      return [check, { ...outcome, status: unknown.includes(check) ? 'unknown' : 'answered' }]
    }),
  )
}

const score = (value: number): Scorer => ({
  version: 'test',
  fraud: () => ({
    score: value,
    reasons: [],
    coverage: { supplied: [], resolved: [], unknown: [] },
    modelVersion: 'test',
  }),
  risk: () => value,
})

describe('the records of a chunk', () => {
  const subjects = {
    email: { subjects: ['a@a.example', 'b@b.example', 'c@c.example'], places: [0, 2, 5] },
    ip: { subjects: ['192.0.2.1'], places: [2] },
  }

  test('have all outcomes of each check, in whatever parts and order they were stored', async () => {
    const ip = outcomeFor('ip', '192.0.2.1')
    const records = recordsOfChunk(subjects, [
      { check: 'ip', indexes: null, outcomes: [ip] },
      { check: 'email', indexes: [2], outcomes: await packOutcomes([stored('c@c.example')], true) },
      { check: 'email', indexes: [1, 0], outcomes: [stored('b@b.example'), stored('a@a.example')] },
    ])
    expect(Object.fromEntries(records)).toEqual({
      0: { outcomes: { email: email('a@a.example') }, failed: false },
      2: { outcomes: { email: email('b@b.example'), ip }, failed: false },
      5: { outcomes: { email: email('c@c.example') }, failed: false },
    })
  })

  test('are failed if one of their checks has no outcome, whatever the others have', () => {
    const records = recordsOfChunk(subjects, [
      { check: 'ip', indexes: null, outcomes: [null] },
      { check: 'email', indexes: [1], outcomes: [stored('b@b.example')] },
    ])
    expect(records.get(2)?.failed).toBe(true)
  })

  test('are charged for their other checks if a subject was erased before its outcome', () => {
    const erased = { ...subjects, ip: { subjects: [''], places: [2] } }
    const records = recordsOfChunk(erased, [
      { check: 'ip', indexes: null, outcomes: [null] },
      { check: 'email', indexes: [1], outcomes: [stored('b@b.example')] },
    ])
    const record = records.get(2)
    expect(record).toEqual({
      outcomes: { email: email('b@b.example') },
      failed: false,
      erased: ['ip'],
    })
    if (record === undefined) throw new Error('the record is missing')
    expect(chargedCredits('fraud-signals', record, true)).toBe(1)
    expect(verdictOf('contact-intel', record, score(0))).toBeUndefined()
  })

  test('reject an outcome of a check that the row does not have', () => {
    const part = { check: 'email', indexes: [3], outcomes: [stored('d@d.example')] } as const
    expect(() => recordsOfChunk(subjects, [part])).toThrow('unknown subject')
  })
})

describe('the charge of a record', () => {
  const cases: readonly (readonly [Product, readonly Check[], readonly Check[], number, number])[] =
    [
      ['email', ['email'], [], 1, 1],
      ['email', ['email'], ['email'], 1, 0],
      ['phone', ['phone'], ['phone'], 2, 0],
      ['deliverability', ['email', 'phone'], ['phone'], 3, 1],
      ['contact-intel', [...CHECKS], ['domain'], 4, 4],
      ['contact-intel', [...CHECKS], ['domain', 'phone'], 4, 2],
      ['fraud-signals', [...CHECKS], ['ip'], 5, 5],
      ['fraud-signals', [...CHECKS], [...CHECKS], 5, 0],
    ]

  test.each(cases)(
    'for %s with %j, of which %j is unknown, is %i, or %i if unknown parts are free',
    (product, checks, unknown, charged, free) => {
      const record = { outcomes: outcomesOf(checks, unknown), failed: false }
      expect(chargedCredits(product, record, true)).toBe(charged)
      expect(chargedCredits(product, record, false)).toBe(free)
    },
  )

  test('is zero if a fault of the service prevented an outcome', () => {
    expect(chargedCredits('email', { outcomes: outcomesOf(['email']), failed: true }, true)).toBe(0)
  })
})

describe('a duplicate', () => {
  test('has the result in its own notation, and in normal form if it has one', () => {
    const outcomes = {
      email: email('ada@example.com'),
      ip: outcomeFor('ip', '2001:db8::1'),
      domain: outcomeFor('domain', 'a.example'),
    }
    const asked = { email: 'Ada@Example.com', ip: '2001:DB8:0::1', domain: 'A.example' }
    const told = recordAsAsked({ outcomes, failed: false }, asked).outcomes
    expect(told.email?.facts).toMatchObject({
      address: 'Ada@Example.com',
      normalized: 'ada@example.com',
    })
    expect([told.ip?.facts.ip, told.domain?.facts.domain]).toEqual([asked.ip, asked.domain])
    expect(told.phone).toBeUndefined()
  })

  test('of a value that cannot be parsed keeps its own notation', () => {
    const record = { outcomes: { email: email('no address') }, failed: false }
    const { facts } = recordAsAsked(record, { email: 'No address' }).outcomes.email ?? {}
    expect(facts).toMatchObject({ address: 'No address', normalized: 'No address', domain: null })
  })

  test('of a value that cannot be parsed keeps its own domain part', () => {
    const malformed = email('ada@@firm.example')
    const first = { ...malformed, facts: { ...malformed.facts, domain: 'firm.example' } }
    const record = { outcomes: { email: first }, failed: false }
    const { facts } = recordAsAsked(record, { email: 'ada@@Firm.example' }).outcomes.email ?? {}
    expect(facts?.domain).toBe('Firm.example')
  })
})

describe('the verdict that a batch counts', () => {
  test('is the status of the email, or the level of the risk, among the counted names', () => {
    const record = { outcomes: { email: email('ada@example.com') }, failed: false }
    const status = record.outcomes.email.status
    expect(verdictOf('email', record, score(0))).toBe(status)
    expect(verdictNames('email')).toContain(status)
    expect(verdictOf('fraud-signals', record, score(70))).toBe('high')
    expect(verdictNames('fraud-signals')).toContain('high')
  })

  test('is undefined for products without one, and for a failed record', () => {
    const failed = { outcomes: {}, failed: true }
    expect(verdictOf('fraud-signals', failed, score(70))).toBeUndefined()
    const ip = { outcomes: { ip: outcomeFor('ip', '192.0.2.1') }, failed: false }
    expect([verdictOf('ip', ip, score(0)), verdictNames('ip')]).toEqual([undefined, []])
  })
})
