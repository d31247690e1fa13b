import type { StoredChunk } from '@plumbline/db/batches/chunks'
import type { BatchRow } from '@plumbline/db/batches/rows'
import { lastBegunChunk, waitingTasks } from '@plumbline/db/batches/waiting'
import type { Db } from '@plumbline/db/database'
import { unpackSubjects, type ChunkSubjects } from './codec.ts'
import { recordsOf } from './record.ts'
import type { OpenChunk } from './row-formatter.ts'
import type { Wait } from './shown-row.ts'

/** How the rows of a running batch are written, chunk by chunk. */
export interface OpenRows {
  /** `not begun`: neither this chunk nor a later one has any outcome. */
  of(chunk: StoredChunk): Promise<OpenChunk | 'not begun'>
}

/**
 * Opens the rows of a running batch.
 *
 * @param follows whether the download ends before the first row without its outcomes; else it ends
 * after the last row that has them or waits for a time, and rows without outcomes before that are
 * shown as waiting
 */
export function openRowsOf(db: Db, batch: BatchRow, follows: boolean): OpenRows {
  // In a batch that is being canceled, open rows become known or canceled in a moment.
  const endsAtOpen = follows || batch.status === 'canceling'
  let lastBegun: Promise<number> | undefined
  return {
    of: async (chunk) => {
      if (chunk.settled) return { waits: new Map(), endsAtOpen, endPlace: Infinity }
      lastBegun ??= lastBegunChunk(db, batch.id)
      const last = await lastBegun
      if (chunk.no > last) return 'not begun'
      const subjects = unpackSubjects(chunk.subjects)
      const waits = await waitsOf(db, batch.id, chunk.no, subjects)
      if (chunk.no < last) return { waits, endsAtOpen, endPlace: Infinity }
      const known = [...recordsOf(chunk, subjects)].filter(([, record]) => record.canceled !== true)
      const places = [...known.map(([place]) => place), ...waits.keys()]
      const end = places.reduce((most, place) => Math.max(most, place + 1), 0)
      return { waits, endsAtOpen, endPlace: end }
    },
  }
}

/**
 * The reason and time for which each row of a chunk waits; of several, the one that lasts longest.
 */
async function waitsOf(
  db: Db,
  batchId: string,
  no: number,
  subjects: ChunkSubjects,
): Promise<ReadonlyMap<number, Wait>> {
  const waits = new Map<number, Wait>()
  for (const task of await waitingTasks(db, batchId, no)) {
    const places = subjects[task.check]?.places ?? []
    for (const place of task.indexes?.map((at) => places[at] ?? -1) ?? places) {
      const known = waits.get(place)
      if (known === undefined || known.until < task.until) waits.set(place, task)
    }
  }
  return waits
}
