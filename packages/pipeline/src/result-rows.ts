import { setImmediate as nextTurn } from 'node:timers/promises'
import type { BatchState } from '@plumbline/contract/batch'
import { Problem } from '@plumbline/contract/problem'
import { CHECKS } from '@plumbline/contract/products'
import { firstRowsOf, readAnswers } from '@plumbline/db/batches/chunks'
import { readDuplicatedRows } from '@plumbline/db/batches/duplicated-rows'
import { readBatch, type BatchRow } from '@plumbline/db/batches/rows'
import { FILELESS_STATES } from '@plumbline/db/batches/states'
import { pagesOfChunks } from './chunk-pages.ts'
import { unpackSubjects } from './codec.ts'
import { openDuplicateOutcomes, type DuplicateOutcomes } from './duplicate-outcomes.ts'
import type { RowFormat } from './line-format.ts'
import type { Pipeline } from './pipeline.ts'
import { openRowsOf } from './open-rows.ts'
import { recordsOf } from './record.ts'
import { createRowFormatter, rowsDuplicatedBy, type ChunkLines } from './row-formatter.ts'

/** Half of the chunks that a download holds in memory: a slow client holds them for long. */
const CHUNKS_AT_ONCE = 2

/** Largest part of a chunk's text that is written to the stream. */
const SLICE_BYTES = 64 * 1_024

/** Which rows of a batch to read, and in which format. */
export interface RowsRequest extends RowFormat {
  /** 1-based number of the last row that the client has; 0 by default. */
  readonly after?: number
  /**
   * Whether the rows end before the first one without all its outcomes, instead of showing it as
   * waiting.
   */
  readonly follows?: boolean
  /** Awaited before each chunk is decoded, which blocks the process for a while. */
  readonly turn?: () => Promise<void>
  /** Whether only refused rows are requested; they are known right after intake. */
  readonly refused?: boolean
}

/**
 * Whether all rows of a batch are answered; throws if it will never have results.
 *
 * @throws Problem `conflict`, `not_found` once erased
 */
export function hasResults(batch: BatchRow): boolean {
  switch (batch.status) {
    case 'completed':
    case 'canceled':
      return true
    case 'running':
    case 'paused':
    case 'finalizing':
    case 'canceling':
      return false
    case 'analyzing':
    case 'ready':
      throw new Problem('conflict', `The batch is ${batch.status}; it has no results yet.`)
    case 'failed':
      throw new Problem('conflict', 'The batch failed and has no results; see its error.')
    case 'expired':
      throw new Problem('not_found', 'The results were erased when their retention ended.')
  }
}

/**
 * The rows of a batch in a format, in order; while it runs, those that have all their outcomes, and
 * waiting rows between them.
 *
 * @throws Error if rows are erased meanwhile
 */
export async function* rowsOf(
  pipeline: Pipeline,
  batch: BatchRow,
  request: RowsRequest,
): AsyncGenerator<Buffer, void, undefined> {
  const { after = 0, turn = nextTurn, follows = false, refused = false } = request
  // The first read also blocks the process, which matters if many downloads begin at once.
  await turn()
  const duplicated = await readDuplicatedRows(pipeline.db, batch.id)
  using duplicates = openDuplicateOutcomes(duplicated, pipeline.scratchDir)
  const scorer = await pipeline.scorers.of(batch.weights)
  const writer = createRowFormatter(batch, request, { scorer, duplicates })
  // A worksheet needs its header row, even without others.
  const headed = after === 0 || request.form.kind === 'sheet'
  if (headed && writer.header !== '') yield Buffer.from(writer.header)
  let lastRow = after
  const starts = await firstRowsOf(pipeline.db, batch.id)
  // Refused rows are known before any outcome.
  const open = !refused && !hasResults(batch)
  const openRows = openRowsOf(pipeline.db, batch, follows)
  const from = after < batch.rows_total ? chunkOf(starts, after) : undefined
  for await (const page of from === undefined
    ? []
    : pagesOfChunks(pipeline, batch.id, { fromNo: from, atOnce: CHUNKS_AT_ONCE })) {
    for (const chunk of page) {
      const state = open ? await openRows.of(chunk) : undefined
      if (state === 'not begun') return
      await turn()
      const firstRows = refused ? [] : rowsDuplicatedBy(chunk, duplicates)
      const missing = new Set(firstRows.map((row) => chunkOf(starts, row)))
      await keepOutcomes(pipeline, batch, missing, { duplicates, turn })
      const { ended } = yield* slicesOf(writer.lines(chunk, after, state))
      if (ended) return
      lastRow = chunk.firstRow + chunk.rowCount
    }
  }
  // Deleted or expired meanwhile: a stream that ended normally would pass for complete. Chunks in
  // between may be missing, or the outcomes of those that were read.
  if (!open && (lastRow < batch.rows_total || (await isErased(pipeline, batch)))) {
    throw new Error(`batch ${batch.id} ended at row ${lastRow} of ${batch.rows_total}`)
  }
}

/** Whether the erasure of a batch's rows has begun; it is noted before the first of them. */
async function isErased({ db }: Pipeline, { id }: BatchRow): Promise<boolean> {
  const now = await readBatch(db, id)
  return now === undefined || now.erasing !== null || FILELESS.includes(now.status)
}

const FILELESS: readonly BatchState[] = FILELESS_STATES

/** Lines in slices, so that the next are not formatted before these are nearly sent. */
function* slicesOf(
  pieces: Generator<string, ChunkLines, undefined>,
): Generator<Buffer, ChunkLines, undefined> {
  let piece = pieces.next()
  for (; piece.done !== true; piece = pieces.next()) {
    const lines = Buffer.from(piece.value)
    for (let at = 0; at < lines.length; at += SLICE_BYTES) {
      yield lines.subarray(at, at + SLICE_BYTES)
    }
  }
  return piece.value
}

/** Number of the chunk that holds a row; undefined if there are no chunks any more. */
function chunkOf(starts: Awaited<ReturnType<typeof firstRowsOf>>, row: number): number | undefined {
  let low = 0
  let high = starts.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((starts[middle]?.firstRow ?? 0) <= row) low = middle + 1
    else high = middle
  }
  return starts[low - 1]?.no
}

/** Earlier chunks read by one query: a few megabytes, as their cells are not read. */
const EARLIER_CHUNKS = 32

/**
 * Loads the outcomes that later rows duplicate from the chunks before the first one read: each such
 * chunk is read once, however many rows duplicate its rows.
 */
async function keepOutcomes(
  pipeline: Pipeline,
  batch: BatchRow,
  missing: ReadonlySet<number | undefined>,
  { duplicates, turn }: { duplicates: DuplicateOutcomes; turn: () => Promise<void> },
): Promise<void> {
  const nos = [...missing].filter((no) => no !== undefined)
  for (let at = 0; at < nos.length; at += EARLIER_CHUNKS) {
    const page = nos.slice(at, at + EARLIER_CHUNKS)
    for (const chunk of await readAnswers(pipeline.db, batch.id, page)) {
      await turn()
      const subjects = unpackSubjects(chunk.subjects)
      const records = recordsOf(chunk, subjects)
      for (const place of new Set(CHECKS.flatMap((check) => subjects[check]?.places ?? []))) {
        const row = chunk.firstRow + place
        if (duplicates.isDuplicated(row)) duplicates.keep(row, records.get(place))
      }
    }
  }
}
