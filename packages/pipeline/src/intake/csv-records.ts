import Papa from 'papaparse'
import { ListError } from './list-error.ts'

/** Stands for a record that was over the line limit and is not kept. */
export const TOO_LONG: readonly string[] = Object.freeze([])

/** How the records of a file are told apart. */
export interface CsvDialect {
  /** One character. */
  readonly delimiter: string
  /** `\n` takes `\r\n` too, record by record. */
  readonly newline: '\n' | '\r'
}

/** Reads records from text that comes in pieces. */
export interface CsvReader {
  /** The records that this piece completes, as arrays of cells; `TOO_LONG` for one that was skipped. */
  push(text: string): (readonly string[])[]
  /** The last record, where the file does not end its line. Throws `ListError` inside a quote. */
  end(): (readonly string[])[]
}

/**
 * A reader whose memory is bounded by `maxRecordChars` and the size of the pieces.
 *
 * papaparse reads the cells. It is only ever given whole records: where records end is found here, by
 * the same rules as papaparse has for quotes, so that neither an endless line nor an endless quote
 * reaches it. A quote that never closes, or that closes in a later line with loose text behind it, is
 * lost framing and throws `ListError` with the line of the quote.
 */
export function createCsvReader(
  dialect: CsvDialect,
  maxRecordChars: number,
  firstLine = 1,
): CsvReader {
  const { delimiter, newline } = dialect
  /** Text from the start of the open record; while `skipping`, only what the scan needs. */
  let rest = ''
  let scan = 0
  let quoted = false
  let loose = false
  let skipping = false
  let restHasQuote = false
  /** Line of the open record's start, of its open quote, and line breaks in quotes so far. */
  let line = firstLine
  let quoteLine = 1
  let breaks = 0

  function pushPlain(text: string): (readonly string[])[] {
    const cut = text.lastIndexOf(newline) + 1
    if (cut === 0) {
      keep(text, text.length)
      return []
    }
    const rows = readCells(text.slice(0, cut), delimiter, newline)
    if (newline === '\n' && text.includes('\r')) stripReturns(rows)
    line += rows.length
    keep(text.slice(cut), text.length - cut)
    return rows
  }

  /** Keeps the open record for the next piece, or only its end once it is over the limit. */
  function keep(text: string, scanned: number): void {
    rest = text
    scan = scanned
    restHasQuote = text.includes('"')
    if (text.length <= maxRecordChars) return
    if (skipping && text.length - scanned > maxRecordChars) throw unclosed(quoteLine)
    skipping = true
    const from = Math.max(0, scanned - 1)
    rest = text.slice(from)
    scan = scanned - from
  }

  function pushQuoted(text: string, last: boolean): (readonly string[])[] {
    const rows: (readonly string[])[] = []
    let start = skipping ? -1 : 0
    let segment = 0
    let segmentNewline = ''
    let at = scan
    let quote = -1
    let feed = -1
    const flush = (to: number): void => {
      if (to > segment) {
        for (const row of readCells(text.slice(segment, to), delimiter, segmentNewline))
          rows.push(row)
      }
      segment = to
    }
    for (;;) {
      if (quote < at) quote = indexOrEnd(text, '"', at)
      if (feed < at) feed = indexOrEnd(text, newline, at)
      if (quoted) {
        while (feed < quote) {
          breaks += 1
          feed = indexOrEnd(text, newline, feed + 1)
        }
        at = quote
        if (quote === text.length) break
        const after = afterQuote(text, quote, delimiter, newline)
        if (after === text.length && !last) break
        if (after === quote) {
          at = quote + 2
        } else if (after === -1) {
          loose = true
          at = quote + 1
        } else {
          if (loose && line + breaks > quoteLine) throw unclosed(quoteLine)
          quoted = false
          at = text.charAt(after) === delimiter ? after + 1 : after
        }
      } else if (quote < feed) {
        at = quote + 1
        if (quote === start || text.charAt(quote - 1) === delimiter) {
          quoted = true
          loose = false
          quoteLine = line + breaks
        }
      } else if (feed === text.length) {
        at = feed
        break
      } else {
        const ending =
          newline === '\n' && feed > 0 && text.charAt(feed - 1) === '\r' ? '\r\n' : newline
        if (skipping) {
          rows.push(TOO_LONG)
          segment = feed + 1
          skipping = false
        } else if (ending !== segmentNewline) {
          flush(start)
          segmentNewline = ending
        }
        line += 1 + breaks
        breaks = 0
        at = start = feed + 1
      }
    }
    if (!skipping) flush(start)
    const from = skipping ? 0 : start
    keep(text.slice(from), at - from)
    return rows
  }

  return {
    push: (text) => {
      const whole = rest === '' ? text : rest + text
      const plain = !quoted && !skipping && !restHasQuote && !text.includes('"')
      return plain ? pushPlain(whole) : pushQuoted(whole, false)
    },
    end: () => {
      if (rest === '' && !quoted && !skipping) return []
      const rows = pushQuoted(rest + newline, true)
      if (quoted) throw unclosed(quoteLine)
      return rows
    },
  }
}

/**
 * Where the text after a quote inside quotes decides what it is: `quote` itself for a doubled one, the
 * index of the delimiter or line end for a closing one, -1 for a loose one, the length of the text
 * where it does not tell yet.
 */
function afterQuote(text: string, quote: number, delimiter: string, newline: string): number {
  if (text.charAt(quote + 1) === '"') return quote
  for (let at = quote + 1; at < text.length; at++) {
    const char = text.charAt(at)
    if (char === delimiter || char === newline) return at
    if (char.trim() !== '') return -1
  }
  return text.length
}

/** The cells of whole records; the text ends with its newline. */
function readCells(text: string, delimiter: string, newline: string): string[][] {
  // papaparse takes one byte order mark off every text; this one would be part of a cell.
  const kept = text.charCodeAt(0) === 0xfeff ? `\ufeff${text}` : text
  const { data } = Papa.parse<string[]>(kept, { delimiter, newline: newlineOf(newline) })
  // What follows the last newline reads as one more record.
  data.pop()
  return data
}

function newlineOf(text: string): '\r\n' | '\n' | '\r' {
  return text === '\r\n' || text === '\r' ? text : '\n'
}

/** Takes the `\r` of `\r\n` off the last cells of records without quotes. */
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

function unclosed(line: number): ListError {
  return new ListError(
    'unprocessable',
    `Line ${line}: a quote opens and does not close where a cell ends; double the quotes inside cells.`,
    { line },
  )
}
