import { createHash } from 'node:crypto'
import type { Turn } from '@plumbline/concurrency/event-loop-turns'
import { checksGiven, PRODUCT_PLANS, type Check } from '@plumbline/contract/products'
import { readChunks, type NewChunk } from '@plumbline/db/batches/chunks'
import type { BatchRow } from '@plumbline/db/batches/rows'
import { billableChunks } from '@plumbline/db/batches/samples'
import type { Db } from '@plumbline/db/database'
import type { SamplePlace } from '@plumbline/db/tables/batches'
import type { FileRow } from '@plumbline/intake/row-builder'
import { buildChunk } from './chunk-builder.ts'
import { unpackCells, unpackSubjects, type ChunkCells, type ChunkSubjects } from './codec.ts'

/**
 * Rows drawn from a batch: one chunk with their subjects, and the position of each in the batch.
 */
export interface DrawnSample {
  readonly chunk: NewChunk
  readonly places: readonly SamplePlace[]
  /** The checks that each row has a subject for. */
  readonly supplied: readonly (readonly Check[])[]
}

/** Seed of the draw: the same for each draw from a batch, and different for each batch. */
export function seedOf(batchId: string): string {
  return createHash('sha256').update(batchId).digest('hex').slice(0, 16)
}

/**
 * Draws billable rows from the whole batch with equal chance; the same rows for the same seed.
 * Reads the chunks that hold them one after the other.
 *
 * @param turn awaited before each chunk is decoded, which blocks the process for a while
 */
export async function drawSample(
  db: Db,
  batch: BatchRow,
  most: number,
  turn: Turn,
): Promise<DrawnSample> {
  const chunks = await billableChunks(db, batch.id)
  const total = chunks.reduce((sum, { count }) => sum + count, 0)
  const ordinals = drawOrdinals(seedOf(batch.id), total, most)
  const rows: DrawnRow[] = []
  let before = 0
  for (const { no, count } of chunks) {
    const within = ordinals.filter((ordinal) => ordinal >= before && ordinal < before + count)
    const first = before
    before += count
    if (within.length === 0) continue
    const [chunk] = await readChunks(db, batch.id, { fromNo: no, most: 1 })
    if (chunk === undefined) continue
    await turn()
    const subjects = unpackSubjects(chunk.subjects)
    const cells = unpackCells(chunk.cells)
    const billable = subjects[PRODUCT_PLANS[batch.product].required]?.places ?? []
    for (const ordinal of within) {
      const place = billable[ordinal - first]
      if (place !== undefined) rows.push(drawnRow({ chunkNo: no, place }, subjects, cells))
    }
  }
  return packRows(rows)
}

/** Distinct whole numbers below `total`, sorted, derived from hashes of the seed. */
export function drawOrdinals(seed: string, total: number, most: number): readonly number[] {
  if (total <= most) return Array.from({ length: total }, (_, at) => at)
  const drawn = new Set<number>()
  for (let at = 0; drawn.size < most; at++) {
    const bytes = createHash('sha256').update(`${seed}:${at}`).digest()
    drawn.add(Math.floor((bytes.readUIntBE(0, 6) / 2 ** 48) * total))
  }
  return [...drawn].toSorted((a, b) => a - b)
}

interface DrawnRow {
  readonly from: SamplePlace
  readonly row: FileRow
}

function drawnRow(from: SamplePlace, subjects: ChunkSubjects, cells: ChunkCells): DrawnRow {
  const { place } = from
  const subjectOf = (check: Check): string | undefined => {
    const held = subjects[check]
    return held?.subjects[held.places.indexOf(place)]
  }
  const row = {
    row: 0,
    kind: 'billable' as const,
    cells: cells.rows[place] ?? [],
    subjects: {
      email: subjectOf('email'),
      phone: subjectOf('phone'),
      ip: subjectOf('ip'),
      domain: subjectOf('domain'),
    },
    ref: cells.refs[place],
    ofRow: undefined,
    claim: undefined,
    error: cells.errors[place],
  }
  return { from, row }
}

function packRows(drawn: readonly DrawnRow[]): DrawnSample {
  const rows = drawn.map(({ row }) => row)
  return {
    chunk: buildChunk(0, rows),
    places: drawn.map(({ from }) => from),
    supplied: rows.map(({ subjects }) => checksGiven(subjects)),
  }
}
