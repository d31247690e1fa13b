import type { Finding } from './finding.ts'

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
