import { CHECKS, type Check } from '@plumbline/contract/products'
import {
  answeredParts,
  countVerdicts,
  storeAnsweredCount,
  type AnsweredPart,
} from '@plumbline/db/batches/answered-rows'
import { partsOfChunk } from '@plumbline/db/batches/chunks'
import type { Tx } from '@plumbline/db/database'
import type { ChunkSubjects, StoredOutcome } from './codec.ts'
import { recordsOfCanceled, verdictCounts, verdictNames, type CheckedRecord } from './record.ts'
import type { UnsettledChunk } from './settle.ts'

/**
 * Counts the rows of an open chunk that have all their outcomes, and their verdicts, in the
 * transaction that stored more of them. If the chunk has one check only, the count follows from the
 * open subjects.
 *
 * @param fresh the stored outcomes if they are of one check; else everything known of the chunk is
 * read
 */
export async function countAnsweredRows(
  tx: Tx,
  chunk: UnsettledChunk,
  fresh: { readonly check: Check; readonly outcomes: readonly StoredOutcome[] } | null,
): Promise<void> {
  const { product, scorer, subjects } = chunk
  const isOfOne = Object.keys(subjects).length < 2
  const hasVerdicts = verdictNames(product).length > 0
  if (isOfOne && fresh !== null) {
    if (!hasVerdicts) return
    const records = fresh.outcomes.map((outcome) => recordOfOne(fresh.check, outcome))
    await countVerdicts(tx, chunk, verdictCounts(product, records, scorer), 'add')
    return
  }
  if (!isOfOne) {
    const known = answeredRows(subjects, await answeredParts(tx, chunk))
    if (!(await storeAnsweredCount(tx, chunk, known))) return
  }
  if (!hasVerdicts) return
  const records = recordsOfCanceled(subjects, await partsOfChunk(tx, chunk))
  await countVerdicts(tx, chunk, verdictCounts(product, records.values(), scorer), 'set')
}

function recordOfOne(check: Check, outcome: StoredOutcome): CheckedRecord {
  return outcome === null
    ? { outcomes: {}, failed: true }
    : { outcomes: { [check]: outcome }, failed: false }
}

/** How many rows of a chunk have an outcome for each of their subjects. */
export function answeredRows(subjects: ChunkSubjects, parts: readonly AnsweredPart[]): number {
  const open = new Map<number, number>()
  for (const check of CHECKS) {
    for (const place of subjects[check]?.places ?? []) open.set(place, (open.get(place) ?? 0) + 1)
  }
  let known = 0
  for (const { check, indexes } of parts) {
    const places = subjects[check]?.places ?? []
    for (const place of indexes === null ? places : indexes.map((at) => places[at] ?? -1)) {
      const left = (open.get(place) ?? 0) - 1
      open.set(place, left)
      if (left === 0) known += 1
    }
  }
  return known
}
