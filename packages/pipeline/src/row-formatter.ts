import type { RowKind } from '@plumbline/contract/batch'
import type { Check, Product } from '@plumbline/contract/products'
import { checksOf } from '@plumbline/contract/products'
import type { Outcomes, Scorer } from '@plumbline/contract/score'
import type { ResultOf } from '@plumbline/contract/results'
import type { BatchRow } from '@plumbline/db/batches/rows'
import type { StoredChunk } from '@plumbline/db/batches/chunks'
import { assemble, assembleKnown, assembleResult, type PartialResult } from './assemble.ts'
import { unpackCells, unpackSubjects, type ChunkCells } from './codec.ts'
import { explainParts } from './explain.ts'
import { csvCell } from './intake/csv-cell.ts'
import { jsonCells } from './intake/json-row.ts'
import {
  chargedCredits,
  recordAsAsked,
  recordsOf,
  verdictOf,
  type CheckedRecord,
} from './record.ts'
import type { DuplicateOutcomes } from './duplicate-outcomes.ts'
import { resultColumns } from './result-columns.ts'

/** The status of a row in results. */
export type RowStatus = 'done' | 'refused' | 'blank' | 'canceled' | 'error'

/** What rows are shown and how. */
export interface RowFormat {
  readonly format: 'csv' | 'ndjson'
  /** CSV cells byte for byte, without the guard against formulas. */
  readonly raw: boolean
  /** Verdicts or row statuses that are shown; null shows every row. */
  readonly only: ReadonlySet<string> | null
}

/** Formats the rows of a batch as CSV or NDJSON, chunk after chunk. */
export interface RowFormatter {
  /** The line of column names; empty for NDJSON. */
  readonly header: string
  /** Lines of a chunk's rows after `afterRow` (1-based row numbers), with their number. */
  lines(chunk: StoredChunk, afterRow: number): { text: string; count: number }
  /** Rows of earlier chunks that rows of this one repeat, and whose outcomes are not kept yet. */
  rowsDuplicatedBy(chunk: StoredChunk, duplicates: DuplicateOutcomes): readonly number[]
}

/** The message for a record that a fault of the service kept from being answered. */
const FAILED_RECORD =
  'This record could not be answered because of a fault of the service; it was not charged.'

/** The message for a record that was not answered before its batch was canceled (decision 32). */
const CANCELED_RECORD = 'canceled: the batch was canceled before this record was answered'

/**
 * Makes the formatter of a batch's rows.
 * @param tools.duplicates takes the outcomes of rows that later rows repeat, and gives them back for those
 */
export function createRowFormatter(
  batch: BatchRow,
  format: RowFormat,
  tools: {
    /** By the weights that the batch keeps. */
    readonly scorer: Scorer
    readonly duplicates: DuplicateOutcomes
  },
): RowFormatter {
  const lineFormat =
    format.format === 'csv'
      ? csvLines(batch, format.raw, tools.scorer)
      : jsonLines(batch, tools.scorer)
  const shown = (status: RowStatus, record: CheckedRecord | undefined): boolean => {
    if (format.only === null || format.only.has(status)) return true
    const done = status === 'done' && record !== undefined
    return done && format.only.has(verdictOf(batch.product, record, tools.scorer) ?? '')
  }
  const lines: RowFormatter['lines'] = (chunk, afterRow) => {
    const cells = unpackCells(chunk.cells)
    const records = recordsOf(chunk, unpackSubjects(chunk.subjects))
    let text = ''
    let count = 0
    for (const [place, kind] of cells.kinds.entries()) {
      const row = chunk.firstRow + place
      const own = records.get(place)
      if (kind === 'billable' && tools.duplicates.isRepeated(row)) tools.duplicates.keep(row, own)
      if (row < afterRow) continue
      const record = kind === 'duplicate' ? recordOfDuplicate(cells, place, tools.duplicates) : own
      const status = statusOf(kind, record)
      if (!shown(status, record)) continue
      text += lineFormat.line(cells, place, {
        row,
        status,
        text: textOf(lineFormat, status, record),
        charged: chargedFor(batch, own),
        error: errorOf(status, cells.errors[place]),
      })
      count++
    }
    return { text, count }
  }
  return { header: lineFormat.header, lines, rowsDuplicatedBy }
}

/** A canceled row shows the parts that are known; one that failed shows nothing. */
function textOf(format: LineFormat, status: RowStatus, record: CheckedRecord | undefined): string {
  return record === undefined || status === 'error' ? format.noResult : format.result(record)
}

function rowsDuplicatedBy(chunk: StoredChunk, duplicates: DuplicateOutcomes): readonly number[] {
  const rows = Object.values(unpackCells(chunk.cells).ofRow)
  return rows.filter((row) => row < chunk.firstRow && !duplicates.has(row))
}

function statusOf(kind: RowKind, record: CheckedRecord | undefined): RowStatus {
  switch (kind) {
    case 'blank':
    case 'refused':
      return kind
    case 'billable':
    case 'duplicate':
      if (record === undefined || record.canceled === true) return 'canceled'
      return record.failed ? 'error' : 'done'
  }
}

/** What a row's error says, beside what is wrong with its cells. */
function errorOf(status: RowStatus, fault: string | undefined): string {
  switch (status) {
    case 'error':
      return FAILED_RECORD
    case 'canceled':
      return fault === undefined ? CANCELED_RECORD : `${CANCELED_RECORD}; ${fault}`
    case 'done':
    case 'refused':
    case 'blank':
      return fault ?? ''
  }
}

/** The outcomes of the row that this one repeats, with the subjects as this row writes them. */
function recordOfDuplicate(
  cells: ChunkCells,
  place: number,
  duplicates: DuplicateOutcomes,
): CheckedRecord | undefined {
  const ofRow = cells.ofRow[place]
  if (ofRow === undefined) throw new Error('a duplicate does not say of which row')
  const record = duplicates.find(ofRow)
  return record === undefined ? undefined : recordAsAsked(record, cells.asked[place] ?? {})
}

function chargedFor(batch: BatchRow, record: CheckedRecord | undefined): number {
  if (record === undefined || batch.mode === 'test') return 0
  return chargedCredits(batch.product, record, batch.charge_unknown)
}

/** How one row is written in one format. */
interface LineFormat {
  readonly header: string
  readonly noResult: string
  result(record: CheckedRecord): string
  line(
    cells: ChunkCells,
    place: number,
    row: { row: number; status: RowStatus; text: string; charged: number; error: string },
  ): string
}

function csvLines(batch: BatchRow, raw: boolean, scorer: Scorer): LineFormat {
  const columns = resultColumns(batch.product, mappedChecks(batch))
  const width = batch.column_count
  const own = Array.from(
    { length: width },
    (_, at) => batch.header?.[at] ?? (batch.header === null ? `column_${at + 1}` : ''),
  )
  if (batch.has_rest) own.push('input.rest')
  const names = [...columns.names, 'result.credits_charged', 'result.error']
  return {
    header: `${[...own.map((name) => csvCell(name, raw)), ...names].join(',')}\r\n`,
    noResult: columns.emptyCells,
    result: (record) => columns.cells(resultOf(batch, record, scorer), record.outcomes, raw),
    line: (cells, place, row) => {
      const given = cells.rows[place] ?? []
      const { cells: shown, rest } = isJson(batch)
        ? jsonCells(given[0] ?? '', batch.header ?? [])
        : { cells: given, rest: given[width] ?? '' }
      let line = ''
      for (let at = 0; at < width; at++) line += `${csvCell(shown[at] ?? '', raw)},`
      if (batch.has_rest) line += `${csvCell(rest, raw)},`
      return `${line}${row.text},${row.charged},${csvCell(row.error, raw)}\r\n`
    },
  }
}

function jsonLines(batch: BatchRow, scorer: Scorer): LineFormat {
  const named = batch.header !== null && new Set(batch.header).size === batch.header.length
  const inputOf = (cells: readonly string[]): string => {
    // A line that was too long to keep has no cells, not even an empty one.
    if (isJson(batch) || cells.length === 0) return cells[0] ?? 'null'
    if (!named || cells.length > (batch.header?.length ?? 0)) return JSON.stringify(cells)
    const pairs = cells.map(
      (cell, at) => `${JSON.stringify(batch.header?.[at] ?? '')}:${JSON.stringify(cell)}`,
    )
    return `{${pairs.join(',')}}`
  }
  return {
    header: '',
    noResult: 'null',
    result: (record) => {
      if (!batch.explain) return JSON.stringify(resultOf(batch, record, scorer))
      if (record.canceled === true) {
        const known = assembleKnown(batch.product, record.outcomes, scorer)
        return JSON.stringify({ ...known, explain: explainParts(explained(record)) })
      }
      const { result, explain } = assemble(batch.product, explained(record), scorer)
      return JSON.stringify({ ...result, explain })
    },
    line: (cells, place, row) => {
      const ref = cells.refs[place]
      const error = row.error === '' ? 'null' : JSON.stringify(row.error)
      return (
        `{"row":${row.row + 1},"ref":${ref === undefined ? 'null' : JSON.stringify(ref)},` +
        `"input":${inputOf(cells.rows[place] ?? [])},"status":"${row.status}",` +
        `"result":${row.text},"credits_charged":${row.charged},"error":${error}}\n`
      )
    },
  }
}

function resultOf(
  batch: BatchRow,
  record: CheckedRecord,
  scorer: Scorer,
): ResultOf | PartialResult {
  return record.canceled === true
    ? assembleKnown(batch.product, record.outcomes, scorer)
    : assembleResult(batch.product, record.outcomes, scorer)
}

/** Safe because a batch that explains keeps its outcomes whole. */
function explained(record: CheckedRecord): Outcomes {
  return record.outcomes as Outcomes
}

function isJson(batch: BatchRow): boolean {
  return batch.file_format === 'records' || batch.file_format === 'ndjson'
}

/** Checks that the columns of a batch feed, in the order of the product. */
function mappedChecks(batch: { product: Product; mapping: BatchRow['mapping'] }): readonly Check[] {
  return checksOf(batch.product).filter((check) => batch.mapping[check] !== undefined)
}
