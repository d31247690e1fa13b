import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Problem } from '@plumbline/contract/problem'
import { CHECKS } from '@plumbline/contract/products'
import { firstRowsOf, readAnswers } from '@plumbline/db/batches/chunks'
import { readRepeatedRows } from '@plumbline/db/batches/repeated-rows'
import { findBatch, type BatchOwner, type BatchRow } from '@plumbline/db/batches/rows'
import { pagesOfChunks } from './chunk-pages.ts'
import { unpackSubjects } from './codec.ts'
import { noSuchBatch } from './batch-access.ts'
import type { Pipeline } from './pipeline.ts'
import { recordsOf } from './record.ts'
import { openDuplicateOutcomes, type DuplicateOutcomes } from './duplicate-outcomes.ts'
import { STORED_FORM, type RowFormat } from './line-format.ts'
import { createRowFormatter, type RowFormatter } from './row-formatter.ts'

/** What of the results is asked for. */
export interface ResultsRequest {
  readonly format: 'csv' | 'ndjson'
  /** Verdicts or row statuses; empty for every row. */
  readonly only: readonly string[]
  readonly raw: boolean
  /** 1-based number of the last row that the client has; 0 for all. */
  readonly after: number
}

/** A result file that is sent to a client. */
export interface Results {
  /** Whether every row is there; false while the batch runs. */
  readonly complete: boolean
  readonly contentType: string
  readonly fileName: string
  /** Known for the finished file only. */
  readonly bytes: number | undefined
  readonly stream: Readable
}

/** Chunks of which a download holds as many twice: a client that reads slowly holds them for long. */
const CHUNKS_AT_ONCE = 2

/** Largest piece of a chunk's text that is passed to the stream. */
const SLICE_BYTES = 64 * 1_024

/**
 * Opens the results of a batch. While it runs, the rows of all chunks settled so far without a gap
 * are there, in order; the client asks on with the number of the last row it has.
 * @param turn waited for before each chunk is written out, which takes the process a while
 * @throws Problem `not_found` (also once erased), `conflict` where there are none (not started, failed)
 */
export async function openResults(
  pipeline: Pipeline,
  owner: BatchOwner,
  id: string,
  request: ResultsRequest,
  turn: () => Promise<void> = nextTurn,
): Promise<Results> {
  const batch = await findBatch(pipeline.db, owner, id)
  if (batch === undefined) throw noSuchBatch()
  const complete = hasResults(batch)
  const facts = {
    complete,
    contentType:
      request.format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson; charset=utf-8',
    fileName: `${batch.id}.${request.format}`,
  }
  const asWritten =
    request.format === 'csv' && !request.raw && request.only.length === 0 && request.after === 0
  if (complete && asWritten && batch.result_key !== null) {
    const stream = await pipeline.storage.open(batch.result_key)
    return { ...facts, bytes: batch.result_bytes ?? undefined, stream }
  }
  const { format, raw } = request
  const rows = rowsOf(pipeline, batch, {
    form: format === 'csv' ? { ...STORED_FORM, raw } : { kind: 'ndjson' },
    after: request.after,
    only: request.only.length === 0 ? null : new Set(request.only),
    turn,
  })
  return { ...facts, bytes: undefined, stream: Readable.from(rows, { objectMode: false }) }
}

/** Whether all rows are there; refuses where there will be none. */
function hasResults(batch: BatchRow): boolean {
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

async function* rowsOf(
  pipeline: Pipeline,
  batch: BatchRow,
  request: RowFormat & { after: number; turn: () => Promise<void> },
): AsyncGenerator<Buffer, void, undefined> {
  // Also what is read first is work, where many begin at once.
  await request.turn()
  const repeated = await readRepeatedRows(pipeline.db, batch.id)
  using duplicates = openDuplicateOutcomes(
    repeated,
    join(pipeline.scratchDir, `repeats-${randomUUID()}`),
  )
  const scorer = await pipeline.scorers.of(batch.weights)
  const writer = createRowFormatter(batch, request, { scorer, duplicates })
  if (request.after === 0 && writer.header !== '') yield Buffer.from(writer.header)
  let lastRow = request.after
  const starts = await firstRowsOf(pipeline.db, batch.id)
  const open = !hasResults(batch)
  const from = request.after < batch.rows_total ? chunkOf(starts, request.after) : undefined
  for await (const page of from === undefined
    ? []
    : pagesOfChunks(pipeline, batch.id, { fromNo: from, atOnce: CHUNKS_AT_ONCE })) {
    for (const chunk of page) {
      if (!chunk.settled && open) return
      await request.turn()
      const missing = new Set(
        writer.rowsDuplicatedBy(chunk, duplicates).map((row) => chunkOf(starts, row)),
      )
      const kept = await keepOutcomes(pipeline, batch, missing, duplicates)
      // A duplicate has no outcome before the row that it repeats.
      if (kept === 'unsettled' && open) return
      yield* linesOf(writer, chunk, request.after)
      lastRow = chunk.firstRow + chunk.rowCount
    }
  }
  // Deleted or expired meanwhile: a stream that ends like any other would pass for whole.
  if (hasResults(batch) && lastRow < batch.rows_total) {
    throw new Error(`batch ${batch.id} ended at row ${lastRow} of ${batch.rows_total}`)
  }
}

function* linesOf(
  writer: RowFormatter,
  chunk: Parameters<RowFormatter['lines']>[0],
  after: number,
): Generator<Buffer, void, undefined> {
  const lines = Buffer.from(writer.lines(chunk, after).text)
  // In slices, so that the next chunk is not written out before this one is nearly sent.
  for (let at = 0; at < lines.length; at += SLICE_BYTES) yield lines.subarray(at, at + SLICE_BYTES)
}

/** Number of the chunk that holds a row; undefined where there are no chunks any more. */
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

/** Earlier chunks read by one query: a few megabytes, as their cells stay where they are. */
const EARLIER_CHUNKS = 32

/**
 * Keeps the outcomes of chunks before the one that the reading began with, all that any later row
 * repeats: each such chunk is read once, however many rows repeat its own.
 */
async function keepOutcomes(
  pipeline: Pipeline,
  batch: BatchRow,
  missing: ReadonlySet<number | undefined>,
  duplicates: DuplicateOutcomes,
): Promise<'settled' | 'unsettled'> {
  const nos = [...missing].filter((no) => no !== undefined)
  let settled = true
  for (let at = 0; at < nos.length; at += EARLIER_CHUNKS) {
    const page = nos.slice(at, at + EARLIER_CHUNKS)
    for (const chunk of await readAnswers(pipeline.db, batch.id, page)) {
      settled &&= chunk.settled
      const subjects = unpackSubjects(chunk.subjects)
      const records = recordsOf(chunk, subjects)
      for (const place of new Set(CHECKS.flatMap((check) => subjects[check]?.places ?? []))) {
        const row = chunk.firstRow + place
        if (duplicates.isRepeated(row)) duplicates.keep(row, records.get(place))
      }
    }
  }
  return settled ? 'settled' : 'unsettled'
}
