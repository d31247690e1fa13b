import { KNOWN } from '@plumbline/contract/vendors'
import type { ChunkKey } from '@plumbline/db/batches/chunks'
import { lockOpenChunk, storeRowsToCheck } from '@plumbline/db/batches/known-rows-to-check'
import type { Tx } from '@plumbline/db/database'
import type { SamplePlace } from '@plumbline/db/tables/batches'
import type { FileRow } from '@plumbline/intake/row-builder'
import {
  pack,
  packCells,
  unpackCells,
  unpackSubjects,
  type ChunkCells,
  type ChunkSubjects,
} from './codec.ts'
import { drawOrdinals, seedOf } from './draw-sample.ts'
import { isErasedSubject } from './erased-row.ts'

/** Counts the known rows of each chunk, whose verdicts come from another service. */
export interface ClaimedRows {
  add(row: FileRow): void
  /** Closes a chunk: later rows count for the next one. */
  endChunk(): void
  /** Numbers by chunk. */
  readonly counts: readonly number[]
}

/** Makes the counter for a batch that is being read. */
export function countClaimedRows(): ClaimedRows {
  const counts: number[] = []
  let count = 0
  return {
    add: ({ kind, claim }) => {
      if (kind === 'known' && claim !== undefined) count += 1
    },
    endChunk: () => {
      counts.push(count)
      count = 0
    },
    counts,
  }
}

/**
 * Selects some of the known rows to be checked nevertheless, drawn from the whole batch with equal
 * chance, and the same rows however often the batch is read. The caller has locked the batch.
 *
 * @param counts known rows of each chunk
 * @returns the positions of the selected rows
 */
export async function selectKnownRows(
  tx: Tx,
  batchId: string,
  counts: readonly number[],
): Promise<readonly SamplePlace[]> {
  const total = counts.reduce((sum, count) => sum + count, 0)
  const ordinals = drawOrdinals(seedOf(batchId), total, KNOWN.askedRows)
  const asked: SamplePlace[] = []
  let before = 0
  for (const [no, count] of counts.entries()) {
    const first = before
    before += count
    const within = ordinals.filter((ordinal) => ordinal >= first && ordinal < before)
    if (within.length === 0) continue
    const places = await askOfChunk(tx, { batchId, no }, new Set(within.map((at) => at - first)))
    asked.push(...places.map((place) => ({ chunkNo: no, place })))
  }
  return asked
}

async function askOfChunk(
  tx: Tx,
  chunk: ChunkKey,
  drawn: ReadonlySet<number>,
): Promise<readonly number[]> {
  const held = await lockOpenChunk(tx, chunk.batchId, chunk.no)
  if (held === undefined) throw new Error(`chunk ${chunk.no} of ${chunk.batchId} is gone`)
  const cells = unpackCells(held.cells)
  const claimed = [...cells.kinds.keys()].filter((place) => isClaimed(cells, place))
  // A value may have been erased since the row was read, so that there is no subject left.
  const places = claimed.filter((place, at) => drawn.has(at) && addressOf(cells, place) !== null)
  if (places.length === 0) return []
  const rows = new Set(places)
  const kinds = cells.kinds.map((kind, place) => (rows.has(place) ? ('billable' as const) : kind))
  const unchecked = Object.entries(cells.uncheckedSubjects)
  const left = unchecked.filter(([place]) => !rows.has(Number(place)))
  await storeRowsToCheck(tx, chunk, {
    count: places.length,
    subjects: pack(withAddresses(unpackSubjects(held.subjects), cells, places)),
    cells: packCells({ ...cells, kinds, uncheckedSubjects: Object.fromEntries(left) }),
  })
  return places
}

function isClaimed(cells: ChunkCells, place: number): boolean {
  const claim = cells.claims?.[place]
  return cells.kinds[place] === 'known' && claim !== undefined && 'verdict' in claim
}

/** The email address of a known row; null if it was erased. */
function addressOf(cells: ChunkCells, place: number): string | null {
  const address = cells.uncheckedSubjects[place]?.email
  return address === undefined || isErasedSubject(address) ? null : address
}

/** The subjects of a chunk with the addresses of these rows added, in row order. */
function withAddresses(
  subjects: ChunkSubjects,
  cells: ChunkCells,
  places: readonly number[],
): ChunkSubjects {
  const { email } = subjects
  const all = [
    ...(email?.places.map((place, at) => ({ place, subject: email.subjects[at] ?? '' })) ?? []),
    ...places.map((place) => ({ place, subject: addressOf(cells, place) ?? '' })),
  ].toSorted((a, b) => a.place - b.place)
  return {
    ...subjects,
    email: { subjects: all.map(({ subject }) => subject), places: all.map(({ place }) => place) },
  }
}
