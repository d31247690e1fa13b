import type { ColumnKind } from '@plumbline/db/tables/batches'
import type { Container } from './container.ts'
import { createCsvReader } from './csv-records.ts'
import { createDecoder, DecodeFault, isBroken, type FoundEncoding } from './encoding.ts'
import { createLineCounter } from './framing-fault.ts'
import { createJsonColumns, jsonRow } from './json-row.ts'
import { TOO_LONG } from './limits.ts'
import { createLineReader } from './line-reader.ts'
import type { BatchFile } from './open-batch-file.ts'
import type { FileRow, RowBuilder } from './row-builder.ts'
import { createColumnKinds } from './workbook.ts'

/** The rows of an opened file, in batches. */
export interface RowSource {
  rows(container: Container, signal: AbortSignal): AsyncIterable<FileRow[]>
  /** For JSON with the keys of the records so far. */
  readonly header: readonly string[] | null
  readonly hasRest: boolean
  /** Types of the cells of a workbook's columns so far. */
  kinds(columns: number): readonly ColumnKind[] | null
}

/** The source for an opened file; `container` must belong to the same file. */
export function createRowSource(file: BatchFile, rows: RowBuilder): RowSource {
  const { layout, found } = file
  if (layout.kind === 'sheet') return createSheetSource(file, layout.sheet, rows)
  if (found === null) throw new Error('a text without an encoding')
  const decoder = createDecoder(found)
  const records = createRecordReader(
    file,
    rows,
    brokenFault(found, () => decoder.hasBroken),
  )
  return {
    rows: (container, signal) => {
      if (container.kind !== 'text') throw new Error('the file is another than was opened')
      return textRows(container, signal, decoder, records)
    },
    get header() {
      return records.header
    },
    get hasRest() {
      return records.hasRest
    },
    kinds: () => null,
  }
}

function createSheetSource(file: BatchFile, name: string, rows: RowBuilder): RowSource {
  const kinds = createColumnKinds()
  const rowsOf = skipper(file.skipRecords)
  return {
    rows: async function* (container, signal) {
      if (container.kind !== 'workbook') throw new Error('the file is another than was opened')
      const { workbook } = container
      const sheet = workbook.sheets.find((each) => each.name === name)
      if (sheet === undefined) throw new Error('the workbook has changed since it was opened')
      for await (const read of workbook.rows(sheet, signal)) {
        yield rowsOf(read).map((row) => {
          kinds.add(row)
          return rows.fromCells(row.cells)
        })
      }
    },
    header: file.header,
    hasRest: false,
    kinds: kinds.kinds,
  }
}

interface Sliceable<T> {
  readonly length: number
  slice(start: number): T
}

/** Leaves out the first characters or records of what comes in parts. */
function skipper(count: number): <T extends Sliceable<T>>(part: T) => T {
  let left = count
  return (part) => {
    const skipped = Math.min(left, part.length)
    left -= skipped
    return skipped === 0 ? part : part.slice(skipped)
  }
}

type TextContainer = Extract<Container, { kind: 'text' }>

async function* textRows(
  container: TextContainer,
  signal: AbortSignal,
  decoder: ReturnType<typeof createDecoder>,
  records: RecordReader,
): AsyncGenerator<FileRow[]> {
  const texts = async function* (): AsyncGenerator<FileRow[]> {
    for await (const chunk of container.bytes(signal)) yield records.push(decoder.decode(chunk))
    const last = decoder.end()
    yield last === '' ? [] : records.push(last)
    yield records.end()
  }
  yield* withLines(container, signal, texts())
}

/** Replaces a decoding fault by an error that names the line, by reading again up to it. */
async function* withLines<T>(
  container: TextContainer,
  signal: AbortSignal,
  items: AsyncIterable<T>,
): AsyncGenerator<T> {
  try {
    yield* items
  } catch (error) {
    if (!(error instanceof DecodeFault)) throw error
    const counter = createLineCounter(error)
    let seen = 0
    for await (const chunk of container.bytes(signal)) {
      counter.count(chunk)
      seen += chunk.length
      if (seen >= error.offsetBytes) break
    }
    throw counter.error()
  }
}

/** The error of a row that contains invalid bytes. */
type FaultOf = (text: readonly string[]) => string | undefined

function brokenFault({ encoding }: FoundEncoding, hasBroken: () => boolean): FaultOf {
  const fault = `the record is not valid ${encoding.toUpperCase()}`
  return (texts) => (hasBroken() && texts.some(isBroken) ? fault : undefined)
}

interface RecordReader {
  push(text: string): FileRow[]
  end(): FileRow[]
  /** For JSON with the keys of the records so far. */
  readonly header: readonly string[] | null
  readonly hasRest: boolean
}

function createRecordReader(file: BatchFile, rows: RowBuilder, faultOf: FaultOf): RecordReader {
  const { layout, options } = file
  const { limits } = options
  const fromCells = (cells: readonly string[]): FileRow => {
    const fault = faultOf(cells)
    return fault === undefined
      ? rows.fromCells(cells)
      : rows.fromCells(
          cells.map((cell) => cell.toWellFormed()),
          fault,
        )
  }
  const textOf = skipper(file.skipChars)
  const rowsOf = skipper(file.skipRecords)
  if (layout.kind === 'csv') {
    const reader = createCsvReader(layout.dialect, limits.lineBytes, layout.firstLine)
    return {
      header: file.header,
      hasRest: false,
      push: (text) => rowsOf(reader.push(textOf(text))).map(fromCells),
      end: () => rowsOf(reader.end()).map(fromCells),
    }
  }
  const columns = createJsonColumns(file.header ?? [], limits)
  const newline = layout.kind === 'lines' ? layout.newline : '\n'
  const reader = createLineReader(newline, limits.lineBytes)
  const fromLine = (line: string | undefined): FileRow => {
    if (line === undefined) return rows.fromCells(TOO_LONG)
    if (layout.kind !== 'json') return fromCells([line])
    return jsonRow(line.toWellFormed(), layout.keys, rows, columns, faultOf([line]))
  }
  return {
    get header() {
      return layout.kind === 'json' ? columns.names : file.header
    },
    get hasRest() {
      return columns.hasRest
    },
    push: (text) => rowsOf(reader.push(textOf(text))).map(fromLine),
    end: () => rowsOf(reader.end()).map(fromLine),
  }
}
