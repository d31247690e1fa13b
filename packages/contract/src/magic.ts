import {
  EMAIL_FACTS,
  MAGIC_DOMAIN,
  MAGIC_DOMAINS,
  MAGIC_EMAILS,
  MAGIC_FAULTS,
  MAGIC_FAULT_IPS,
  MAGIC_FAULT_PHONES,
  MAGIC_IPS,
  MAGIC_PHONES,
  type MagicFault,
  type MagicOutcome,
} from './magic-values.ts'
import type {
  DomainFacts,
  EmailFacts,
  EmailStatus,
  FactsOf,
  IpFacts,
  Outcome,
  PhoneFacts,
} from './outcome.ts'
import { MESSAGES, Problem } from './problem.ts'
import type { Check, Depth } from './products.ts'
import { PHONE_UNKNOWN, type Reason } from './reasons.ts'

/**
 * The answer for one subject with a test key: an outcome, a refusal, or an outcome after a delay.
 */
export type MagicAnswer<C extends Check = Check> =
  | { readonly kind: 'outcome'; readonly outcome: Outcome<C> }
  | { readonly kind: 'slow'; readonly delayMs: number; readonly outcome: Outcome<C> }
  | { readonly kind: 'problem'; readonly problem: Problem }

/** The time of every magic outcome, so that the same call gives the same result. */
const CHECKED_AT = '2026-01-01T00:00:00.000Z'

/**
 * The answer for a subject with a test key, from the table of magic values. Other values get the
 * check's good outcome (a text that is no email address: `invalid_syntax`). Pure. Source: decision
 * 19.
 */
export function magicAnswer<C extends Check>(
  check: C,
  subject: string,
  depth: Depth,
): MagicAnswer<C> {
  const fault = faultOf(check, subject.toLowerCase())
  const outcome = OUTCOMES[check](subject, depth)
  if (fault === undefined) return { kind: 'outcome', outcome }
  const effect = MAGIC_FAULTS[fault]
  if ('delayMs' in effect) return { kind: 'slow', delayMs: effect.delayMs, outcome }
  return { kind: 'problem', problem: magicProblem(effect.problem) }
}

/** A value of the table, with its refusal or delay; null if it has an outcome. */
export interface MagicValue {
  readonly value: string
  readonly fault: MagicFault | null
}

/** The values of a check in the table, that of the good outcome first. */
export function magicValues(check: Check): readonly MagicValue[] {
  const outcomes = MAGIC_OUTCOMES[check].map(({ value }) => ({ value, fault: null }))
  const faults = Object.keys(MAGIC_FAULTS)
    .filter(isFault)
    .map((fault) => ({ value: faultValue(check, fault), fault }))
  return [...outcomes, ...faults]
}

const MAGIC_OUTCOMES: Readonly<Record<Check, readonly MagicOutcome<Check, object>[]>> = {
  email: MAGIC_EMAILS,
  phone: MAGIC_PHONES,
  ip: MAGIC_IPS,
  domain: MAGIC_DOMAINS,
}

const ROWS = {
  email: byValue(MAGIC_EMAILS),
  phone: byValue(MAGIC_PHONES),
  ip: byValue(MAGIC_IPS),
  domain: byValue(MAGIC_DOMAINS),
}

const OUTCOMES: { [C in Check]: (subject: string, depth: Depth) => Outcome<C> } = {
  email: emailOutcome,
  phone: (subject) => phoneOutcome(subject),
  ip: (subject) => ipOutcome(subject),
  domain: (subject) => domainOutcome(subject),
}

function byValue<C extends Check, F>(
  rows: readonly MagicOutcome<C, F>[],
): ReadonlyMap<string, MagicOutcome<C, F>> {
  return new Map(rows.map((row) => [row.value, row]))
}

function faultOf(check: Check, subject: string): MagicFault | undefined {
  switch (check) {
    case 'email':
      return namedFault(subject, `@${MAGIC_DOMAIN}`)
    case 'domain':
      return namedFault(subject, `.${MAGIC_DOMAIN}`)
    case 'phone':
      return ownFault(MAGIC_FAULT_PHONES, subject)
    case 'ip':
      return ownFault(MAGIC_FAULT_IPS, subject)
  }
}

function ownFault(
  values: Readonly<Record<string, MagicFault>>,
  subject: string,
): MagicFault | undefined {
  return Object.hasOwn(values, subject) ? values[subject] : undefined
}

function namedFault(subject: string, ending: string): MagicFault | undefined {
  if (!subject.endsWith(ending)) return undefined
  const word = subject.slice(0, -ending.length)
  return isFault(word) ? word : undefined
}

function isFault(word: string): word is MagicFault {
  return Object.hasOwn(MAGIC_FAULTS, word)
}

function faultValue(check: Check, fault: MagicFault): string {
  if (check === 'email') return `${fault}@${MAGIC_DOMAIN}`
  if (check === 'domain') return `${fault}.${MAGIC_DOMAIN}`
  const values = check === 'phone' ? MAGIC_FAULT_PHONES : MAGIC_FAULT_IPS
  return Object.keys(values).find((value) => values[value] === fault) ?? ''
}

/** The refusal with the message that a live key would get. */
function magicProblem(code: keyof typeof MESSAGES): Problem {
  return new Problem(code, MESSAGES[code], { isRehearsed: true })
}

function outcomeOf<C extends Check>(
  status: Outcome<C>['status'],
  reason: Reason<C>,
  facts: FactsOf[C],
): Outcome<C> {
  return {
    kind: 'outcome',
    status,
    reason,
    facts,
    evidence: { magic: true },
    cached: false,
    checkedAt: CHECKED_AT,
    durationMs: 0,
  }
}

/** Statuses of email reasons; those not listed are unknown. */
const EMAIL_STATUS: Partial<Record<Reason<'email'>, EmailStatus>> = {
  accepted: 'deliverable',
  accept_all: 'risky',
  accept_means_nothing: 'risky',
  mailbox_full: 'risky',
  invalid_syntax: 'undeliverable',
  no_domain: 'undeliverable',
  null_mx: 'undeliverable',
  no_mail_host: 'undeliverable',
  mailbox_not_found: 'undeliverable',
  mailbox_disabled: 'undeliverable',
}

/** Reasons for which the server accepted the recipient. */
const ACCEPTING: readonly Reason<'email'>[] = ['accepted', 'accept_all', 'accept_means_nothing']

function emailOutcome(subject: string, depth: Depth): Outcome<'email'> {
  const cut = subject.lastIndexOf('@')
  const malformed = cut < 1 || cut === subject.length - 1 || /\s/.test(subject)
  const usual = malformed ? `invalid-syntax@${MAGIC_DOMAIN}` : `accepted@${MAGIC_DOMAIN}`
  const row = ROWS.email.get(subject.toLowerCase()) ?? ROWS.email.get(usual)
  const reason = row?.reason ?? 'accepted'
  const domain = cut < 0 || cut === subject.length - 1 ? null : subject.slice(cut + 1)
  const accepting = ACCEPTING.includes(reason)
  const facts: EmailFacts = {
    address: subject,
    normalized: reason === 'invalid_syntax' ? subject : subject.toLowerCase(),
    domain: reason === 'invalid_syntax' ? domain : (domain?.toLowerCase() ?? null),
    syntaxValid: true,
    mxFound: true,
    acceptsMail: true,
    ...(accepting ? EMAIL_FACTS.accepted[depth] : EMAIL_FACTS.other),
    disposable: false,
    roleAccount: false,
    freeProvider: false,
    spamTrap: false,
    ...row?.facts,
  }
  return outcomeOf<'email'>(EMAIL_STATUS[reason] ?? 'unknown', reason, facts)
}

function phoneOutcome(subject: string): Outcome<'phone'> {
  const row = ROWS.phone.get(subject)
  const reason = row?.reason ?? 'hlr_connected'
  const facts: PhoneFacts = {
    number: subject,
    valid: true,
    reachable: true,
    country: 'United States',
    countryCode: 'US',
    nationalFormat: subject.replace(/^\+1(\d{3})(\d{3})(\d{4})$/, '($1) $2-$3'),
    lineType: 'mobile',
    numberType: 'mobile',
    carrier: 'Magic Mobile',
    carrierCountry: 'United States',
    ported: false,
    roaming: false,
    ...row?.facts,
  }
  return outcomeOf<'phone'>(PHONE_UNKNOWN.includes(reason) ? 'unknown' : 'answered', reason, facts)
}

function ipOutcome(subject: string): Outcome<'ip'> {
  const row = ROWS.ip.get(subject)
  const reason = row?.reason ?? 'located'
  const facts: IpFacts = {
    ip: subject,
    valid: true,
    country: 'United States',
    countryCode: 'US',
    region: 'Virginia',
    city: 'Ashburn',
    latitude: 39.0437,
    longitude: -77.4875,
    timezone: 'America/New_York',
    isp: 'Magic Networks',
    asn: 'AS64496',
    isVpn: false,
    isProxy: false,
    isTor: false,
    isDatacenter: false,
    isRelay: false,
    signals: [],
    ...row?.facts,
  }
  const unknown = reason === 'timeout' || reason === 'no_data'
  return outcomeOf<'ip'>(unknown ? 'unknown' : 'answered', reason, facts)
}

/** Domain reasons for which it is unknown whether the name is registered. */
const DOMAIN_UNKNOWN: readonly Reason<'domain'>[] = [
  'no_registry_data',
  'registry_throttled',
  'registry_failed',
  'dns_unavailable',
  'timeout',
]

function domainOutcome(subject: string): Outcome<'domain'> {
  const row = ROWS.domain.get(subject.toLowerCase())
  const reason = row?.reason ?? 'registered'
  const facts: DomainFacts = {
    domain: subject,
    valid: true,
    registered: true,
    registrar: 'Magic Registrar',
    createdDate: '2010-01-01T00:00:00Z',
    expiryDate: '2030-01-01T00:00:00Z',
    ageDays: 5844,
    dnsHealthy: true,
    mxFound: true,
    spfFound: true,
    dmarcFound: true,
    disposable: false,
    parked: false,
    signals: [],
    ...row?.facts,
  }
  return outcomeOf<'domain'>(
    DOMAIN_UNKNOWN.includes(reason) ? 'unknown' : 'answered',
    reason,
    facts,
  )
}
