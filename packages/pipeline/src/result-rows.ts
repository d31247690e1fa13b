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
  type AnsweredRecord,
} from './record.ts'
import type { Repeats } from './duplicate-answers.ts'
import { resultColumns } from './result-columns.ts'

/** What became of a row. */
export type RowStatus = 'done' | 'refused' | 'blank' | 'canceled' | 'error'

/** What rows are shown and how. */
export interface RowFormat {
  readonly format: 'csv' | 'ndjson'
  /** CSV cells byte for byte, without the guard against formulas. */
  readonly raw: boolean
  /** Verdicts or row statuses that are shown; null shows every row. */
  readonly only: ReadonlySet<string> | null
}

/** Writes the rows of a batch, chunk after chunk. */
export interface RowWriter {
  /** The line of column names; empty for NDJSON. */
  readonly header: string
  /** Lines of a chunk's rows after `afterRow` (1-based row numbers), with their number. */
  lines(chunk: StoredChunk, afterRow: number): { text: string; count: number }
  /** Rows of earlier chunks that this one repeats and that are not kept. */
  rowsRepeatedBy(chunk: StoredChunk, repeats: Repeats): readonly number[]
}

/** The message for a record that our own fault kept from being answered. */
const FAILED_RECORD =
  'This record could not be answered because of a fault of the service; it was not charged.'

/** The message for a record of a list that was canceled before it came to it (decision 32). */
const CANCELED_RECORD = 'canceled: the list was canceled before this record was answered'

/** Makes the writer of a batch's rows; `repeats` keeps what it writes and finds it again. */
export function rowWriter(
  batch: BatchRow,
  format: RowFormat,
  tools: {
    /** By the weights that the batch keeps. */
    readonly scorer: Scorer
    readonly repeats: Repeats
  },
): RowWriter {
  const skin =
    format.format === 'csv'
      ? csvSkin(batch, format.raw, tools.scorer)
      : jsonSkin(batch, tools.scorer)
  const shown = (status: RowStatus, record: AnsweredRecord | undefined): boolean => {
    if (format.only === null || format.only.has(status)) return true
    const done = status === 'done' && record !== undefined
    return done && format.only.has(verdictOf(batch.product, record, tools.scorer) ?? '')
  }
  const lines: RowWriter['lines'] = (chunk, afterRow) => {
    const cells = unpackCells(chunk.cells)
    const records = recordsOf(chunk, unpackSubjects(chunk.subjects))
    let text = ''
    let count = 0
    for (const [place, kind] of cells.kinds.entries()) {
      const row = chunk.firstRow + place
      const own = records.get(place)
      if (kind === 'billable' && tools.repeats.repeated(row)) {
        tools.repeats.keep(row, own)
      }
      if (row < afterRow) continue
      const record = kind === 'duplicate' ? repeatOf(cells, place, tools.repeats) : own
      const status = statusOf(kind, record)
      if (!shown(status, record)) continue
      text += skin.line(cells, place, {
        row,
        status,
        text: textOf(skin, status, record),
        charged: chargedFor(batch, own),
        error: errorOf(status, cells.errors[place]),
      })
      count++
    }
    return { text, count }
  }
  return { header: skin.header, lines, rowsRepeatedBy }
}

/** A canceled row shows the parts that are known; one that failed shows nothing. */
function textOf(skin: Skin, status: RowStatus, record: AnsweredRecord | undefined): string {
  return record === undefined || status === 'error' ? skin.noResult : skin.result(record)
}

function rowsRepeatedBy(chunk: StoredChunk, repeats: Repeats): readonly number[] {
  const rows = Object.values(unpackCells(chunk.cells).ofRow)
  return rows.filter((row) => row < chunk.firstRow && !repeats.has(row))
}

function statusOf(kind: RowKind, record: AnsweredRecord | undefined): RowStatus {
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

/** The answer of the row that this one repeats, in the repeat's own writing. */
function repeatOf(cells: ChunkCells, place: number, repeats: Repeats): AnsweredRecord | undefined {
  const ofRow = cells.ofRow[place]
  if (ofRow === undefined) throw new Error('a repeat does not say of which row')
  const record = repeats.find(ofRow)
  return record === undefined ? undefined : recordAsAsked(record, cells.asked[place] ?? {})
}

function chargedFor(batch: BatchRow, record: AnsweredRecord | undefined): number {
  if (record === undefined || batch.mode === 'test') return 0
  return chargedCredits(batch.product, record, batch.charge_unknown)
}

/** How one row is written. */
interface Skin {
  readonly header: string
  readonly noResult: string
  result(record: AnsweredRecord): string
  line(
    cells: ChunkCells,
    place: number,
    row: { row: number; status: RowStatus; text: string; charged: number; error: string },
  ): string
}

function csvSkin(batch: BatchRow, raw: boolean, scorer: Scorer): Skin {
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

function jsonSkin(batch: BatchRow, scorer: Scorer): Skin {
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
  record: AnsweredRecord,
  scorer: Scorer,
): ResultOf | PartialResult {
  return record.canceled === true
    ? assembleKnown(batch.product, record.outcomes, scorer)
    : assembleResult(batch.product, record.outcomes, scorer)
}

/** Safe because a list that explains keeps its outcomes whole. */
function explained(record: AnsweredRecord): Outcomes {
  return record.outcomes as Outcomes
}

function isJson(batch: BatchRow): boolean {
  return batch.file_format === 'records' || batch.file_format === 'ndjson'
}

/** Checks that a list's columns feed, in the order of the product. */
function mappedChecks(batch: { product: Product; mapping: BatchRow['mapping'] }): readonly Check[] {
  return checksOf(batch.product).filter((check) => batch.mapping[check] !== undefined)
}
