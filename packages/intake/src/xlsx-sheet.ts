import { IntakeError } from './intake-error.ts'
import { digitsText, plainNumber, serialText, type NumberStyle } from './number-format.ts'
import type { SharedStrings } from './shared-strings.ts'
import {
  EMPTY_ROW,
  KIND_BITS,
  LONG_ROW,
  MAX_FAR_CELLS,
  MAX_RUN_ROWS,
  NEAR_COLUMNS,
  rowBlocks,
  SHEET_LIMITS,
  sparse,
  type RowRun,
  type SheetRow,
} from './workbook.ts'
import { unescapedText } from './xlsx-text.ts'
import { createXmlReader, refuseLongCell } from './xml-reader.ts'
import type { XmlAttributes } from './xml-attributes.ts'

/** Data of a workbook that reading its cells depends on. */
export interface CellRules {
  /** By style number. */
  readonly styles: readonly NumberStyle[]
  readonly is1904: boolean
  readonly strings: SharedStrings
  /** Bytes of a row at most; the cells of a longer one are skipped. */
  readonly lineBytes: number
}

/** The rows of a sheet's XML, without empty rows at the end. */
export async function* sheetRows(
  chunks: AsyncIterable<Buffer>,
  rules: CellRules,
): AsyncGenerator<readonly SheetRow[]> {
  const parser = createSheetParser(rules)
  for await (const chunk of chunks) {
    // What follows the rows is unpacked nevertheless: the checksum is verified at its end.
    if (parser.isOver) continue
    parser.push(chunk)
    yield* rowBlocks(await parser.take())
  }
  if (!parser.isOver) parser.end()
}

interface OpenRow {
  readonly cells: string[]
  readonly kinds: number[]
  /** Column and string number, alternating, of the cells with shared strings. */
  readonly shared: number[]
  /** Missing and empty rows before it. */
  emptyBefore: number
  /** Characters of its other cells. */
  chars: number
}

interface SheetParser {
  push(chunk: Buffer): void
  end(): void
  /** The rows that are complete so far; to be read before the next chunk. */
  take(): Promise<Iterable<RowRun>>
  readonly isOver: boolean
}

/** State of the parser. */
interface Scan {
  readonly rules: CellRules
  done: OpenRow[]
  /** Empty rows since the last one with content. */
  emptyRows: number
  rowNumber: number
  /** Empty cells before cells far to the right. */
  farCells: number
  /** Number of shared strings that the cells need so far. */
  strings: number
  isOver: boolean
  row: OpenRow
  column: number
  type: string
  style: number
  value: string
  /** Whether character data belongs to the cell. */
  takes: boolean
  phonetic: number
}

/** Source: ECMA-376, part 1, section 18.3.1. */
function createSheetParser(rules: CellRules): SheetParser {
  const scan: Scan = {
    rules,
    done: [],
    emptyRows: 0,
    rowNumber: 0,
    farCells: 0,
    strings: 0,
    isOver: false,
    row: newRow(),
    column: -1,
    type: '',
    style: 0,
    value: '',
    takes: false,
    phonetic: 0,
  }
  const reader = createXmlReader({
    open: (name, attributes) => {
      if (name === 'c') openCell(scan, attributes)
      else if (name === 'v') scan.takes = true
      else if (name === 't') scan.takes = scan.phonetic === 0
      else if (name === 'row') openRow(scan, attributes.get('r'))
      else if (name === 'rPh') scan.phonetic += 1
    },
    close: (name) => {
      scan.takes = false
      if (name === 'c') closeCell(scan)
      else if (name === 'row') closeRow(scan)
      else if (name === 'rPh') scan.phonetic -= 1
      else if (name === 'sheetData') scan.isOver = true
    },
    text: (text) => {
      if (!scan.takes) return
      scan.value += text
      refuseLongCell(scan.value.length)
    },
  })
  return {
    push: reader.push,
    end: reader.end,
    take: () => takeRows(scan),
    get isOver() {
      return scan.isOver
    },
  }
}

/** The rows that are complete so far, with their shared strings. */
async function takeRows(scan: Scan): Promise<Iterable<RowRun>> {
  const rows = scan.done
  scan.done = []
  await scan.rules.strings.ensure(scan.strings)
  return runsOf(rows, scan.rules)
}

function* runsOf(rows: OpenRow[], rules: CellRules): Generator<RowRun> {
  // Each is let go once it has its texts: one that all rows share is decoded for each of them.
  for (let row = rows.shift(); row !== undefined; row = rows.shift()) {
    if (row.emptyBefore > 0) yield { row: EMPTY_ROW, chars: 0, times: row.emptyBefore }
    yield withStrings(row, rules)
  }
}

function withStrings(row: OpenRow, { strings, lineBytes }: CellRules): RowRun {
  const { cells, kinds, shared } = row
  let chars = row.chars
  for (let at = 0; at < shared.length; at += 2) {
    const column = shared[at] ?? 0
    const text = strings.get(shared[at + 1] ?? -1)
    chars += text.length
    if (chars > lineBytes) break
    cells[column] = text
    if (text === '') kinds[column] = 0
  }
  return chars > lineBytes ? { row: LONG_ROW, chars: 0, times: 1 } : { row, chars, times: 1 }
}

function newRow(): OpenRow {
  return { cells: [], kinds: [], shared: [], emptyBefore: 0, chars: 0 }
}

function openRow(scan: Scan, r: string | undefined): void {
  const told = r === undefined ? scan.rowNumber + 1 : Number(r)
  if (!(told > 0 && told <= SHEET_LIMITS.rows)) throw beyond('rows', SHEET_LIMITS.rows)
  scan.emptyRows += Math.max(0, told - scan.rowNumber - 1)
  scan.rowNumber = Math.max(told, scan.rowNumber + 1)
  scan.row = newRow()
  scan.column = -1
}

function closeRow(scan: Scan): void {
  if (scan.row.cells.length === 0) {
    scan.emptyRows += 1
    return
  }
  if (scan.emptyRows > MAX_RUN_ROWS) throw farApart(scan.rowNumber)
  scan.row.emptyBefore = scan.emptyRows
  scan.emptyRows = 0
  scan.done.push(scan.row)
}

function openCell(scan: Scan, attributes: XmlAttributes): void {
  const r = attributes.get('r')
  const s = attributes.get('s')
  scan.column = r === undefined ? scan.column + 1 : columnOf(r)
  if (!(scan.column < SHEET_LIMITS.columns)) throw beyond('columns', SHEET_LIMITS.columns)
  scan.type = attributes.get('t') ?? ''
  scan.style = s === undefined ? 0 : Number(s)
  scan.value = ''
}

function closeCell(scan: Scan): void {
  const { type, value, rules, row } = scan
  // Of a row that is too long already, further cells are not stored.
  if (value === '' || row.chars > rules.lineBytes) return
  if (type !== 's') {
    const { text, kind } = readCell(type, value, rules.styles[scan.style], rules.is1904)
    putCell(scan, text, kind)
    return
  }
  const index = Number(value)
  if (index >= scan.strings) scan.strings = index + 1
  row.shared.push(scan.column, index)
  putCell(scan, '', KIND_BITS.text)
}

function putCell(scan: Scan, text: string, kind: number): void {
  const { row, column } = scan
  if (column > NEAR_COLUMNS) scan.farCells += column - row.cells.length
  if (scan.farCells > MAX_FAR_CELLS) throw sparse()
  for (let at = row.cells.length; at < column; at++) {
    row.cells.push('')
    row.kinds.push(0)
  }
  row.cells[column] = text
  row.kinds[column] = kind
  row.chars += text.length
}

/** A cell's text and type. Source: ECMA-376, part 1, section 18.18.11. */
function readCell(
  type: string,
  value: string,
  style: NumberStyle | undefined,
  is1904: boolean,
): { text: string; kind: number } {
  switch (type) {
    case '':
    case 'n':
      return readNumber(value, style, is1904)
    case 'b':
      return { text: value === '1' || value === 'true' ? 'TRUE' : 'FALSE', kind: KIND_BITS.boolean }
    case 'd': {
      const text = value
        .replace('T', ' ')
        .replace(/(?:\.\d+)?Z?$/, '')
        .replace(/ 00:00:00$/, '')
      return { text, kind: text.includes(' ') ? KIND_BITS.datetime : KIND_BITS.date }
    }
    default:
      return { text: unescapedText(value), kind: KIND_BITS.text }
  }
}

function readNumber(
  value: string,
  style: NumberStyle | undefined,
  is1904: boolean,
): { text: string; kind: number } {
  const number = Number(value)
  if (!Number.isFinite(number) || value.trim() === '') {
    return { text: unescapedText(value), kind: KIND_BITS.text }
  }
  if (style === undefined || style.kind === 'number') {
    return { text: plainNumber(number), kind: KIND_BITS.number }
  }
  if (style.kind === 'boolean') {
    return { text: number === 0 ? 'FALSE' : 'TRUE', kind: KIND_BITS.boolean }
  }
  if (style.kind === 'digits') {
    return Number.isSafeInteger(number) && number >= 0
      ? { text: digitsText(number, style), kind: KIND_BITS.text }
      : { text: plainNumber(number), kind: KIND_BITS.number }
  }
  const read = serialText(number, style.kind, is1904)
  return read === undefined
    ? { text: plainNumber(number), kind: KIND_BITS.number }
    : { text: read.text, kind: KIND_BITS[read.kind] }
}

/** The 0-based column of a reference such as `AB12`. */
function columnOf(reference: string): number {
  let column = 0
  for (let at = 0; at < reference.length && at < 8; at++) {
    const letter = reference.charCodeAt(at) & 0xdf
    if (letter < 65 || letter > 90) break
    column = column * 26 + letter - 64
  }
  if (column === 0) throw beyond('columns', SHEET_LIMITS.columns)
  return column - 1
}

function beyond(what: 'rows' | 'columns', most: number): IntakeError {
  return new IntakeError(
    'unprocessable',
    `The sheet has a cell beyond the ${most} ${what} that a workbook can have; save it again.`,
  )
}

function farApart(row: number): IntakeError {
  return new IntakeError(
    'unprocessable',
    `Row ${row} of the sheet comes after over ${MAX_RUN_ROWS} empty rows; delete these or that row.`,
  )
}
