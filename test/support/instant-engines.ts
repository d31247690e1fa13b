import { setTimeout as wait } from 'node:timers/promises'
import type { Engine, EngineRequest } from '@plumbline/contract/engine'
import type { Answer, EmailFacts, FactsOf, Outcome } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'

/** How engines of tests and benchmarks behave. */
export interface InstantOptions {
  /** Time for each subject, as a network would take; subjects of a run go side by side. */
  readonly delayMs?: number
  /** Subjects at the same time in one run, where there is a delay. */
  readonly width?: number
  /** Subjects that contain this make the engine throw: a bug of ours. */
  readonly poison?: string
}

/**
 * An engine that answers from the subject alone: the same subject always gets the same facts, so
 * that lists and single calls can be compared. Verdicts are spread by a hash of the subject.
 */
export function instantEngine<C extends Check>(check: C, options: InstantOptions = {}): Engine<C> {
  const { delayMs = 0, width = 50, poison } = options
  const answer = (subject: string): Answer<C> => {
    if (poison !== undefined && subject.includes(poison)) throw new Error('poisoned subject')
    return outcomeFor(check, subject)
  }
  const run = async (request: EngineRequest<C>): Promise<readonly Answer<C>[]> => {
    const { subjects, answered, signal } = request
    if (delayMs === 0) return subjects.map(answer)
    const answers: Answer<C>[] = []
    for (let from = 0; from < subjects.length; from += width) {
      await wait(delayMs, undefined, { signal }).catch(() => {})
      for (const subject of subjects.slice(from, from + width)) {
        answers.push(answer(subject))
        answered?.(answers.length - 1, answers.at(-1) ?? answer(subject))
      }
    }
    return answers
  }
  return { check, run, health: async () => [], [Symbol.asyncDispose]: async () => {} }
}

/** The facts that an instant engine gives for a subject. */
export function outcomeFor<C extends Check>(check: C, subject: string): Outcome<C> {
  // Safe because FACTS is indexed by the same check.
  return FACTS[check](subject) as unknown as Outcome<C>
}

const FACTS: { readonly [C in Check]: (subject: string) => Outcome<C> } = {
  email: emailOutcome,
  phone: (number) =>
    outcome<'phone'>('answered', 'no_hlr_provider', {
      number,
      valid: true,
      reachable: null,
      country: 'United States',
      countryCode: 'US',
      nationalFormat: number.slice(2),
      lineType: 'unknown',
      numberType: null,
      carrier: null,
      carrierCountry: null,
      ported: null,
      roaming: null,
    }),
  ip: (ip) =>
    outcome<'ip'>('answered', 'located', {
      ip,
      valid: true,
      country: 'United States',
      countryCode: 'US',
      region: 'California',
      city: 'Mountain View',
      latitude: 37.4,
      longitude: -122.1,
      timezone: 'America/Los_Angeles',
      isp: 'Example Networks',
      asn: 'AS64500',
      isVpn: hash(ip) % 7 === 0,
      isProxy: false,
      isTor: false,
      isDatacenter: false,
      isRelay: false,
      threatScore: hash(ip) % 7 === 0 ? 45 : 0,
      signals: hash(ip) % 7 === 0 ? [{ group: 'ip.anonymity', code: 'vpn' }] : [],
    }),
  domain: (domain) =>
    outcome<'domain'>('answered', 'registered', {
      domain,
      valid: true,
      registered: true,
      registrar: 'Example Registrar',
      createdDate: '2001-01-01T00:00:00Z',
      expiryDate: '2031-01-01T00:00:00Z',
      ageDays: 9000,
      dnsHealthy: true,
      mxFound: true,
      spfFound: true,
      dmarcFound: false,
      disposable: false,
      parked: false,
      safetyScore: 94,
      signals: [],
    }),
}

function emailOutcome(address: string): Outcome<'email'> {
  const kind = hash(address) % 10
  const facts: EmailFacts = {
    address,
    normalized: address.toLowerCase(),
    domain: address.slice(address.lastIndexOf('@') + 1).toLowerCase(),
    syntaxValid: true,
    mxFound: true,
    acceptsMail: true,
    smtpValid: kind === 9 ? null : kind < 6,
    mailbox: kind === 9 ? 'unknown' : kind < 6 ? 'accepted' : 'missing',
    catchAll: kind === 5,
    disposable: kind === 4,
    roleAccount: false,
    freeProvider: false,
    spamTrap: false,
    confidence: kind === 9 ? 'low' : 'high',
  }
  if (kind === 9) return outcome('unknown', 'timeout', facts)
  if (kind >= 6) return outcome('undeliverable', 'mailbox_not_found', facts)
  return kind >= 4 ? outcome('risky', 'accept_all', facts) : outcome('deliverable', 'accepted', facts)
}

function outcome<C extends Check>(
  status: Outcome<C>['status'],
  reason: Outcome<C>['reason'],
  facts: FactsOf[C],
): Outcome<C> {
  return {
    kind: 'outcome',
    status,
    reason,
    facts,
    evidence: { source: 'instant' },
    cached: false,
    checkedAt: '2026-01-01T00:00:00.000Z',
    durationMs: 0,
  }
}

function hash(text: string): number {
  let value = 2166136261
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 16777619)
  return value >>> 8
}
