import type { Outcome } from '@plumbline/contract/outcome'

/** An outcome of an email engine, for tests. */
export function emailOutcome(
  address: string,
  evidence: Outcome<'email'>['evidence'] = {},
): Outcome<'email'> {
  return {
    kind: 'outcome',
    status: 'deliverable',
    reason: 'accepted',
    facts: {
      address,
      normalized: address,
      domain: address.slice(address.lastIndexOf('@') + 1),
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
    },
    evidence,
    cached: true,
    checkedAt: '2026-01-01T00:00:00.000Z',
    durationMs: 1,
  }
}
