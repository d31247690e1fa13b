import type { EmailFacts, Json, Outcome } from '@plumbline/contract/outcome'
import type { DomainJudgement } from '@plumbline/datasets/mail-domains'
import type { ProbeResult } from './probe-result.ts'
import { normalForm } from './normalize.ts'
import type { Mailbox, ParsedMailbox } from './syntax.ts'

/** Flags of an address from the reference lists. */
export interface Flags {
  readonly judgement: DomainJudgement
  readonly role: boolean
  /** Entry of the trap list that matched. */
  readonly trap: string | null
  readonly didYouMean: string | null
  readonly listVersion: string | null
}

/** When and how an outcome was found. */
export interface Circumstances {
  readonly cached: boolean
  readonly checkedAt: string
  readonly durationMs: number
  readonly tries: number
}

/** The outcome of a text that is not an email address. */
export function syntaxOutcome(
  subject: string,
  mailbox: Mailbox & { readonly ok: false },
  didYouMean: string | null,
  when: Circumstances,
): Outcome<'email'> {
  const at = subject.lastIndexOf('@')
  return {
    kind: 'outcome',
    status: 'undeliverable',
    reason: 'invalid_syntax',
    facts: {
      address: subject,
      normalized: subject,
      domain: at >= 0 && at < subject.length - 1 ? subject.slice(at + 1) : null,
      syntaxValid: false,
      mxFound: null,
      acceptsMail: null,
      smtpValid: null,
      mailbox: 'unknown',
      catchAll: null,
      disposable: false,
      roleAccount: false,
      freeProvider: false,
      spamTrap: false,
      confidence: 'high',
    },
    evidence: {
      syntax: mailbox.why,
      ...(didYouMean === null ? {} : { did_you_mean: didYouMean }),
    },
    cached: false,
    checkedAt: when.checkedAt,
    durationMs: when.durationMs,
  }
}

/** The outcome of a mailbox from its probe result and the flags of the reference lists. */
export function mailboxOutcome(
  subject: string,
  mailbox: ParsedMailbox,
  result: ProbeResult,
  flags: Flags,
  when: Circumstances,
): Outcome<'email'> {
  const facts: EmailFacts = {
    address: subject,
    normalized: normalForm(mailbox),
    domain: mailbox.domain,
    syntaxValid: true,
    ...hostFacts(result),
    smtpValid: result.smtpValid,
    mailbox: result.mailbox,
    catchAll: result.catchAll,
    disposable: flags.judgement.disposable,
    roleAccount: flags.role,
    freeProvider: flags.judgement.free,
    spamTrap: flags.trap !== null,
    confidence: result.confidence,
  }
  return {
    kind: 'outcome',
    status: result.status,
    reason: result.reason,
    facts,
    evidence: withFlags(result.evidence, flags, when.tries),
    cached: when.cached,
    checkedAt: when.checkedAt,
    durationMs: when.durationMs,
  }
}

/** What the reason implies for the domain's mail hosts. */
function hostFacts(result: ProbeResult): Pick<EmailFacts, 'mxFound' | 'acceptsMail'> {
  switch (result.reason) {
    case 'no_domain':
    case 'null_mx':
    case 'no_mail_host':
      // If a mail server said so, the domain has a mail host.
      return result.evidence['reply_code'] === undefined
        ? { mxFound: false, acceptsMail: false }
        : { mxFound: result.evidence['implicit_mx'] !== true, acceptsMail: false }
    case 'dns_failed':
    case 'dns_unavailable':
    case 'domain_literal':
      return { mxFound: null, acceptsMail: null }
    case 'timeout':
      if (result.evidence['provider'] === undefined) return { mxFound: null, acceptsMail: null }
      return { mxFound: result.evidence['implicit_mx'] !== true, acceptsMail: true }
    default:
      return { mxFound: result.evidence['implicit_mx'] !== true, acceptsMail: true }
  }
}

/** Adds the flags to the evidence; copies nothing for addresses without flags, as most are. */
function withFlags(evidence: Evidence, flags: Flags, tries: number): Evidence {
  const { judgement, didYouMean, trap, listVersion } = flags
  const isListed = judgement.disposable || judgement.free || judgement.relay
  if (!isListed && didYouMean === null && trap === null && tries === 0) return evidence
  const all: { [key: string]: Json } = { ...evidence }
  if (didYouMean !== null) all['did_you_mean'] = didYouMean
  if (judgement.relay) all['privacy_relay'] = true
  if (judgement.disposable && judgement.source !== null) {
    all['disposable_source'] = `${judgement.source.list}: ${judgement.source.entry}`
  }
  if (trap !== null) all['spam_trap_entry'] = trap.includes('@') ? 'address' : trap
  if (isListed && listVersion !== null) all['list_version'] = listVersion
  if (tries > 0) all['tries'] = tries + 1
  return all
}

type Evidence = ProbeResult['evidence']
