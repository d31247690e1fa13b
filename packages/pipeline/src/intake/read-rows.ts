import { unpackedBytes } from './bytes.ts'
import { createCsvReader, TOO_LONG } from './csv-records.ts'
import { createDecoder, DecodeFault, isBroken } from './encoding.ts'
import { createLineCounter } from './framing-fault.ts'
import { createJsonColumns, jsonRow } from './json-row.ts'
import { createLineReader } from './line-reader.ts'
import { IntakeError } from './intake-error.ts'
import {
  charsOf,
  createRowBuilder,
  lineFault,
  type FileRow,
  type RowCounts,
  type RowBuilder,
} from './row-builder.ts'
import type { BatchFile } from './open-batch-file.ts'

/** A run of rows, in the order of the file. */
export type RowBlock = readonly FileRow[]

/** What is known once all rows were read. */
export interface FileSummary {
  readonly counts: RowCounts
  /** The file's own, or for JSON every key that a record had, as long as columns are left. */
  readonly header: readonly string[] | null
  /** What separated its cells; null for one column and for JSON. */
  readonly delimiter: string | null
  /** Columns that hold the file: its header's, or those of its widest row. */
  readonly columns: number
  /** Whether something of the file has no column: cells or keys beyond the most, lines that are no object. */
  readonly hasRest: boolean
  /** One bit a row, lowest bit first: set where a later row repeats this one. */
  readonly repeated: Buffer
}

/** The rows of a file, to be read once. */
export interface RowStream extends AsyncIterable<RowBlock> {
  /** Throws before the last block was read. */
  summary(): FileSummary
}

/** Rows in a block at most, and characters from which on it is full: rows may be of 64 KiB each. */
const BLOCK_ROWS = 500
const BLOCK_CHARS = 1_048_576

/**
 * Reads the rows of a file as a stream, in memory bounded by the file's limits and 21 to 28 bytes for
 * each different record.
 *
 * While reading throws `IntakeError` for lost framing (with the line), too many rows, a bomb, and a file
 * without records. The signal ends the reading with its reason.
 */
export function readRows(file: BatchFile, signal: AbortSignal): RowStream {
  let summary: FileSummary | undefined
  const blocks = async function* (): AsyncGenerator<RowBlock> {
    const rows = createRowBuilder(rulesOf(file))
    const decoder = createDecoder(file.found)
    const records = createRecordReader(file, rows, () => decoder.hasBroken)
    let block: FileRow[] = []
    let blockChars = 0
    const { limits } = file.options
    const texts = async function* (): AsyncGenerator<FileRow[]> {
      for await (const chunk of unpackedBytes(file.source, file.gzip, limits, signal)) {
        yield records.push(decoder.decode(chunk))
      }
      const last = decoder.end()
      yield last === '' ? [] : records.push(last)
      yield records.end()
    }
    for await (const read of withLines(file, signal, texts())) {
      signal.throwIfAborted()
      if (rows.counts.total > limits.rows) {
        throw new IntakeError(
          'payload_too_large',
          `The file has more than ${limits.rows} rows; split it.`,
        )
      }
      for (const row of read) {
        block.push(row)
        blockChars += charsOf(row)
        if (block.length === BLOCK_ROWS || blockChars >= BLOCK_CHARS) {
          yield block
          block = []
          blockChars = 0
        }
      }
    }
    const { counts } = rows
    const columns = Math.max(
      records.header?.length ?? 0,
      file.layout.kind === 'json' ? 0 : counts.columns,
    )
    if (counts.total === counts.blank) throw noRecords(file.skipRecords > 0)
    summary = {
      counts,
      header: records.header,
      delimiter: delimiterOf(file, columns),
      columns,
      hasRest: records.hasRest || counts.hasRest,
      repeated: rows.repeated(),
    }
    if (block.length > 0) yield block
  }
  return {
    [Symbol.asyncIterator]: blocks,
    summary: () => {
      if (summary === undefined) throw new Error('the rows were not read to their end')
      return summary
    },
  }
}

/** Turns a fault of bytes into one that names the line, by reading again up to it. */
async function* withLines<T>(
  file: BatchFile,
  signal: AbortSignal,
  items: AsyncIterable<T>,
): AsyncGenerator<T> {
  try {
    yield* items
  } catch (error) {
    if (!(error instanceof DecodeFault)) throw error
    const counter = createLineCounter(error)
    let seen = 0
    for await (const chunk of unpackedBytes(file.source, file.gzip, file.options.limits, signal)) {
      counter.count(chunk)
      seen += chunk.length
      if (seen >= error.offsetBytes) break
    }
    throw counter.error()
  }
}

/** A sample that fits no delimiter well is read by commas all the same, and some rows may hold them. */
function delimiterOf({ delimiter, layout }: BatchFile, columns: number): string | null {
  if (delimiter !== null || layout.kind !== 'csv' || columns < 2) return delimiter
  return layout.dialect.delimiter
}

interface RecordReader {
  push(text: string): FileRow[]
  end(): FileRow[]
  /** With the keys of the records of a JSON file so far. */
  readonly header: readonly string[] | null
  readonly hasRest: boolean
}

function createRecordReader(
  file: BatchFile,
  rows: RowBuilder,
  hasBroken: () => boolean,
): RecordReader {
  const { layout, options, encoding } = file
  const { limits } = options
  const tooLong = (): FileRow => rows.refuse([], lineFault(limits))
  const fromCells = (cells: readonly string[]): FileRow =>
    hasBroken() && cells.some(isBroken)
      ? rows.fromCells(
          cells.map((cell) => cell.toWellFormed()),
          `the record is not valid ${encoding.toUpperCase()}`,
        )
      : rows.fromCells(cells)
  let skipChars = file.skipChars
  let skipRecords = file.skipRecords
  const rest = (text: string): string => {
    const skipped = Math.min(skipChars, text.length)
    skipChars -= skipped
    return skipped === 0 ? text : text.slice(skipped)
  }
  if (layout.kind === 'csv') {
    const reader = createCsvReader(layout.dialect, limits.lineBytes, layout.firstLine)
    const made = (records: (readonly string[])[]): FileRow[] => {
      const skipped = Math.min(skipRecords, records.length)
      skipRecords -= skipped
      const kept = skipped === 0 ? records : records.slice(skipped)
      return kept.map((cells) => (cells === TOO_LONG ? tooLong() : fromCells(cells)))
    }
    const { header } = file
    return {
      header,
      hasRest: false,
      push: (text) => made(reader.push(rest(text))),
      end: () => made(reader.end()),
    }
  }
  const columns = createJsonColumns(file.header ?? [], limits.columns)
  const newline = layout.kind === 'lines' ? layout.newline : '\n'
  const reader = createLineReader(newline, limits.lineBytes)
  const made = (lines: (string | undefined)[]): FileRow[] => {
    const skipped = Math.min(skipRecords, lines.length)
    skipRecords -= skipped
    return lines.slice(skipped).map((line) => {
      if (line === undefined) return tooLong()
      if (layout.kind !== 'json') return fromCells([line])
      const fault = isBroken(line) ? `the record is not valid ${encoding.toUpperCase()}` : undefined
      return jsonRow(line.toWellFormed(), layout.keys, rows, columns, fault)
    })
  }
  return {
    get header() {
      return layout.kind === 'json' ? columns.names : file.header
    },
    get hasRest() {
      return columns.hasRest
    },
    push: (text) => made(reader.push(rest(text))),
    end: () => made(reader.end()),
  }
}

function rulesOf({ mapping, options }: BatchFile): Parameters<typeof createRowBuilder>[0] {
  const columns = Object.fromEntries(
    Object.entries(mapping).map(([field, { column }]) => [field, column]),
  )
  return {
    product: options.product,
    columns,
    defaultCountry: options.defaultCountry ?? undefined,
    limits: options.limits,
  }
}

function noRecords(header: boolean): IntakeError {
  return new IntakeError(
    'unprocessable',
    header ? 'The file has a header line and no records.' : 'The file has no records.',
  )
}
