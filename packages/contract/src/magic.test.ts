import { describe, expect, test } from 'vitest'
import { magicAnswer, magicValues } from './magic.ts'
import { CHECKS } from './products.ts'
import { REASONS } from './reasons.ts'
import { readRequest } from './requests.ts'

describe('magicAnswer', () => {
  test('has a value for every reason of every check, and for each fault', () => {
    for (const check of CHECKS) {
      const seen = new Set<string>()
      for (const { value } of magicValues(check)) {
        const answer = magicAnswer(check, value, 'basic')
        if (answer.kind === 'outcome') seen.add(answer.outcome.reason)
        else seen.add(answer.kind === 'slow' ? 'slow' : answer.problem.code)
      }
      const faults = [
        'payment_required',
        'too_many_requests',
        'internal',
        'unavailable',
        'timeout',
        'slow',
      ]
      expect([...seen].toSorted()).toEqual(
        [...new Set([...Object.keys(REASONS[check]), ...faults])].toSorted(),
      )
    }
  })

  test('every value can be sent', () => {
    for (const check of CHECKS) {
      for (const { value } of magicValues(check)) {
        expect(readRequest(check, { [check]: value }).values).toEqual({ [check]: value })
      }
    }
  })

  test('a value that is not in the table gets the good outcome, unless it is no address', () => {
    expect(magicAnswer('email', 'ada@example.com', 'basic')).toMatchObject({
      outcome: {
        reason: 'accepted',
        status: 'deliverable',
        facts: { domain: 'example.com', catchAll: null },
      },
    })
    expect(magicAnswer('email', 'ada', 'basic')).toMatchObject({
      outcome: {
        reason: 'invalid_syntax',
        facts: { address: 'ada', syntaxValid: false, domain: null },
      },
    })
    expect(magicAnswer('phone', '+442079460123', 'basic')).toMatchObject({
      outcome: { reason: 'hlr_connected', facts: { number: '+442079460123', reachable: true } },
    })
    expect(magicAnswer('ip', '8.8.8.8', 'basic')).toMatchObject({ outcome: { reason: 'located' } })
    expect(magicAnswer('domain', 'a.example', 'basic')).toMatchObject({
      outcome: { reason: 'registered' },
    })
  })

  test('a phone without an HLR lookup counts as answered', () => {
    expect(magicAnswer('phone', '+12025550112', 'basic')).toMatchObject({
      outcome: { reason: 'no_hlr_provider', status: 'answered' },
    })
  })

  test('an extended check reports that the domain of an accepted address is not accept-all', () => {
    expect(magicAnswer('email', 'accepted@magic.test', 'extended')).toMatchObject({
      outcome: { facts: { catchAll: false } },
    })
    expect(magicAnswer('email', 'ACCEPT-ALL@magic.test', 'extended')).toMatchObject({
      outcome: { facts: { address: 'ACCEPT-ALL@magic.test', catchAll: true, confidence: 'low' } },
    })
  })

  test('the same value always gets the same answer', () => {
    for (const check of CHECKS) {
      for (const { value } of magicValues(check)) {
        expect(JSON.stringify(magicAnswer(check, value, 'basic'))).toBe(
          JSON.stringify(magicAnswer(check, value, 'basic')),
        )
      }
    }
  })
})
