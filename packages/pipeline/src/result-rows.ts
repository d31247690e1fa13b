import type { Check, Product } from '@plumbline/contract/products'
import { checksOf } from '@plumbline/contract/products'
import type { FraudScorer } from '@plumbline/contract/score'
import type { BatchRow } from '@plumbline/db/batches/rows'
import type { StoredChunk } from '@plumbline/db/batches/chunks'
import { assemble, assembleResult } from './assemble.ts'
import { unpackCells, unpackSubjects, type ChunkCells } from './codec.ts'
import { csvCell } from './intake/csv-cell.ts'
import { chargedCredits, recordsOfChunk, verdictOf, type AnsweredRecord } from './record.ts'
import type { Repeats } from './repeats.ts'
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
  /** Earlier rows that this chunk repeats and that are not kept at hand. */
  rowsRepeatedBy(chunk: StoredChunk, repeats: Repeats): readonly number[]
}

/** An answer ready to be written, as repeats keep it: status, verdict, and the text of the result. */
interface Answered {
  readonly status: 'done' | 'error' | 'canceled'
  readonly verdict: string | undefined
  readonly text: string
}

/** The message for a record that our own fault kept from being answered. */
const FAILED_RECORD =
  'This record could not be answered because of a fault of the service; it was not charged.'

/**
 * Makes the writer of a batch's rows.
 * @param lookUp finds the answer of an earlier row where `repeats` does not hold it
 */
export function rowWriter(
  batch: BatchRow,
  format: RowFormat,
  tools: {
    readonly scoreFraud: FraudScorer
    readonly repeats: Repeats
    readonly lookUp: (row: number) => AnsweredRecord | undefined
  },
): RowWriter {
  const skin =
    format.format === 'csv'
      ? csvSkin(batch, format.raw, tools.scoreFraud)
      : jsonSkin(batch, tools.scoreFraud)
  const answerOf = (record: AnsweredRecord | undefined): Answered => {
    if (record === undefined) return { status: 'canceled', verdict: undefined, text: skin.noResult }
    if (record.failed) return { status: 'error', verdict: undefined, text: skin.noResult }
    return {
      status: 'done',
      verdict:
        format.only === null ? undefined : verdictOf(batch.product, record, tools.scoreFraud),
      text: skin.result(record),
    }
  }
  const earlier = (row: number): Answered => {
    const kept = tools.repeats.find(row)
    return kept === undefined ? answerOf(tools.lookUp(row)) : parseKept(kept)
  }
  const lines: RowWriter['lines'] = (chunk, afterRow) => {
    const cells = unpackCells(chunk.cells)
    const records = chunk.settled
      ? recordsOfChunk(unpackSubjects(chunk.subjects), chunk.parts)
      : new Map<number, AnsweredRecord>()
    let text = ''
    let count = 0
    for (const [place, kind] of cells.kinds.entries()) {
      const row = chunk.firstRow + place
      const answered = answerForRow(kind, cells.ofRow[place], records.get(place), answerOf, earlier)
      if (kind === 'billable' && tools.repeats.repeated(row)) {
        tools.repeats.keep(row, JSON.stringify(answered))
      }
      if (row < afterRow) continue
      const status: RowStatus = typeof answered === 'string' ? answered : answered.status
      const verdict = typeof answered === 'string' ? undefined : answered.verdict
      if (format.only !== null && !format.only.has(status) && !format.only.has(verdict ?? ''))
        continue
      const record = kind === 'billable' && chunk.settled ? records.get(place) : undefined
      text += skin.line(cells, place, {
        row,
        status,
        text: typeof answered === 'string' ? skin.noResult : answered.text,
        charged: chargedFor(batch, record),
        error: status === 'error' ? FAILED_RECORD : (cells.errors[place] ?? ''),
      })
      count++
    }
    return { text, count }
  }
  return { header: skin.header, lines, rowsRepeatedBy }
}

function rowsRepeatedBy(chunk: StoredChunk, repeats: Repeats): readonly number[] {
  const rows = Object.values(unpackCells(chunk.cells).ofRow)
  return rows.filter((row) => row < chunk.firstRow && repeats.find(row) === undefined)
}

function answerForRow(
  kind: ChunkCells['kinds'][number],
  ofRow: number | undefined,
  record: AnsweredRecord | undefined,
  answerOf: (record: AnsweredRecord | undefined) => Answered,
  earlier: (row: number) => Answered,
): Answered | 'blank' | 'refused' {
  switch (kind) {
    case 'blank':
    case 'refused':
      return kind
    case 'billable':
      return answerOf(record)
    case 'duplicate':
      if (ofRow === undefined) throw new Error('a repeat does not say of which row')
      return earlier(ofRow)
  }
}

/** Safe because only `lines` above makes what repeats keep. */
function parseKept(kept: string): Answered {
  return JSON.parse(kept) as Answered
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

function csvSkin(batch: BatchRow, raw: boolean, scoreFraud: FraudScorer): Skin {
  const columns = resultColumns(batch.product, mappedChecks(batch))
  const width = batch.column_count
  const own = Array.from(
    { length: width },
    (_, at) => batch.header?.[at] ?? (batch.header === null ? `column_${at + 1}` : ''),
  )
  const names = [...columns.names, 'result.credits_charged', 'result.error']
  return {
    header: `${[...own.map((name) => csvCell(name, raw)), ...names].join(',')}\r\n`,
    noResult: columns.emptyCells,
    result: (record) =>
      columns.cells(
        assembleResult(batch.product, record.outcomes, scoreFraud),
        record.outcomes,
        raw,
      ),
    line: (cells, place, row) => {
      const given = isJson(batch)
        ? cellsOfJson(cells.rows[place]?.[0], own)
        : (cells.rows[place] ?? [])
      let line = ''
      for (let at = 0; at < width; at++) line += `${csvCell(given[at] ?? '', raw)},`
      return `${line}${row.text},${row.charged},${csvCell(row.error, raw)}\r\n`
    },
  }
}

function jsonSkin(batch: BatchRow, scoreFraud: FraudScorer): Skin {
  const named = batch.header !== null && new Set(batch.header).size === batch.header.length
  const inputOf = (cells: readonly string[]): string => {
    if (isJson(batch)) return cells[0] ?? 'null'
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
      if (!batch.explain) {
        return JSON.stringify(assembleResult(batch.product, record.outcomes, scoreFraud))
      }
      const { result, explain } = assemble(batch.product, record.outcomes, scoreFraud)
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

function isJson(batch: BatchRow): boolean {
  return batch.file_format === 'records' || batch.file_format === 'ndjson'
}

/** The values of a JSON record as cells: text as it is, everything else as JSON. */
function cellsOfJson(text: string | undefined, names: readonly string[]): readonly string[] {
  if (text === undefined) return []
  let record: unknown
  try {
    record = JSON.parse(text)
  } catch {
    return [text]
  }
  if (typeof record !== 'object' || record === null) return [text]
  const values = new Map<string, unknown>(Object.entries(record))
  return names.map((name) => {
    const value = values.get(name)
    if (value === undefined || value === null) return ''
    return typeof value === 'string' ? value : JSON.stringify(value)
  })
}

/** Checks that a list's columns feed, in the order of the product. */
export function mappedChecks(batch: {
  product: Product
  mapping: BatchRow['mapping']
}): readonly Check[] {
  return checksOf(batch.product).filter((check) => batch.mapping[check] !== undefined)
}
