import Papa from 'papaparse'
import { afterQuote, unescaped, withStandIns } from './backslash-quotes.ts'
import { isOver, TOO_LONG } from './limits.ts'
import { IntakeError } from './intake-error.ts'
import { lastLine } from './line-reader.ts'

/** Delimiter and line ends of a file. */
export interface CsvDialect {
  /** One character. */
  readonly delimiter: string
  /** Line end; `\n` also accepts `\r\n`, record by record. */
  readonly newline: '\n' | '\r'
  /** Whether quotes within quotes are written `\"` and backslashes `\\`; doubled if absent. */
  readonly hasBackslashes?: boolean
}

/** Parses records from text that arrives in pieces. */
export interface CsvReader {
  /**
   * The records completed by this piece, as arrays of cells; `TOO_LONG` for one that was skipped.
   */
  push(text: string): (readonly string[])[]
  /**
   * The last record, if the file does not end with a line end.
   *
   * @throws IntakeError inside a quote
   */
  end(): (readonly string[])[]
}

/**
 * A reader whose memory is bounded by `maxRecordBytes`, as a record is written without its line
 * end, and the size of the pieces. Records without quotes may come whole from a piece that holds
 * more of them. papaparse reads the cells. It is only ever given whole records: where records end
 * is found here, by the same rules as papaparse has for quotes, so that neither an endless line nor
 * an endless quote reaches it. A quote that never closes, or that closes in a later line with loose
 * text behind it, makes the ends of records uncertain and throws `IntakeError` with the line of the
 * quote.
 */
export function createCsvReader(
  dialect: CsvDialect,
  maxRecordBytes: number,
  firstLine = 1,
): CsvReader {
  const reader = createDoublingReader(dialect, maxRecordBytes, firstLine)
  return dialect.hasBackslashes === true ? createUnescapingReader(reader) : reader
}

/** Reads a text with backslashes by a reader that knows doubled quotes alone. */
function createUnescapingReader(reader: CsvReader): CsvReader {
  let rest = ''
  const restored = (rows: Rows): Rows =>
    rows.map((row) => (row === TOO_LONG ? row : row.map(unescaped)))
  return {
    push: (text) => {
      const known = withStandIns(rest + text)
      // A last backslash may escape what comes next.
      rest = known.endsWith('\\') ? '\\' : ''
      return restored(reader.push(rest === '' ? known : known.slice(0, -1)))
    },
    end: () => [...restored(reader.push(rest)), ...restored(reader.end())],
  }
}

function createDoublingReader(
  { delimiter, newline }: CsvDialect,
  maxRecordBytes: number,
  firstLine: number,
): CsvReader {
  const scan: Scan = {
    delimiter,
    newline,
    maxRecordBytes,
    rest: '',
    at: 0,
    restHasQuote: false,
    quoted: false,
    loose: false,
    skipping: false,
    line: firstLine,
    quoteLine: firstLine,
    breaks: 0,
  }
  return {
    push: (text) => {
      const whole = scan.rest === '' ? text : scan.rest + text
      const plain = !scan.quoted && !scan.skipping && !scan.restHasQuote && !text.includes('"')
      return plain ? pushPlain(scan, whole) : pushQuoted(scan, whole, false)
    },
    end: () => {
      scan.rest = lastLine(scan.rest, scan.newline)
      scan.at = Math.min(scan.at, scan.rest.length)
      if (scan.rest === '' && !scan.quoted && !scan.skipping) return []
      const rows = pushQuoted(scan, scan.rest + scan.newline, true)
      if (scan.quoted) throw unclosed(scan.quoteLine)
      return rows
    },
  }
}

/** State of the parser between two pieces. */
interface Scan extends CsvDialect {
  readonly maxRecordBytes: number
  /** Text from the start of the unfinished record; while `skipping`, only its end. */
  rest: string
  /** Position in `rest` where the scan continues. */
  at: number
  restHasQuote: boolean
  quoted: boolean
  /** Whether the unfinished quoted cell holds a quote that is neither doubled nor closing. */
  loose: boolean
  /** Whether the unfinished record exceeds the limit. */
  skipping: boolean
  /**
   * Line numbers of the unfinished record's start and of its last quote, and the line breaks in
   * quotes so far.
   */
  line: number
  quoteLine: number
  breaks: number
}

type Rows = (readonly string[])[]

function pushPlain(scan: Scan, text: string): Rows {
  const cut = text.lastIndexOf(scan.newline) + 1
  if (cut === 0) {
    keep(scan, text, text.length)
    return []
  }
  const rows = readCells(text.slice(0, cut), scan.delimiter, scan.newline)
  if (scan.newline === '\n' && text.includes('\r')) stripReturns(rows)
  scan.line += rows.length
  keep(scan, text.slice(cut), text.length - cut)
  return rows
}

/** Buffers the unfinished record for the next piece, or only its end once it exceeds the limit. */
function keep(scan: Scan, text: string, scanned: number): void {
  scan.rest = text
  scan.at = scanned
  scan.restHasQuote = text.includes('"')
  // One more may be half of the line end.
  if (text.length <= scan.maxRecordBytes + 1) return
  // Blanks after a quote that fill a line: whether it closes cannot be told in bounded memory.
  if (scan.skipping && text.length - scanned > scan.maxRecordBytes) throw unclosed(scan.quoteLine)
  scan.skipping = true
  const from = Math.max(0, scanned - 1)
  scan.rest = text.slice(from)
  scan.at = scanned - from
}

function pushQuoted(scan: Scan, text: string, last: boolean): Rows {
  const { delimiter, newline } = scan
  const rows: Rows = []
  // While skipping, the record's start is gone, and holds no quote.
  let start = scan.skipping ? -1 : 0
  let segment = 0
  let segmentNewline = ''
  let at = scan.at
  let feed = -1
  const flush = (to: number): void => {
    if (to > segment) {
      for (const row of readCells(text.slice(segment, to), delimiter, segmentNewline))
        rows.push(row)
    }
    segment = to
  }
  for (let quote = -1; ;) {
    if (quote < at) quote = indexOrEnd(text, '"', at)
    if (scan.quoted) {
      const next = closeQuote(scan, text, at, quote, last)
      if (next < 0) {
        at = quote
        break
      }
      at = next
      continue
    }
    if (feed < at) feed = indexOrEnd(text, newline, at)
    if (quote < feed) {
      at = quote + 1
      if (quote === start || text.charAt(quote - 1) === delimiter) openQuote(scan)
      continue
    }
    if (feed === text.length) {
      at = feed
      break
    }
    const ending = newline === '\n' && text.charAt(feed - 1) === '\r' ? '\r\n' : newline
    const end = ending === '\r\n' ? feed - 1 : feed
    if (scan.skipping || isLong(scan, text, start, end)) {
      if (!scan.skipping) flush(start)
      rows.push(TOO_LONG)
      segment = feed + 1
      scan.skipping = false
    } else if (ending !== segmentNewline) {
      // papaparse knows one line ending at a time: records of one ending are read together.
      flush(start)
      segmentNewline = ending
    }
    scan.line += 1 + scan.breaks
    scan.breaks = 0
    at = start = feed + 1
  }
  if (!scan.skipping) flush(start)
  const from = scan.skipping ? 0 : start
  keep(scan, text.slice(from), at - from)
  return rows
}

function isLong({ maxRecordBytes }: Scan, text: string, start: number, end: number): boolean {
  const chars = end - start
  if (chars * 3 <= maxRecordBytes) return false
  return chars > maxRecordBytes || isOver(text.slice(start, end), maxRecordBytes)
}

function openQuote(scan: Scan): void {
  scan.quoted = true
  scan.loose = false
  scan.quoteLine = scan.line + scan.breaks
}

/**
 * Finds the next quote inside a quoted cell; returns where to continue, or -1 if more text is
 * needed.
 */
function closeQuote(scan: Scan, text: string, from: number, quote: number, last: boolean): number {
  const { delimiter, newline } = scan
  // Searched in the part alone: a search of the whole text for each quote would be quadratic.
  const part = text.slice(from, quote)
  for (let feed = part.indexOf(newline); feed !== -1; feed = part.indexOf(newline, feed + 1)) {
    scan.breaks += 1
  }
  if (quote === text.length) return -1
  const after = afterQuote(text, quote, delimiter, newline)
  if (after === text.length && !last) return -1
  if (after === quote) return quote + 2
  if (after === -1) {
    scan.loose = true
    return quote + 1
  }
  if (scan.loose && scan.line + scan.breaks > scan.quoteLine) throw unclosed(scan.quoteLine)
  scan.quoted = false
  return text.charAt(after) === delimiter ? after + 1 : after
}

/** The cells of complete records; the text ends with its newline. */
function readCells(text: string, delimiter: string, newline: string): string[][] {
  // papaparse takes one byte order mark off every text; this one would be part of a cell.
  const kept = text.charCodeAt(0) === 0xfeff ? `\ufeff${text}` : text
  const { data } = Papa.parse<string[]>(kept, { delimiter, newline: newlineOf(newline) })
  // papaparse returns what follows the last newline as another record.
  data.pop()
  return data
}

function newlineOf(text: string): '\r\n' | '\n' | '\r' {
  return text === '\r\n' || text === '\r' ? text : '\n'
}

/** Removes the `\r` of `\r\n` from the last cells of unquoted records. */
function stripReturns(rows: readonly string[][]): void {
  for (const row of rows) {
    const last = row.length - 1
    const cell = row[last] ?? ''
    if (cell.charCodeAt(cell.length - 1) === 13) row[last] = cell.slice(0, -1)
  }
}

function indexOrEnd(text: string, search: string, from: number): number {
  const index = text.indexOf(search, from)
  return index === -1 ? text.length : index
}

function unclosed(line: number): IntakeError {
  return new IntakeError(
    'unprocessable',
    `Line ${line}: a quote opens and does not close where a cell ends; double the quotes inside cells.`,
    { line },
  )
}
