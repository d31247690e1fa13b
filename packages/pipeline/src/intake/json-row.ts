import type { Check } from '@plumbline/contract/products'
import type { FieldText, ListRow, RowMaker } from './list-row.ts'

/** A record of a JSON list. */
export type JsonRecord = Readonly<Record<string, unknown>>

/** Names of the fields of a JSON list: which key feeds which field. */
export type JsonKeys = { readonly [F in Check | 'ref']?: string }

/** Reads one line of NDJSON into a row; its cells are the one JSON text. */
export function jsonRow(
  line: string,
  keys: JsonKeys,
  rows: RowMaker,
  addKey: (key: string) => void,
): ListRow {
  const text = line.trim()
  if (text === '') return rows.blank([])
  const record = parseRecord(text)
  if (record === undefined) {
    return rows.refuse([JSON.stringify(line)], 'the line is not a JSON object')
  }
  const fault = valueFault(record, keys)
  if (fault !== undefined) return rows.refuse([text], fault)
  const own = Object.keys(record)
  for (const key of own) addKey(key)
  return rows.fromFields([text], fieldsOf(record, keys), own.length)
}

/** The object that a line holds; undefined when it holds none. */
export function parseRecord(text: string): JsonRecord | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The cells of a record by column: texts as they are, all else as JSON text, absent ones empty. */
export function jsonCells(text: string, columns: readonly string[]): string[] {
  const record = parseRecord(text)
  return columns.map((column) => {
    const value = record !== undefined && Object.hasOwn(record, column) ? record[column] : undefined
    return valueText(value)
  })
}

/** A JSON value as a cell. */
export function valueText(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value)
  } catch {
    // Nested deeper than the stack goes.
    return ''
  }
}

function fieldsOf(record: JsonRecord, keys: JsonKeys): FieldText {
  return (field) => {
    const key = keys[field]
    const value = key !== undefined && Object.hasOwn(record, key) ? record[key] : undefined
    if (typeof value === 'string') return value
    return typeof value === 'number' ? String(value) : undefined
  }
}

/** Numbers are taken for phones and references, which people write so. */
function valueFault(record: JsonRecord, keys: JsonKeys): string | undefined {
  for (const [field, key] of Object.entries(keys)) {
    const value = Object.hasOwn(record, key) ? record[key] : undefined
    if (value === undefined || value === null || typeof value === 'string') continue
    const numeric = (field === 'phone' || field === 'ref') && Number.isSafeInteger(value)
    if (!numeric) return `${field}: is not a text`
  }
  return undefined
}

function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
