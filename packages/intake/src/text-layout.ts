import { hasBackslashQuotes, withStandIns } from './backslash-quotes.ts'
import { createCsvReader } from './csv-records.ts'
import { findDelimiter, separatorLine } from './delimiter.ts'
import { refuseJsonArray, refuseMarkup, type FileFormat } from './file-kind.ts'
import { createLineReader } from './line-reader.ts'
import { TOO_LONG } from './limits.ts'
import { isLongLine } from './row-builder.ts'
import { findRecords } from './record-layout.ts'
import type { FoundLayout, FileLayout, BatchFileOptions, FileSample } from './file-layout.ts'

/** Detects the delimiter and header of a text file, from its start. */
export function findTextLayout(
  { text, cut }: FileSample,
  named: FileFormat | undefined,
  { header: askedHeader, delimiter: askedDelimiter, limits }: BatchFileOptions,
): FoundLayout {
  refuseMarkup(text)
  if (named !== 'tsv') refuseJsonArray(text)
  const separator = separatorLine(text)
  const skipChars = separator?.length ?? 0
  const body = text.slice(skipChars)
  const newline = newlineOf(body)
  const delimiterOf = (part: string): string | null =>
    askedDelimiter ??
    separator?.delimiter ??
    (named === 'tsv' && part.includes('\t') ? '\t' : findDelimiter(part, newline))
  const escaped = body.includes('\\"') ? withStandIns(body) : body
  const ofEscaped = escaped === body ? null : delimiterOf(escaped)
  const hasBackslashes = hasBackslashQuotes(body, escaped, {
    delimiter: ofEscaped ?? ',',
    newline,
    cut,
  })
  const delimiter = hasBackslashes ? ofEscaped : delimiterOf(body)
  const firstLine = separator === undefined ? 1 : 2
  const layout: Extract<FileLayout, { kind: 'csv' | 'lines' }> =
    delimiter === null && named === 'txt' && !isQuoted(body)
      ? { kind: 'lines', newline }
      : {
          kind: 'csv',
          dialect: { delimiter: delimiter ?? ',', newline, hasBackslashes },
          firstLine,
        }
  const all = recordsOf(body, cut, layout, limits.lineBytes).map((record) =>
    isLongLine(record, limits) ? TOO_LONG : record,
  )
  const found = findRecords(all, {
    header: askedHeader,
    limits,
    passesTitles: layout.kind === 'csv',
    firstLine,
  })
  return {
    format: named ?? (delimiter === '\t' ? 'tsv' : 'csv'),
    layout,
    skipChars,
    delimiter,
    ...found,
  }
}

/**
 * The line end of a text; old Macintosh files have `\n` within quoted cells alone, and at the end
 * where another program has closed the last line.
 */
function newlineOf(body: string): '\n' | '\r' {
  if (!body.includes('\r')) return '\n'
  const between = body.includes('\n') ? body.replaceAll(/"[^"]*"?/g, '') : body
  return /\r(?!\n)/.test(between) && !between.trimEnd().includes('\n') ? '\r' : '\n'
}

function recordsOf(
  body: string,
  cut: boolean,
  layout: Extract<FileLayout, { kind: 'csv' | 'lines' }>,
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

/** Whether the lines of a one-column file are quoted cells. */
function isQuoted(body: string): boolean {
  const lines = body
    .slice(0, 4096)
    .split(/\r?\n|\r/, 20)
    .filter((line) => line !== '')
  return lines.filter((line) => /^".*"$/.test(line)).length * 2 > lines.length
}
