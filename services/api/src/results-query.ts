import { DELIMITER_NAMES, DELIMITER_WANTED } from '@plumbline/contract/delimiters'
import { encodingNamed, type Encoding } from '@plumbline/contract/encodings'
import {
  FILTERS_WANTED,
  isResultFilter,
  type ResultFormat,
} from '@plumbline/contract/results-request'
import { Problem } from '@plumbline/contract/problem'
import type { CsvFile, ResultsRequest } from '@plumbline/pipeline/results'
import type { Request } from 'express'
import { readQuery, type Query } from './query.ts'

/** Options of a CSV file, besides its rows. */
const CSV_NAMES = ['raw', 'bom', 'sep', 'delimiter', 'encoding'] as const

/**
 * Parses the query of a download of results.
 *
 * @throws Problem `bad_request` that names what was expected
 */
export function readResultsQuery(req: Request, formats: readonly ResultFormat[]): ResultsRequest {
  const query = readQuery(req, ['format', 'only', 'after', 'columns', ...CSV_NAMES])
  const format = query.oneOf('format', formats, 'csv')
  const after = query.wholeNumber('after', { fallback: 0, min: 0, max: Number.MAX_SAFE_INTEGER })
  const only = filtersOf(query)
  const columns = columnsOf(query)
  if (format === 'zip' && (only.length > 0 || after > 0)) {
    throw new Problem(
      'bad_request',
      '`format=zip` divides all rows by advice; leave out `only` and `after`.',
    )
  }
  if (format === 'ndjson' && columns !== null) {
    throw new Problem(
      'bad_request',
      '`columns` is for tables (csv, xlsx, zip); a line of NDJSON holds all.',
    )
  }
  const follows = query.text('after', ANY_TEXT) !== undefined
  const raw = isOn(query, 'raw')
  return { format, only, after, follows, columns, raw, csv: csvOf(query, format) }
}

/**
 * Parses the query of the file of refused rows.
 *
 * @throws Problem `bad_request`
 */
export function readRefusedQuery(req: Request, formats: readonly ResultFormat[]): ResultsRequest {
  const query = readQuery(req, ['format', ...CSV_NAMES])
  const format = query.oneOf('format', formats, 'csv')
  const csv = csvOf(query, format)
  return { format, only: [], after: 0, raw: isOn(query, 'raw'), csv, refused: true }
}

function isOn(query: Query, name: string): boolean {
  return query.oneOf(name, ['0', '1'], '0') === '1'
}

function filtersOf(query: Query): readonly string[] {
  const words = (query.text('only', ANY_TEXT) ?? '').split(',').filter((word) => word !== '')
  const odd = words.find((word) => !isResultFilter(word))
  if (odd === undefined) return words
  throw new Problem('bad_request', FILTERS_WANTED)
}

const ANY_TEXT = /^/

/** Names separated by commas; one that holds a comma or a quote is quoted as in CSV. */
function columnsOf(query: Query): readonly string[] | null {
  const text = query.text('columns', ANY_TEXT)
  if (text === undefined) return null
  const names = namesIn(text)
  if (names !== undefined) return names
  throw new Problem(
    'bad_request',
    '`columns` must be names separated by commas, such as input,result.advice; put a name with a comma in quotes.',
  )
}

function namesIn(text: string): readonly string[] | undefined {
  const names: string[] = []
  const name = /(?:"((?:[^"]|"")*)"|([^",]+))(,|$)/y
  while (name.lastIndex < text.length) {
    const found = name.exec(text)
    if (found === null) return undefined
    names.push(found[1]?.replaceAll('""', '"') ?? found[2] ?? '')
  }
  return names.length === 0 || text.endsWith(',') ? undefined : names
}

function csvOf(query: Query, format: ResultFormat): CsvFile {
  const bom = isOn(query, 'bom')
  const sep = isOn(query, 'sep')
  const encoding = encodingOf(query)
  const delimiter = DELIMITER_NAMES.get(delimiterOf(query)) ?? ','
  const isTable = format === 'csv' || format === 'zip'
  if (!isTable && (bom || sep || encoding !== 'utf-8' || delimiter !== ',' || isOn(query, 'raw'))) {
    throw new Problem(
      'bad_request',
      `\`bom\`, \`sep\`, \`delimiter\`, \`encoding\` and \`raw\` are for CSV; leave them out for ${format}.`,
    )
  }
  if (bom && sep) {
    throw new Problem(
      'bad_request',
      '`sep` makes Excel ignore the byte order mark of `bom`; use one of them, or format=xlsx.',
    )
  }
  if (bom && !encoding.startsWith('utf-')) {
    throw new Problem(
      'bad_request',
      `\`bom\` is for utf-8 and utf-16le; ${encoding} has no such mark.`,
    )
  }
  return { bom, sep, encoding, delimiter }
}

function delimiterOf(query: Query): string {
  const name = query.text('delimiter', ANY_TEXT) ?? ','
  if (DELIMITER_NAMES.has(name)) return name
  throw new Problem('bad_request', DELIMITER_WANTED)
}

function encodingOf(query: Query): Encoding {
  const name = query.text('encoding', ANY_TEXT) ?? 'utf-8'
  const encoding = encodingNamed(name)
  if (encoding !== undefined) return encoding
  throw new Problem(
    'bad_request',
    '`encoding` must be the name of a usual encoding, such as utf-8, windows-1252 or shift_jis.',
  )
}
