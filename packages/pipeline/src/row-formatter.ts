import type { Scorer } from '@plumbline/contract/score'
import type { StoredChunk } from '@plumbline/db/batches/chunks'
import type { BatchRow } from '@plumbline/db/batches/rows'
import { unpackCells, unpackSubjects, type ChunkCells } from './codec.ts'
import { csvLines } from './csv-lines.ts'
import type { DuplicateOutcomes } from './duplicate-outcomes.ts'
import { knownNote } from './known-row.ts'
import type { LineFormat, RowForm, RowFormat } from './line-format.ts'
import { ndjsonLines } from './ndjson-lines.ts'
import { recordAsAsked, recordsOf, verdictOf, type CheckedRecord } from './record.ts'
import { sheetLines } from './sheet-lines.ts'
import {
  chargedFor,
  errorOf,
  recommendationOf,
  resultOf,
  statusOf,
  type RowStatus,
  type ShownRow,
  type Wait,
} from './shown-row.ts'

/** A chunk of a running batch: rows without outcomes may still get them. */
export interface OpenChunk {
  /** Why and until when rows wait, by position in the chunk. */
  readonly waits: ReadonlyMap<number, Wait>
  /**
   * Whether the lines end before the first row without all its outcomes, instead of showing it as
   * waiting.
   */
  readonly endsAtOpen: boolean
  /** Position after the last row with any outcome. */
  readonly endPlace: number
}

/** The number of lines, and whether a row without outcomes ended them. */
export interface ChunkLines {
  readonly count: number
  readonly ended: boolean
}

/** Characters from which on lines are handed out, before more are made. */
const PIECE_CHARS = 256 * 1_024

/** Formats the rows of a batch, chunk by chunk. */
export interface RowFormatter {
  /** The line of column names; empty for NDJSON. */
  readonly header: string
  /**
   * Lines of a chunk's rows after `afterRow` (1-based row numbers), in pieces: an ordinary chunk is
   * one, but chosen columns and repeated names can make its lines hundreds of times as long.
   */
  lines(
    chunk: StoredChunk,
    afterRow: number,
    open?: OpenChunk,
  ): Generator<string, ChunkLines, undefined>
}

/**
 * Makes the formatter of a batch's rows.
 *
 * @param tools.duplicates stores the outcomes of rows with later duplicates, and returns them for
 * those
 * @throws Problem `bad_request` for columns that the batch does not have
 */
export function createRowFormatter(
  batch: BatchRow,
  format: RowFormat,
  tools: {
    /** With the weights of the batch. */
    readonly scorer: Scorer
    readonly duplicates: DuplicateOutcomes
  },
): RowFormatter {
  const scorer = scoringOnce(tools.scorer)
  const lineFormat = lineFormatOf(batch, format.form, scorer)
  const lines: RowFormatter['lines'] = function* (chunk, afterRow, open) {
    const cells = unpackCells(chunk.cells)
    const records = recordsOf(chunk, unpackSubjects(chunk.subjects))
    let text = ''
    let count = 0
    for (const [place, kind] of cells.kinds.entries()) {
      const row = chunk.firstRow + place
      const own = records.get(place)
      if (kind === 'billable' && tools.duplicates.isDuplicated(row)) tools.duplicates.keep(row, own)
      if (row < afterRow) continue
      const record = kind === 'duplicate' ? recordOfDuplicate(cells, place, tools.duplicates) : own
      const status = statusOf(kind, record, open !== undefined)
      if (open !== undefined && isEnd(open, place, status)) {
        yield text
        return { count, ended: true }
      }
      const recommendation = recommendationOf(batch, status, record, scorer)
      const shown: ShownRow = {
        row,
        status,
        record,
        recommendation,
        verdict: record === undefined ? null : (verdictOf(batch.product, record, scorer) ?? null),
        result: resultOf(batch, status, record, scorer),
        charged: status === 'waiting' ? 0 : chargedFor(batch, own),
        error: errorOf(status, faultOf(batch, cells, place), open?.waits.get(place)),
      }
      const isHidden = format.only !== null && !isWanted(shown, format.only)
      if (isHidden && !isBefore(shown, chunk.settledAt, format.before ?? null)) {
        lineFormat.passed?.(shown)
        continue
      }
      text += lineFormat.line(cells, place, shown)
      count++
      if (text.length < PIECE_CHARS) continue
      yield text
      text = ''
    }
    yield text
    return { count, ended: false }
  }
  return { header: lineFormat.header, lines }
}

/**
 * The error text of a row besides its result; for a known row, the service whose verdict it has.
 */
function faultOf(batch: BatchRow, cells: ChunkCells, place: number): string | undefined {
  const fault = cells.errors[place]
  if (cells.kinds[place] !== 'known') return fault
  const note = knownNote(batch, cells.claims?.[place])
  return fault === undefined ? note : `${note}; ${fault}`
}

/** Whether the rows of an open chunk end before this one. */
function isEnd(open: OpenChunk, place: number, status: RowStatus): boolean {
  return place >= open.endPlace || (open.endsAtOpen && status === 'waiting')
}

function lineFormatOf(batch: BatchRow, form: RowForm, scorer: Scorer): LineFormat {
  switch (form.kind) {
    case 'csv':
      return csvLines(batch, form)
    case 'sheet':
      return sheetLines(batch, form)
    case 'ndjson':
      return ndjsonLines(batch, scorer)
    case 'given':
      return form.lines
  }
}

/**
 * Whether a row has one of these as its status, verdict, advice, or the reason of one of its parts.
 */
function isWanted(
  { status, record, recommendation, verdict }: ShownRow,
  only: ReadonlySet<string>,
): boolean {
  if (only.has(status)) return true
  if (status !== 'done' || record === undefined) return false
  if (recommendation !== null && only.has(recommendation.advice)) return true
  if (verdict !== null && only.has(verdict)) return true
  return Object.values(record.outcomes).some(({ reason }) => only.has(reason))
}

/**
 * Whether a row was answered before a time: its own time if stored, else that of the chunk's
 * settlement.
 */
function isBefore(
  { status, record }: ShownRow,
  settledAt: Date | null,
  before: Date | null,
): boolean {
  if (before === null || status !== 'done' || record === undefined) return false
  const told = Object.values(record.outcomes).flatMap((outcome) =>
    'checkedAt' in outcome ? [Date.parse(String(outcome.checkedAt))] : [],
  )
  const answeredMs = told.length > 0 ? Math.min(...told) : settledAt?.getTime()
  return answeredMs !== undefined && answeredMs < before.getTime()
}

/**
 * Caches the last score: it is needed up to three times for each row, for result, verdict and
 * advice.
 */
function scoringOnce(scorer: Scorer): Scorer {
  let asked: Parameters<Scorer['fraud']>[0] | undefined
  let score: ReturnType<Scorer['fraud']> | undefined
  return {
    ...scorer,
    fraud: (outcomes) => {
      if (score === undefined || outcomes !== asked) {
        score = scorer.fraud(outcomes)
        asked = outcomes
      }
      return score
    },
  }
}

/** Rows of earlier chunks that rows of this one duplicate, and whose outcomes are not stored yet. */
export function rowsDuplicatedBy(
  chunk: StoredChunk,
  duplicates: DuplicateOutcomes,
): readonly number[] {
  const rows = Object.values(unpackCells(chunk.cells).ofRow)
  return rows.filter((row) => row < chunk.firstRow && !duplicates.has(row))
}

/** The outcomes of the row that this one duplicates, with the subjects as this row writes them. */
function recordOfDuplicate(
  cells: ChunkCells,
  place: number,
  duplicates: DuplicateOutcomes,
): CheckedRecord | undefined {
  const ofRow = cells.ofRow[place]
  if (ofRow === undefined) throw new Error('a duplicate does not name its first occurrence')
  const record = duplicates.find(ofRow)
  return record === undefined
    ? undefined
    : recordAsAsked(record, cells.uncheckedSubjects[place] ?? {})
}
