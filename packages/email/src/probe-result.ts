import type { EmailStatus, Json } from '@plumbline/contract/outcome'
import type { Reason } from '@plumbline/contract/reasons'
import type { Classified } from './classify.ts'
import { momentFor } from '@plumbline/ports/sharing'

/**
 * What is known of one mailbox while the engine works on it, without the flags of reference lists.
 * It becomes an `Outcome` once it need not wait; the cache stores it as it is, without `wait`.
 */
export interface ProbeResult {
  readonly status: EmailStatus
  readonly reason: Reason<'email'>
  readonly mailbox: 'accepted' | 'missing' | 'disabled' | 'full' | 'unknown'
  readonly smtpValid: boolean | null
  readonly catchAll: boolean | null
  readonly confidence: 'high' | 'medium' | 'low'
  readonly evidence: { readonly [key: string]: Json }
  /**
   * Mail hosts in the MX records under other registrable domains than the one asked, one of each, by
   * which the lists may judge the domain; absent: there are none.
   */
  readonly otherHosts?: readonly string[]
  /** When the oldest fact was found out, in milliseconds since the Unix epoch; absent: just now. */
  readonly atMs?: number
  /** The account whose probe found it; only set in the cache. */
  readonly by?: string
  /** What must be waited for before the result is final; absent: it is final. */
  readonly wait?: ProbeWait
}

/**
 * Why another try is needed, and after how many milliseconds; 0: the usual delay for that cause.
 */
export interface ProbeWait {
  readonly cause: WaitCause
  readonly afterMs: number
}

/**
 * Why a subject waits: `greylist` for the delay that the server asks for, `rate_limit` for the
 * limits of its provider group, `guard` for the dictionary-attack guard, `blocked` while the group
 * refuses us, `recheck` for another try at a refusal that one reply does not prove, `no_reply` for
 * another try at hosts or name servers that did not reply, perhaps because of the network in
 * between, `slow_share` for a group that does not reply while as many callers wait for it as may.
 */
export type WaitCause =
  | 'greylist'
  | 'rate_limit'
  | 'slow_share'
  | 'guard'
  | 'blocked'
  | 'recheck'
  | 'no_reply'

/** Whether a domain accepts mail for names that do not exist. */
export type AcceptAll = 'yes' | 'no' | 'unknown'

/** Whether a domain is accept-all, and when that was found out; `atMs` absent: just now. */
export interface AcceptAllFact {
  readonly value: AcceptAll
  readonly atMs?: number
  readonly by?: string
}

/**
 * Combines a result with a fact of the domain: its time is that of the older of the two, as the
 * account may see it.
 */
export function withOlderFact(
  result: ProbeResult,
  fact: AcceptAllFact,
  account: string,
): ProbeResult {
  if (fact.atMs === undefined) return result
  const atMs = momentFor(fact.atMs, fact.by, account)
  if (result.atMs !== undefined && result.atMs <= atMs) return result
  return { ...result, atMs }
}

/**
 * A cached result as an account may see it. If it is of another account's probe, only the day is
 * shown, and not the text of the reply, which often holds the time and a transaction id.
 */
export function resultFor({ by, ...result }: ProbeResult, account: string): ProbeResult {
  if (by === account) return result
  const { reply_text: _, ...evidence } = result.evidence
  const { atMs } = result
  if (atMs === undefined) return { ...result, evidence }
  return { ...result, evidence, atMs: momentFor(atMs, by, account) }
}

/** A result of status `unknown` with its reason. */
export function unknownResult(
  reason: Reason<'email'>,
  evidence: { readonly [key: string]: Json } = {},
): ProbeResult {
  return {
    status: 'unknown',
    reason,
    mailbox: 'unknown',
    smtpValid: null,
    catchAll: null,
    confidence: 'low',
    evidence,
  }
}

/** The result for a domain without a mail host. */
export function noHostResult(
  reason: 'null_mx' | 'no_domain' | 'no_mail_host',
  evidence: ProbeResult['evidence'] = {},
): ProbeResult {
  return {
    ...unknownResult(reason, evidence),
    status: 'undeliverable',
    smtpValid: false,
    confidence: 'high',
  }
}

/**
 * The result of one reply to RCPT; `acceptAll` and `acceptance` say what an acceptance proves
 * there.
 */
export function resultOfReply(
  meaning: Classified,
  acceptAll: AcceptAll,
  acceptance: 'mailbox' | 'nothing',
  evidence: { readonly [key: string]: Json },
): ProbeResult {
  const base = {
    mailbox: meaning.mailbox,
    catchAll: acceptAll === 'unknown' ? null : acceptAll === 'yes',
    evidence,
  } as const
  if (meaning.status !== 'deliverable') {
    const answered = meaning.mailbox !== 'unknown' || meaning.party === 'mailbox'
    return {
      ...base,
      status: meaning.status,
      reason: meaning.reason,
      smtpValid: answered ? false : null,
      confidence: meaning.confidence,
    }
  }
  if (acceptAll === 'yes') {
    return { ...base, status: 'risky', reason: 'accept_all', smtpValid: true, confidence: 'low' }
  }
  if (acceptance === 'nothing') {
    return {
      ...base,
      status: 'risky',
      reason: 'accept_means_nothing',
      smtpValid: true,
      catchAll: true,
      confidence: 'low',
    }
  }
  return {
    ...base,
    status: 'deliverable',
    reason: 'accepted',
    smtpValid: true,
    confidence: acceptAll === 'no' ? 'high' : 'medium',
  }
}

/**
 * The result of a reply with what it must wait for: a temporary refusal, throttling, or a recheck.
 */
export function withWait(meaning: Classified, result: ProbeResult): ProbeResult {
  if (needsRecheck(result)) return { ...result, wait: { cause: 'recheck', afterMs: 0 } }
  if (meaning.retry && meaning.party === 'server') {
    // Some seconds more, since clocks differ.
    const afterMs = meaning.retrySeconds === null ? 0 : (meaning.retrySeconds + 15) * 1000
    return { ...result, wait: { cause: 'greylist', afterMs } }
  }
  if (meaning.party === 'rate') return { ...result, wait: { cause: 'rate_limit', afterMs: 0 } }
  return result
}

/**
 * Whether a refusal is not proven by a single reply: its sender also uses the code or text for
 * faults of its own, as Microsoft does 5.4.1 and 5.5.0 while its directories are out of sync.
 */
export function needsRecheck(result: ProbeResult): boolean {
  return result.status === 'undeliverable' && result.confidence === 'medium'
}

/**
 * The result of a probe and its recheck: the recheck decides if it says anything about the mailbox.
 * `first` null: no recheck.
 */
export function afterRecheck(first: ProbeResult | null, second: ProbeResult): ProbeResult {
  if (first === null) return second
  const marked = (
    outcome: string,
    result: ProbeResult,
    confidence: ProbeResult['confidence'],
  ): ProbeResult => ({
    ...result,
    confidence,
    evidence: { ...result.evidence, second_look: outcome },
  })
  if (second.status === 'undeliverable') return marked('confirmed', second, 'high')
  if (second.status === 'unknown' && !OUTWEIGHING.has(second.reason))
    return marked('no_answer', first, first.confidence)
  // Two replies that contradict each other are never certain.
  const confidence = second.confidence === 'high' ? 'medium' : second.confidence
  return marked('contradicted', second, confidence)
}

/**
 * Reasons of an unknown result that outweigh a doubtful refusal: the mailbox was shown to exist, or
 * the server refuses us, and then its vague refusal may have been about us too.
 */
const OUTWEIGHING: ReadonlySet<ProbeResult['reason']> = new Set([
  'accepted_exists',
  'blanket_reject',
  'blocked',
])
