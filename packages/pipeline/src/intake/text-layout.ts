import { createCsvReader, TOO_LONG } from './csv-records.ts'
import { findDelimiter, separatorLine } from './delimiter.ts'
import { formatOfText, refuseMarkup, type FileFormat } from './file-kind.ts'
import { findHeader, findPreamble } from './header.ts'
import { createLineReader } from './line-reader.ts'
import { isLongLine } from './row-builder.ts'
import { IntakeError } from './intake-error.ts'
import type { FoundLayout, FileLayout, BatchFileOptions, FileSample } from './file-layout.ts'

const SAMPLE_ROWS = 200

/** Finds delimiter and header of a file of cells, from its start. */
export function findTextLayout(
  { text, cut }: FileSample,
  named: FileFormat | undefined,
  { header: askedHeader, delimiter: askedDelimiter, limits }: BatchFileOptions,
): FoundLayout {
  refuseMarkup(text)
  if (named === undefined || named === 'csv') formatOfText(text)
  const separator = separatorLine(text)
  const skipChars = separator?.length ?? 0
  const body = text.slice(skipChars)
  const newline = !body.includes('\n') && body.includes('\r') ? '\r' : '\n'
  const delimiter =
    askedDelimiter ??
    separator?.delimiter ??
    (named === 'tsv' ? '\t' : findDelimiter(body, newline))
  const layout: FileLayout =
    delimiter === null && named === 'txt' && !isQuoted(body)
      ? { kind: 'lines', newline }
      : {
          kind: 'csv',
          dialect: { delimiter: delimiter ?? ',', newline },
          firstLine: separator === undefined ? 1 : 2,
        }
  const all = recordsOf(body, cut, layout, limits.lineBytes).map((record) =>
    isLongLine(record, limits) ? TOO_LONG : record,
  )
  const preamble = askedHeader === undefined && layout.kind === 'csv' ? findPreamble(all) : 0
  const records = all.slice(preamble)
  const whole = records.filter((record) => record !== TOO_LONG)
  const hasHeader = askedHeader ?? findHeader(whole)
  const first = records.findIndex((record) => record === TOO_LONG || !isBlank(record))
  // Without a first record nothing is known of the columns.
  if ((hasHeader && records[first] === TOO_LONG) || records.length === 0) {
    const line = Math.max(first, 0) + (separator === undefined ? 1 : 2)
    throw new IntakeError(
      'unprocessable',
      `Line ${line}: the header line is over ${limits.lineBytes} bytes.`,
      { line },
    )
  }
  const header = hasHeader ? (records[first] ?? []).map((name) => name.toWellFormed()) : null
  const skipRecords = preamble + (hasHeader ? first + 1 : 0)
  const rows = all
    .slice(skipRecords)
    .filter((record) => record.length <= limits.columns && !isBlank(record))
  return {
    format: named ?? (delimiter === '\t' ? 'tsv' : 'csv'),
    layout,
    skipChars,
    skipRecords,
    delimiter,
    header,
    rows: rows.slice(0, SAMPLE_ROWS),
  }
}

function recordsOf(
  body: string,
  cut: boolean,
  layout: Exclude<FileLayout, { kind: 'json' }>,
  maxBytes: number,
): (readonly string[])[] {
  if (layout.kind === 'lines') {
    const reader = createLineReader(layout.newline, maxBytes)
    const lines = [...reader.push(body), ...(cut ? [] : reader.end())]
    return lines.map((line) => (line === undefined ? TOO_LONG : [line]))
  }
  const reader = createCsvReader(layout.dialect, maxBytes, layout.firstLine)
  const records = reader.push(body)
  if (!cut) records.push(...reader.end())
  return records.length > 2000 ? records.slice(0, 2000) : records
}

/** Whether the lines of a file of one column are quoted cells. */
function isQuoted(body: string): boolean {
  const lines = body
    .slice(0, 4096)
    .split(/\r?\n|\r/, 20)
    .filter((line) => line !== '')
  return lines.filter((line) => /^".*"$/.test(line)).length * 2 > lines.length
}

function isBlank(record: readonly string[]): boolean {
  return record.every((cell) => cell.trim() === '')
}
