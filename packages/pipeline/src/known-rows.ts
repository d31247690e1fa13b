import { CHECKS } from '@plumbline/contract/products'
import { answeredParts, noteKnownRows, type AnsweredPart } from '@plumbline/db/batches/known-rows'
import type { Tx } from '@plumbline/db/database'
import type { ChunkSubjects } from './codec.ts'

/**
 * Counts the rows of an open chunk of several checks that are known whole, in the transaction that stored more
 * of them. Of one check the count follows from the subjects that are left.
 */
export async function countKnownRows(
  tx: Tx,
  chunk: { batchId: string; no: number },
  subjects: ChunkSubjects,
): Promise<void> {
  if (Object.keys(subjects).length < 2) return
  await noteKnownRows(tx, chunk, knownRows(subjects, await answeredParts(tx, chunk)))
}

/** How many rows of a chunk have an outcome for each subject that they hold. */
export function knownRows(subjects: ChunkSubjects, parts: readonly AnsweredPart[]): number {
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
