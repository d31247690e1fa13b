import type { BareOutcome } from './outcome.ts'
import type { Product } from './products.ts'
import type { Reason } from './reasons.ts'
import { riskLevel } from './results.ts'
import type { Score } from './score.ts'
import { SIGNAL_PHRASES } from './signal-phrases.ts'

/** Advice about an address. Source: decision 40. */
export const EMAIL_ADVICE = ['send', 'caution', 'do_not_send', 'check_again'] as const
/** Advice about a record of fraud signals. Source: decision 40. */
export const RISK_ADVICE = ['allow', 'review', 'block'] as const
/** Every advice that a row can have. */
export const ADVICE = [...EMAIL_ADVICE, ...RISK_ADVICE] as const
/** Advice about a row. */
export type Advice = (typeof ADVICE)[number]

/** The advices of a product; empty for `ip`, `phone` and `domain`. */
export function adviceOf(product: Product): readonly Advice[] {
  switch (product) {
    case 'email':
    case 'deliverability':
    case 'contact-intel':
      return EMAIL_ADVICE
    case 'fraud-signals':
      return RISK_ADVICE
    case 'phone':
    case 'ip':
    case 'domain':
      return []
  }
}

/**
 * Recommendation shown with the result of a row: advice, a sentence for a person, and a corrected
 * address.
 */
export interface Recommendation {
  readonly advice: Advice
  readonly why: string
  /** The address that was probably meant; null if there is none. */
  readonly suggestion: string | null
}

/**
 * Advice by an address's status, before its flags: a spam trap is `do_not_send` whatever its
 * status, and a deliverable address is `caution` if it is disposable or shared.
 */
export const ADVICE_BY_STATUS = {
  deliverable: 'send',
  risky: 'caution',
  undeliverable: 'do_not_send',
  unknown: 'check_again',
} as const satisfies Record<BareOutcome<'email'>['status'], Advice>

/** Advice by risk level. */
export const ADVICE_BY_RISK = {
  low: 'allow',
  medium: 'review',
  high: 'block',
} as const satisfies Record<ReturnType<typeof riskLevel>, Advice>

/** The sentence that explains the advice, by the reason of the status. */
export const WHY_BY_REASON: Readonly<Record<Reason<'email'>, string>> = {
  accepted: 'The mail server takes mail for this address.',
  accept_all: 'The mail server takes mail for any name of this domain, so this one may not exist.',
  accept_means_nothing:
    'The provider takes mail for unknown names too, so nobody can tell whether this one exists.',
  accepted_exists: 'The mailbox exists, but it restricts who may write to it.',
  invalid_syntax: 'This is not a well-formed email address.',
  domain_literal: 'The address names a machine by its number, which is not checked.',
  no_domain: 'The domain of this address does not exist.',
  null_mx: 'The domain of this address says that it takes no mail.',
  no_mail_host: 'The domain of this address has no mail server.',
  mailbox_not_found: 'The mail server says that this mailbox does not exist.',
  mailbox_disabled: 'The mail server says that this mailbox was closed.',
  mailbox_full: 'The mailbox exists and is full, so mail may come back.',
  relay_denied: 'The mail server does not take mail for this domain.',
  greylisted: 'The mail server asked to come back later.',
  blocked: 'The mail server refused to tell us whether this mailbox exists.',
  blanket_reject: 'The mail server refuses every name alike, so nothing is known of this one.',
  rate_limited: 'The mail server would not be asked so often.',
  server_error: 'The mail server had a passing fault.',
  unclassified_reply: 'The mail server gave a reply that says nothing about the mailbox.',
  smtputf8_unsupported: 'The mail server takes no addresses with such letters before the @.',
  connect_failed: 'The mail server could not be reached.',
  protocol_error: 'The mail server broke the conversation off.',
  smtp_unavailable: 'Mail servers cannot be reached from this installation.',
  probing_off: 'Mailboxes of this provider are not asked about.',
  probe_limit: 'The domain was asked about too often; this address was held back.',
  opted_out: 'The domain asked not to be checked.',
  dns_failed: 'The name servers of the domain gave no usable answer.',
  dns_unavailable: 'Names cannot be looked up from this installation at the moment.',
  unsafe_host: 'The mail servers of the domain are not on the public internet.',
  timeout: 'The mail server did not answer in time.',
}

/** The sentence for a flag that overrides the status. */
export const WHY_BY_FLAG = {
  spam_trap: 'This is a spam trap: mail to it harms the reputation of who sends it.',
  disposable: 'This is a throwaway address that will soon not be read.',
  role_account: 'This address is shared by several people, such as info@ or sales@.',
} as const

/** Advice for an answered address. */
export function recommendEmail(email: BareOutcome<'email'>): Recommendation {
  const suggestion = suggestionOf(email)
  const { spamTrap, disposable, roleAccount } = email.facts
  if (spamTrap) return { advice: 'do_not_send', why: WHY_BY_FLAG.spam_trap, suggestion }
  const advice = ADVICE_BY_STATUS[email.status]
  if (advice === 'send' || advice === 'caution') {
    if (disposable) return { advice: 'caution', why: WHY_BY_FLAG.disposable, suggestion }
    if (roleAccount && advice === 'send') {
      return { advice: 'caution', why: WHY_BY_FLAG.role_account, suggestion }
    }
  }
  return { advice, why: WHY_BY_REASON[email.reason], suggestion }
}

/** Reasons named in the sentence. */
const NAMED_REASONS = 3

/** Advice by the fraud score of a record, with the three strongest reasons and their points. */
export function recommendByScore(
  score: Score,
  email: BareOutcome<'email'> | undefined,
): Recommendation {
  const counted = score.reasons.filter(({ contribution }) => contribution > 0)
  const named = counted
    .slice(0, NAMED_REASONS)
    .map(({ code, contribution }) => `${SIGNAL_PHRASES.get(code) ?? code} (${contribution})`)
  const { unknown } = score.coverage
  const open = unknown.length === 0 ? '' : ` Not found out: ${unknown.join(', ')}.`
  const found =
    named.length === 0
      ? 'Nothing speaks for risk.'
      : `Points of risk out of ${score.score}: ${named.join('; ')}.`
  return {
    advice: ADVICE_BY_RISK[riskLevel(score.score)],
    why: `${found}${open}`,
    suggestion: email === undefined ? null : suggestionOf(email),
  }
}

/** The address with the domain that was probably meant. */
function suggestionOf({ facts, suggestedDomain }: BareOutcome<'email'>): string | null {
  const at = facts.address.lastIndexOf('@')
  if (suggestedDomain === undefined || suggestedDomain === null || at < 1) return null
  return `${facts.address.slice(0, at)}@${suggestedDomain}`
}
