import { VENDORS } from '@plumbline/contract/vendors'
import type { BatchRow } from '@plumbline/db/batches/rows'
import type { StoredClaim } from './codec.ts'

/** What the error of a known row begins with. */
const KNOWN_NOTE = 'known: '

/**
 * What a known row says in place of a result: by whose word it is known, and since when; or which row before it is
 * the same.
 */
export function knownNote(batch: Pick<BatchRow, 'known'>, claim: StoredClaim | undefined): string {
  const { known } = batch
  if (known === null || claim === undefined) return `${KNOWN_NOTE}another service judged it`
  if ('ofRow' in claim) return `${KNOWN_NOTE}the same address as in row ${claim.ofRow + 1}`
  const { word, at } = claim
  return `${KNOWN_NOTE}${VENDORS[known.vendor]} says ${word} of ${at}; not asked and not charged`
}
