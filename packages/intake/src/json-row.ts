import type { Check } from '@plumbline/contract/products'
import type { UploadLimits } from './limits.ts'
import type { ColumnText } from './record-kinds.ts'
import type { FileRow, RowBuilder, RowFields } from './row-builder.ts'

/** A record of a JSON file. */
export type JsonRecord = Readonly<Record<string, unknown>>

/** Keys of a JSON file by the field that they are mapped to. */
export type JsonKeys = { readonly [F in Check | 'ref']?: string }

/**
 * Parses one line of NDJSON into a row; its only cell is the JSON text.
 *
 * @param broken an error that refuses the row whatever it holds
 */
export function jsonRow(
  line: string,
  keys: JsonKeys,
  rows: RowBuilder,
  columns: JsonColumns,
  broken?: string,
): FileRow {
  const text = line.trim()
  if (text === '') return rows.blank([])
  const record = parseRecord(text)
  if (record === undefined) {
    columns.addRest()
    return rows.refuse([JSON.stringify(line)], broken ?? 'the line is not a JSON object')
  }
  const own = Object.keys(record)
  for (const key of own) columns.add(key)
  if (nestsDeep(text)) columns.addRest()
  if (Object.values(record).every(isBlank)) return rows.blank([text])
  const fields = fieldsOf(text, record, keys)
  if (broken !== undefined) return rows.refuse([text], broken, fields.ref())
  const textOf: ColumnText = ({ header }) =>
    Object.hasOwn(record, header) ? valueText(record[header]) : undefined
  return rows.fromFields([text], fields, own.length, textOf)
}

/** The columns of a JSON file: one for each key, up to limits of their number and length. */
export interface JsonColumns {
  readonly names: readonly string[]
  /** Whether some values have no column of their own. */
  readonly hasRest: boolean
  add(key: string): void
  addRest(): void
}

/**
 * Columns for known keys, and for new ones as long as all of them are a header that a text file
 * could have.
 */
export function createJsonColumns(
  known: readonly string[],
  limits: Pick<UploadLimits, 'columns' | 'lineBytes'>,
): JsonColumns {
  const names = new Set(known)
  let bytes = 0
  for (const name of known) bytes += Buffer.byteLength(name) + 1
  let hasRest = false
  const fits = (key: string): boolean =>
    names.size < limits.columns && bytes + Buffer.byteLength(key) <= limits.lineBytes
  return {
    get names() {
      return [...names]
    },
    get hasRest() {
      return hasRest
    },
    add: (key) => {
      if (names.has(key)) return
      if (fits(key) && canBeColumn(key)) {
        names.add(key)
        bytes += Buffer.byteLength(key) + 1
      } else {
        hasRest = true
      }
    },
    addRest: () => {
      hasRest = true
    },
  }
}

/** Whether a key can name a column: databases store no NUL and no unpaired surrogate. */
function canBeColumn(key: string): boolean {
  return key.isWellFormed() && !key.includes('\0')
}

/** The object in a line; undefined if it is not an object. */
export function parseRecord(text: string): JsonRecord | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** A row of a JSON file as cells. */
export interface JsonCells {
  /** By column: strings unchanged, other values as JSON text, absent ones empty. */
  readonly cells: readonly string[]
  /** Values without a column, with their keys; or the line, if it is not an object. */
  readonly rest: string
}

/** The cells of a row that `jsonRow` parsed. */
export function jsonCells(text: string, columns: readonly string[]): JsonCells {
  const record = recordExactly(text)
  if (record === undefined) return { cells: columns.map(() => ''), rest: lineIn(text) }
  const own = columns.filter((column) => Object.hasOwn(record, column))
  const cellsBy = (write: (value: unknown) => string): readonly string[] =>
    columns.map((column) => (Object.hasOwn(record, column) ? write(record[column]) : ''))
  try {
    const cells = cellsBy(writeValue)
    if (Object.keys(record).length === own.length) return { cells, rest: '' }
    const named = new Set(own)
    const others = Object.entries(record).filter(([key]) => !named.has(key))
    return { cells, rest: JSON.stringify(Object.fromEntries(others)) }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    // Nested deeper than the stack allows.
    return { cells: cellsBy(valueText), rest: text }
  }
}

/** A JSON value as a cell; empty if it is nested too deeply to be serialized. */
export function valueText(value: unknown): string {
  try {
    return writeValue(value)
  } catch {
    return ''
  }
}

function writeValue(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** With fewer brackets than this a value can be serialized whatever the stack depth. */
const SHALLOW_BRACKETS = 1_000

function nestsDeep(text: string): boolean {
  return (
    text.length > SHALLOW_BRACKETS &&
    text.split(/[[{]/, SHALLOW_BRACKETS + 1).length > SHALLOW_BRACKETS
  )
}

/** The unchanged line if it was not an object; empty if it was not stored. */
function lineIn(text: string): string {
  const line: unknown = text === '' ? '' : JSON.parse(text)
  return typeof line === 'string' ? line : ''
}

/** Numbers that may lose precision: too many digits, or an exponent. */
const INEXACT = /[\d.]{16}|\d[eE]/

/** Like `parseRecord`, but numbers are serialized exactly as they came. */
function recordExactly(text: string): JsonRecord | undefined {
  if (!INEXACT.test(text)) return parseRecord(text)
  try {
    const value = parseExactly(text)
    return isRecord(value) ? value : undefined
  } catch {
    return parseRecord(text)
  }
}

/**
 * A JSON value whose numbers are serialized exactly as they came; `exactNumber` reads them.
 *
 * @throws SyntaxError; RangeError if it is nested deeper than the stack allows
 */
export function parseExactly(text: string): unknown {
  return parseWithSources(text, (value, source) =>
    typeof value === 'number' && source !== undefined ? rawJson(source) : value,
  )
}

/** The number in a value of `parseExactly`, which may be rounded; undefined for other values. */
export function exactNumber(value: unknown): number | undefined {
  return isRawJson(value) ? Number(value.rawJSON) : undefined
}

/**
 * Safe because Node 24 supports it (ECMAScript, JSON.parse source text access); the types do not
 * yet.
 */
function parseWithSources(
  text: string,
  revive: (value: unknown, source: string | undefined) => unknown,
): unknown {
  const parse = JSON.parse as (
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ) => unknown
  return parse(text, (_key, value, { source }) => revive(value, source))
}

/** A value that is serialized as its text. */
interface RawJson {
  readonly rawJSON: string
}

/** Safe for the same reason. */
function rawJson(text: string): RawJson {
  return (JSON as unknown as { rawJSON(text: string): RawJson }).rawJSON(text)
}

/** Safe for the same reason. */
function isRawJson(value: unknown): value is RawJson {
  return (JSON as unknown as { isRawJSON(value: unknown): boolean }).isRawJSON(value)
}

/** Phones and references are often written as numbers; other numbers may have been rounded. */
function fieldsOf(text: string, record: JsonRecord, keys: JsonKeys): RowFields {
  const valueOf = (field: keyof JsonKeys): unknown => {
    const key = keys[field]
    return key !== undefined && Object.hasOwn(record, key) ? record[key] : undefined
  }
  return {
    subject: (check) => {
      const value = valueOf(check)
      if (value === undefined || value === null) return undefined
      if (typeof value === 'string') return value
      return check === 'phone' && isWhole(value) ? String(value) : null
    },
    ref: () => {
      const value = valueOf('ref')
      if (typeof value === 'string' || isWhole(value)) return String(value)
      return valueText(value === undefined ? value : recordExactly(text)?.[keys.ref ?? ''])
    },
  }
}

/** Whether a value is a whole number that was read without rounding. */
function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

/** Whether a value counts as absent, like an empty cell. */
function isBlank(value: unknown): boolean {
  return value === null || (typeof value === 'string' && value.trim() === '')
}

/** Whether a JSON value is an object. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
