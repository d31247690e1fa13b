import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import {
  ADVICE_BY_RISK,
  ADVICE_BY_STATUS,
  recommendByScore,
  recommendEmail,
  WHY_BY_FLAG,
  WHY_BY_REASON,
} from './advice.ts'
import type { BareOutcome, EmailFacts } from './outcome.ts'
import { REASONS } from './reasons.ts'
import type { Score } from './score.ts'
import { SIGNAL_PHRASES } from './signal-phrases.ts'
import { SIGNALS } from './signal.ts'

const PAGE = await readFile(new URL('../../../docs/advice.md', import.meta.url), 'utf8')

function email(
  status: BareOutcome<'email'>['status'],
  flags: Partial<EmailFacts> = {},
  suggestedDomain?: string,
): BareOutcome<'email'> {
  const facts: EmailFacts = {
    address: 'ada@gmial.com',
    normalized: 'ada@gmial.com',
    domain: 'gmial.com',
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
    ...flags,
  }
  return {
    status,
    reason: 'accepted',
    facts,
    ...(suggestedDomain === undefined ? {} : { suggestedDomain }),
  }
}

describe('an address', () => {
  test.each([
    ['deliverable', {}, 'send'],
    ['deliverable', { roleAccount: true }, 'caution'],
    ['deliverable', { disposable: true }, 'caution'],
    ['deliverable', { spamTrap: true }, 'do_not_send'],
    ['risky', {}, 'caution'],
    ['risky', { spamTrap: true, roleAccount: true }, 'do_not_send'],
    ['undeliverable', {}, 'do_not_send'],
    ['undeliverable', { roleAccount: true, disposable: true }, 'do_not_send'],
    ['unknown', {}, 'check_again'],
    ['unknown', { disposable: true }, 'check_again'],
    ['unknown', { spamTrap: true }, 'do_not_send'],
  ] as const)('that is %s with %j is advised %s', (status, flags, advice) => {
    expect(recommendEmail(email(status, flags)).advice).toBe(advice)
  })

  test('gets the reason that decided', () => {
    expect(recommendEmail(email('deliverable')).why).toBe(WHY_BY_REASON.accepted)
    const both = email('deliverable', { roleAccount: true, disposable: true })
    expect(recommendEmail(both).why).toBe(WHY_BY_FLAG.disposable)
    const gone = { ...email('undeliverable', { disposable: true }), reason: 'no_domain' } as const
    expect(recommendEmail(gone).why).toBe(WHY_BY_REASON.no_domain)
  })

  test('has the probably intended domain in its suggestion', () => {
    expect(recommendEmail(email('undeliverable', {}, 'gmail.com')).suggestion).toBe('ada@gmail.com')
    expect(recommendEmail(email('undeliverable')).suggestion).toBeNull()
  })
})

describe('a score', () => {
  const reasons = (['disposable', 'vpn', 'voip', 'role', 'roaming'] as const).map((code, at) => ({
    code,
    part: 'email' as const,
    weight: 50,
    contribution: [40, 20, 10, 5, 0][at] ?? 0,
  }))
  const coverage = { supplied: [], resolved: [], unknown: [] }
  const score: Score = { score: 75, reasons, coverage, modelVersion: '1' }

  test('names its three strongest reasons with their points', () => {
    expect(recommendByScore(score, undefined)).toEqual({
      advice: 'block',
      why: 'Points of risk out of 75: a throwaway domain (40); the IP address is a VPN (20); an internet phone number (10).',
      suggestion: null,
    })
  })

  test('names the missing facts, or says that nothing indicates risk', () => {
    const open: Score = {
      ...score,
      score: 0,
      reasons: [],
      coverage: { ...coverage, unknown: ['phone'] },
    }
    expect(recommendByScore(open, email('deliverable', {}, 'gmail.com'))).toEqual({
      advice: 'allow',
      why: 'Nothing speaks for risk. Not found out: phone.',
      suggestion: 'ada@gmail.com',
    })
  })

  test('has a phrase for every signal', () => {
    const codes = new Set<string>(Object.values(SIGNALS).flat())
    expect(new Set(SIGNAL_PHRASES.keys())).toEqual(codes)
  })
})

describe('docs/advice.md', () => {
  test('has a line for each reason, with the sentence of the service', () => {
    const [, table = ''] = PAGE.split('\n## Why\n')
    const lines = [...table.matchAll(/^\| `(\w+)` \| ([^`]+) \|$/gm)]
    expect(Object.fromEntries(lines.map(([, reason, why]) => [reason, why]))).toEqual(WHY_BY_REASON)
    expect(Object.keys(WHY_BY_REASON)).toEqual(Object.keys(REASONS.email))
  })

  test('has the advice of each status and level', () => {
    for (const [status, advice] of Object.entries(ADVICE_BY_STATUS)) {
      expect(PAGE).toContain(`| is \`${status}\` | \`${advice}\` |`)
    }
    for (const [level, advice] of Object.entries(ADVICE_BY_RISK)) {
      expect(PAGE).toContain(`| \`${level}\` | \`${advice}\` |`)
    }
  })
})
