import type { EmailStatus } from '@plumbline/contract/outcome'
import type { Reason } from '@plumbline/contract/reasons'
import { providerOf } from './providers.ts'
import type { Reply } from './smtp-reply.ts'
import { REPLY_RULES } from './reply-rules.ts'
import type { CompiledRule, ReplyKind } from './reply-rule.ts'
import type { NamedRecipient } from './reply-masks.ts'
import { quotedReply } from './quoted-reply.ts'
import { readable, readableWithoutLocal } from './reply-text.ts'

/** The phase of the session in which a reply was received. */
export type Phase = 'connect' | 'greeting' | 'ehlo' | 'starttls' | 'mail' | 'rcpt' | 'rset' | 'quit'

/** What a reply is about: `us` is the sender and its host, `rate` our sending rate. */
export type Party = 'mailbox' | 'domain' | 'us' | 'server' | 'rate'

/** A reply and its context. */
export interface ReplyFacts {
  readonly phase: Phase
  /** Provider id or name of the mail host. */
  readonly provider: string
  /** Three digits; null for a text without a code. */
  readonly code: number | null
  /** Enhanced status code such as `5.1.1`; read from the text if absent. */
  readonly enhanced?: string | null
  readonly text: string
  /** The recipient, whose words in the text say nothing; absent if there is none. */
  readonly recipient?: NamedRecipient
  /** Our own names and addresses: a refusal that names one of them is about us. */
  readonly own?: readonly string[]
}

/** What a reply means. */
export interface Classified {
  readonly status: EmailStatus
  readonly reason: Reason<'email'>
  readonly party: Party
  /** What is proven about the mailbox. */
  readonly mailbox: 'accepted' | 'missing' | 'disabled' | 'full' | 'unknown'
  /** Confidence in the classification. */
  readonly confidence: 'high' | 'medium' | 'low'
  /** Whether a later probe may get another reply. */
  readonly retry: boolean
  /** Seconds the reply asks to wait; null if it names none. */
  readonly retrySeconds: number | null
  /** The id of the rule that matched, or `code` if only the code decided. */
  readonly rule: string
}

/**
 * Tells what a reply means and what it is about. A reply before RCPT is never about the mailbox, a
 * 4xx never proves it missing, and a reply that no rule matches is unknown with
 * `unclassified_reply`. What only words of the recipient say is not said: others' recipients would
 * wait for it, too.
 */
export function classifyReply(facts: ReplyFacts): Classified {
  if (facts.phase === 'rcpt' && isAcceptance(facts.code)) return ACCEPTED
  const text = readable(facts.text, facts.recipient)
  const classified = classifyText(facts, text)
  const { party } = classified
  if (facts.recipient === undefined || (party !== 'us' && party !== 'rate')) return classified
  const bare = readableWithoutLocal(facts.text, facts.recipient)
  return bare === text ? classified : classifyText(facts, bare)
}

function classifyText(facts: ReplyFacts, text: string): Classified {
  const enhanced = facts.enhanced ?? enhancedOf(facts.text)
  const severity = severityOf(facts.code, enhanced)
  if (facts.phase !== 'rcpt' || EARLIER_PHASE.test(text)) return beforeRecipient(text, severity)
  if (facts.code === 252 || severity === 2) return outcome('unclassified', 'code', text, severity)
  if (severity === 5 && namesUs(text, facts.own ?? []))
    return outcome('blocked', ABOUT_RELAY.test(text) ? OWN_RELAY : 'own-name', text, severity)
  const provider = providerOf(facts.provider).id
  const quoted = severity === 5 ? quotedReply(text) : null
  if (quoted !== null) {
    const byQuote = byRules(
      provider,
      Math.floor(quoted.code / 100),
      enhancedOf(quoted.text),
      quoted.text,
    )
    if (byQuote.reason !== 'unclassified_reply') return byQuote
  }
  return byRules(provider, severity, enhanced, text)
}

function byRules(
  provider: string,
  severity: number,
  enhanced: string | null,
  text: string,
): Classified {
  const rule = REPLY_RULES.find((each) => matches(each, provider, severity, enhanced, text))
  if (rule !== undefined) return outcome(rule.kind, rule.id, text, severity)
  return outcome(severity === 4 ? 'server' : 'unclassified', 'code', text, severity)
}

/** Whether a reply to RCPT accepts the recipient, here or to be forwarded. Source: RFC 5321 4.3.2. */
export function isAcceptance(code: number | null): boolean {
  return code === 250 || code === 251
}

/** The parts of a reply that classification uses. */
export function factsOf({
  code,
  enhanced,
  text,
}: Reply): Pick<ReplyFacts, 'code' | 'enhanced' | 'text'> {
  return { code, enhanced, text }
}

/** The enhanced status code in a text (RFC 3463); null if there is none. */
export function enhancedOf(text: string): string | null {
  const match =
    /^(?:\d{3}[ -])?\s*(?:[a-z]+_[a-z]+ )?#?([245]\.\d{1,3}\.\d{1,3})(?![.\d])/.exec(text) ??
    /\(#([245]\.\d{1,3}\.\d{1,3})\b/.exec(text)
  return match?.[1] ?? null
}

/** The rule of a refusal that names us, to relay mail for a domain that the server does not serve. */
const OWN_RELAY = 'own-name-relay'

/** Words about relaying; not a host name that begins with one. */
const ABOUT_RELAY = /\brelay(?:ing)?\b(?![.-]\w)/

/** Signs that the reply of another server, quoted in a text, was given before RCPT. */
const EARLIER_PHASE =
  /in reply to (?:mail from|ehlo|helo)|after (?:initial connection|ehlo|helo|mail from)|refused to talk to me|\[mail_from\]|sender was rejected/

function matches(
  rule: CompiledRule,
  provider: string,
  severity: number,
  enhanced: string | null,
  text: string,
): boolean {
  if (rule.provider !== undefined && rule.provider !== provider) return false
  if (rule.severity !== undefined && rule.severity !== severity) return false
  if (rule.enhanced !== undefined && !(enhanced !== null && rule.enhanced.test(enhanced)))
    return false
  if (enhanced !== null && rule.notEnhanced?.test(enhanced) === true) return false
  return rule.text === undefined || rule.text.test(text)
}

type Meaning = Pick<Classified, 'reason' | 'party'> &
  Partial<Pick<Classified, 'status' | 'mailbox' | 'confidence' | 'retry'>>

/** The meaning of each kind; unknown and of low confidence unless a row says otherwise. */
const MEANINGS: Readonly<Record<ReplyKind, Meaning>> = {
  missing: {
    reason: 'mailbox_not_found',
    party: 'mailbox',
    status: 'undeliverable',
    mailbox: 'missing',
    confidence: 'high',
  },
  likely_missing: {
    reason: 'mailbox_not_found',
    party: 'mailbox',
    status: 'undeliverable',
    mailbox: 'missing',
    confidence: 'medium',
  },
  disabled: {
    reason: 'mailbox_disabled',
    party: 'mailbox',
    status: 'undeliverable',
    mailbox: 'disabled',
    confidence: 'high',
  },
  held: { reason: 'server_error', party: 'server', retry: true },
  full: {
    reason: 'mailbox_full',
    party: 'mailbox',
    status: 'risky',
    mailbox: 'full',
    confidence: 'medium',
    retry: false,
  },
  no_domain: {
    reason: 'no_domain',
    party: 'domain',
    status: 'undeliverable',
    confidence: 'medium',
  },
  no_mail: { reason: 'null_mx', party: 'domain', status: 'undeliverable', confidence: 'medium' },
  exists: { reason: 'accepted_exists', party: 'mailbox' },
  filtered: { reason: 'unclassified_reply', party: 'mailbox' },
  blocked: { reason: 'blocked', party: 'us' },
  relay: { reason: 'relay_denied', party: 'domain' },
  greylist: { reason: 'greylisted', party: 'server', retry: true },
  rate: { reason: 'rate_limited', party: 'rate', retry: true },
  server: { reason: 'server_error', party: 'server' },
  smtputf8: { reason: 'smtputf8_unsupported', party: 'server', retry: false },
  unclassified: { reason: 'unclassified_reply', party: 'server' },
}

/** The meaning of a kind; a temporary reply can prove a mailbox full, never missing or disabled. */
function outcome(kind: ReplyKind, rule: string, text: string, severity: number): Classified {
  const lasting = MEANINGS[kind]
  const meaning = lasting.status === 'undeliverable' && severity !== 5 ? MEANINGS.server : lasting
  const retry = meaning.retry ?? severity === 4
  const names = severity === 4 || kind === 'greylist'
  return {
    status: 'unknown',
    mailbox: 'unknown',
    confidence: 'low',
    ...meaning,
    retry,
    retrySeconds: names ? waitSeconds(text) : null,
    rule,
  }
}

/**
 * Rules of refusals that are about us, or about a domain that the server does not serve: some give
 * the same reply for both.
 */
const VAGUE_RULES: ReadonlySet<string> = new Set([
  'authentication',
  'content',
  'policy',
  'code-policy',
  OWN_RELAY,
])

/** Whether a refusal of us may also be about the recipient's domain. */
export function isVague({ rule }: Classified): boolean {
  return VAGUE_RULES.has(rule)
}

const ACCEPTED: Classified = {
  status: 'deliverable',
  reason: 'accepted',
  party: 'mailbox',
  mailbox: 'accepted',
  confidence: 'medium',
  retry: false,
  retrySeconds: null,
  rule: 'code',
}

/** A refusal before RCPT is about the sender or the server. */
function beforeRecipient(text: string, severity: number): Classified {
  const limited = REPLY_RULES.find((rule) => rule.kind === 'rate' && rule.text?.test(text) === true)
  if (limited !== undefined) return outcome('rate', limited.id, text, severity)
  if (severity === 5) return outcome('blocked', 'phase', text, severity)
  const refused = REPLY_RULES.find(
    (rule) => rule.kind === 'blocked' && rule.text?.test(text) === true,
  )
  return outcome(
    refused === undefined ? 'server' : 'blocked',
    refused?.id ?? 'phase',
    text,
    severity,
  )
}

/**
 * Class of a reply. The enhanced code wins only if the code is missing, invalid, or a permanent one
 * that wraps a temporary reason (`554 4.4.7`).
 */
function severityOf(code: number | null, enhanced: string | null): number {
  const byEnhanced = enhanced === null ? 0 : Number(enhanced[0])
  const byCode = code === null ? 0 : Math.floor(code / 100)
  if (byCode === 2 && byEnhanced <= 2) return 2
  if (byCode === 4 || byEnhanced === 4) return 4
  return byCode === 5 || byEnhanced === 5 ? 5 : byEnhanced
}

function namesUs(text: string, own: readonly string[]): boolean {
  return own.some((name) => name !== '' && text.includes(name.toLowerCase()))
}

/** Seconds in each unit that replies use. */
const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 }

/** A longer wait is taken for a number that means something else. */
const WAIT_MAX_SECONDS = 12 * 3600

/**
 * The wait that a reply names (`in 300 seconds`, `for 5 minutes`, `00:04:59`); null if it names
 * none.
 */
function waitSeconds(text: string): number | null {
  const clock = /\b(\d{1,2}):(\d{2}):(\d{2})\b/.exec(text)
  if (clock !== null && /grey|gray|retry|again|wait/.test(text)) {
    const seconds = Number(clock[1]) * 3600 + Number(clock[2]) * 60 + Number(clock[3])
    return seconds > 0 && seconds <= WAIT_MAX_SECONDS ? seconds : null
  }
  const phrase =
    /(?:\bin|for|after|wait|within|retry)(?: at least| about)? (\d{1,5}) ?(s|m|h)(?:\b|ec|in|our|r)/.exec(
      text,
    ) ??
    /\b(\d{1,5}) (s|m|h)(?:ec|in|our)/.exec(text) ??
    /retry-after[:= ]+(\d{1,5})(s?)/.exec(text)
  if (phrase === null) return null
  const seconds = Number(phrase[1]) * (UNIT_SECONDS[phrase[2] ?? 's'] ?? 1)
  return seconds > 0 && seconds <= WAIT_MAX_SECONDS ? seconds : null
}
