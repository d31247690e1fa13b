import type { EmailStatus, Json } from '@plumbline/contract/outcome'
import type { Reason } from '@plumbline/contract/reasons'
import type { Classified } from './classify.ts'
import { maskLocals } from './reply-text.ts'
import { momentFor } from '@plumbline/ports/sharing'

/** What asking about one mailbox came to, apart from what lists say of it. Held in memory as it is. */
export interface Finding {
  readonly status: EmailStatus
  readonly reason: Reason<'email'>
  readonly mailbox: 'accepted' | 'missing' | 'disabled' | 'full' | 'unknown'
  readonly smtpValid: boolean | null
  readonly catchAll: boolean | null
  readonly confidence: 'high' | 'medium' | 'low'
  readonly evidence: { readonly [key: string]: Json }
  /** When the oldest fact behind it was found out, milliseconds since the epoch; absent: just now. */
  readonly atMs?: number
  /** The account that it was found out for; in memory alone. */
  readonly by?: string
}

/** What is known of a domain's way with unknown names. */
export type AcceptAll = 'yes' | 'no' | 'unknown'

/** A domain's way with unknown names, and when it was found out; absent: just now. */
export interface AcceptAllFact {
  readonly value: AcceptAll
  readonly atMs?: number
  readonly by?: string
}

/**
 * A finding that also rests on a fact of that moment, as an account may know it: of the two the older
 * counts.
 */
export function restingOn(finding: Finding, fact: AcceptAllFact, account: string): Finding {
  if (fact.atMs === undefined) return finding
  const atMs = momentFor(fact.atMs, fact.by, account)
  if (finding.atMs !== undefined && finding.atMs <= atMs) return finding
  return { ...finding, atMs }
}

/**
 * A finding of memory as it is told to an account. Of another's the day is told, and not the words of
 * the server, which often hold the time and an id of that very question.
 */
export function findingFor({ by, ...finding }: Finding, account: string): Finding {
  if (by === account) return finding
  const { reply_text: _, ...evidence } = finding.evidence
  const { atMs } = finding
  if (atMs === undefined) return { ...finding, evidence }
  return { ...finding, evidence, atMs: momentFor(atMs, by, account) }
}

/** An answer about a mailbox, or what it waits for. */
export type Verdict =
  | { readonly kind: 'finding'; readonly finding: Finding }
  | {
      readonly kind: 'wait'
      readonly cause: WaitCause
      readonly afterMs: number
      readonly finding: Finding
    }

/**
 * Why a subject waits: `greylist` for the server's own delay, `room` for its group's limits, `guard`
 * for a guard against too many probes, `breaker` while the group refuses us, `doubt` for a second look
 * at a refusal that one reply does not prove, `silence` for another try at hosts or names that nothing
 * was heard of, which may be a fault of the network between.
 */
export type WaitCause = 'greylist' | 'room' | 'guard' | 'breaker' | 'doubt' | 'silence'

/** A finding of unknown with its reason. */
export function unknownFinding(
  reason: Reason<'email'>,
  evidence: { readonly [key: string]: Json } = {},
): Finding {
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

/** The finding of one reply to RCPT, with what is known of the domain's way with unknown names. */
export function findingOf(
  met: Classified,
  acceptAll: AcceptAll,
  acceptance: 'mailbox' | 'nothing',
  evidence: { readonly [key: string]: Json },
): Finding {
  const base = {
    mailbox: met.mailbox,
    catchAll: acceptAll === 'unknown' ? null : acceptAll === 'yes',
    evidence,
  } as const
  if (met.verdict !== 'deliverable') {
    const answered = met.mailbox !== 'unknown' || met.party === 'mailbox'
    return {
      ...base,
      status: met.verdict,
      reason: met.reason,
      smtpValid: answered ? false : null,
      confidence: met.confidence,
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

/** What a finding of a reply is to its subject: a temporary one waits, and so does a doubtful one. */
export function verdictOf(met: Classified, finding: Finding): Verdict {
  if (isDoubtful(finding)) return { kind: 'wait', cause: 'doubt', afterMs: 0, finding }
  if (met.retry && met.party === 'server') {
    return {
      kind: 'wait',
      cause: 'greylist',
      // Some seconds over, so that clocks that differ do not make the wait too short.
      afterMs: met.retrySeconds === null ? 0 : (met.retrySeconds + 15) * 1000,
      finding,
    }
  }
  if (met.party === 'rate') return { kind: 'wait', cause: 'room', afterMs: 0, finding }
  return { kind: 'finding', finding }
}

/**
 * Whether a refusal is one that a single reply does not prove: its source also uses the code or the
 * words for faults of its own, as Microsoft does 5.4.1 and 5.5.0 while its directories are out of step.
 */
export function isDoubtful(finding: Finding): boolean {
  return finding.status === 'undeliverable' && finding.confidence === 'medium'
}

/** What two looks come to: the second decides where it tells anything of the mailbox. `first` null: a single look. */
export function afterTwoLooks(first: Finding | null, second: Finding): Finding {
  if (first === null) return second
  const says = (look: string, finding: Finding, confidence: Finding['confidence']): Finding => ({
    ...finding,
    confidence,
    evidence: { ...finding.evidence, second_look: look },
  })
  if (second.status === 'undeliverable') return says('confirmed', second, 'high')
  if (second.status === 'unknown' && !DECIDES.has(second.reason))
    return says('no_answer', first, first.confidence)
  // Two words against each other are never certain.
  const confidence = second.confidence === 'high' ? 'medium' : second.confidence
  return says('contradicted', second, confidence)
}

/**
 * Reasons of an unknown that outweigh a doubtful refusal: the mailbox was shown to exist, or the
 * server turns out to refuse us, and then its vague refusal may have been meant for us too.
 */
const DECIDES: ReadonlySet<Finding['reason']> = new Set([
  'accepted_exists',
  'blanket_reject',
  'blocked',
])

/** A reply's text as evidence: one line, without the address, at most 200 characters. */
export function maskedText(text: string, local: string): string {
  const short = text.slice(0, 2000)
  // Most replies are plain words; what follows costs much more than this look.
  const plain = PLAIN_TEXT.test(short) ? short : short.replaceAll(/[\p{C}\s]+/gu, ' ').trim()
  // The cut may go through a character that takes two.
  return withoutWord(maskLocals(plain, '***'), local.toLowerCase()).slice(0, 200).toWellFormed()
}

/** Printable ASCII with single spaces inside. */
const PLAIN_TEXT = /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/

/** A local part shorter than this is too often a word of the reply itself. */
const LOCAL_MIN_CHARS = 3

/** Masks a name where it stands alone, without a pattern made of foreign text. */
function withoutWord(text: string, word: string): string {
  const lower = text.toLowerCase()
  // Where lower case changes the length, positions would not fit.
  if (word.length < LOCAL_MIN_CHARS || lower.length !== text.length) return text
  let out = ''
  let from = 0
  for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + word.length)) {
    const end = at + word.length
    if (isWordChar(lower[at - 1]) || isWordChar(lower[end])) continue
    out += `${text.slice(from, at)}***`
    from = end
  }
  return out + text.slice(from)
}

function isWordChar(char: string | undefined): boolean {
  return char !== undefined && /[\p{L}\p{N}]/u.test(char)
}
