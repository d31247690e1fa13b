import { VENDORS } from '@plumbline/contract/vendors'
import type { BatchRow } from '@plumbline/db/batches/rows'
import type { StoredClaim } from './codec.ts'

/** Prefix of the error of a known row. */
const KNOWN_NOTE = 'known: '

/**
 * The error text of a known row, in place of a result: which service's verdict it is and its date,
 * or which earlier row it duplicates.
 */
export function knownNote(batch: Pick<BatchRow, 'known'>, claim: StoredClaim | undefined): string {
  const { known } = batch
  if (known === null || claim === undefined) return `${KNOWN_NOTE}another service judged it`
  if ('ofRow' in claim) return `${KNOWN_NOTE}the same address as in row ${claim.ofRow + 1}`
  const { word, at } = claim
  return `${KNOWN_NOTE}${VENDORS[known.vendor]} says ${word} of ${at}; not asked and not charged`
}
