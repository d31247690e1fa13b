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
  const { skipRecords, header } = file
  return {
    rows: async function* (container, signal) {
      if (container.kind !== 'workbook') throw new Error('the file is another than was opened')
      const { workbook } = container
      const sheet = workbook.sheets.find((each) => each.name === name)
      if (sheet === undefined) throw new Error('the workbook has changed since it was opened')
      let skip = skipRecords
      for await (const read of workbook.rows(sheet, signal)) {
        const skipped = Math.min(skip, read.length)
        skip -= skipped
        yield read.slice(skipped).map((row) => {
          kinds.add(row)
          return rows.fromCells(row.cells)
        })
      }
    },
    header,
    hasRest: false,
    kinds: kinds.kinds,
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
      return kept.map(fromCells)
    }
    const { header } = file
    return {
      header,
      hasRest: false,
      push: (text) => made(reader.push(rest(text))),
      end: () => made(reader.end()),
    }
  }
  const columns = createJsonColumns(file.header ?? [], limits)
  const newline = layout.kind === 'lines' ? layout.newline : '\n'
  const reader = createLineReader(newline, limits.lineBytes)
  const made = (lines: (string | undefined)[]): FileRow[] => {
    const skipped = Math.min(skipRecords, lines.length)
    skipRecords -= skipped
    return lines.slice(skipped).map((line) => {
      if (line === undefined) return rows.fromCells(TOO_LONG)
      if (layout.kind !== 'json') return fromCells([line])
      return jsonRow(line.toWellFormed(), layout.keys, rows, columns, faultOf([line]))
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
