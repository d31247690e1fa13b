import type { RowKind } from '@plumbline/contract/batch'
import { checksOf, type Check, type Product } from '@plumbline/contract/products'
import type { Claim, ClaimReader } from './claims.ts'
import { csvCell } from './csv-cell.ts'
import { isOver, TOO_LONG, type UploadLimits } from './limits.ts'
import { createRecordKinds, type ColumnText, type Subjects } from './record-kinds.ts'
import { cellReaders, cellText, isNoValue, type CellReader, type Reading } from './subject.ts'

/** One row of a file. */
export interface FileRow {
  /** 0-based number, the header not counted. */
  readonly row: number
  readonly kind: RowKind
  /**
   * The cells unchanged, those beyond the column limit joined into one more; for JSON files the
   * JSON text. Empty if the line exceeded the limit.
   */
  readonly cells: readonly string[]
  readonly subjects: Subjects
  readonly ref: string | undefined
  /**
   * For a duplicate, the row of the first identical record; for a known row, the row whose verdict
   * of another service settles it.
   */
  readonly ofRow: number | undefined
  /** The verdict of another service because of which a known row is not checked. */
  readonly claim: Claim | undefined
  /** Why a record was refused, or which of its fields could not be read. */
  readonly error: string | undefined
}

/** Characters of a row's cells. */
export function charsOf({ cells }: FileRow): number {
  let chars = 0
  for (const cell of cells) chars += cell.length
  return chars
}

/** Counts of the rows read so far. */
export interface RowCounts {
  readonly total: number
  readonly blank: number
  readonly refused: number
  readonly duplicate: number
  readonly known: number
  readonly billable: number
  /** Cells of the widest row, up to the limit. */
  readonly columns: number
  /** Whether a row has cells beyond the limit. */
  readonly hasRest: boolean
}

const NO_SUBJECTS: Subjects = {
  email: undefined,
  phone: undefined,
  ip: undefined,
  domain: undefined,
}

/** The named fields of a row. */
export interface RowFields {
  /** The text of a check's field: undefined if absent, null if its value is no text. */
  subject(check: Check): string | null | undefined
  ref(): string | undefined
}

/** Builds rows from cells, in the order of the file. */
export interface RowBuilder {
  /** A row from the cells of its columns, or `TOO_LONG`; `fault` refuses it whatever it holds. */
  fromCells(cells: readonly string[], fault?: string): FileRow
  /** A row from named fields; `width` is its number of columns. */
  fromFields(
    cells: readonly string[],
    fields: RowFields,
    width: number,
    textOf?: ColumnText,
  ): FileRow
  refuse(cells: readonly string[], error: string, ref?: string): FileRow
  blank(cells: readonly string[]): FileRow
  readonly counts: RowCounts
  /** One bit a row, lowest first: set if the row has later duplicates. */
  duplicated(): Buffer
}

/** Rules by which rows are built from cells. */
export interface RowRules {
  readonly product: Product
  readonly columns: { readonly [F in Check | 'ref']?: number }
  readonly defaultCountry: string | undefined
  readonly limits: UploadLimits
  /** Reads another service's verdicts, if the batch accepts them. */
  readonly claimOf?: ClaimReader | undefined
}

/** Makes a builder that remembers every record to find duplicates. */
export function createRowBuilder(rules: RowRules): RowBuilder {
  const { limits } = rules
  const parts = partsOf(rules)
  const refColumn = rules.columns.ref ?? -1
  const records = createRecordKinds(rules.claimOf)
  const kinds = { blank: 0, refused: 0, duplicate: 0, known: 0, billable: 0 }
  /** With fewer characters than this no cell or line can exceed its limit. */
  const safeChars = Math.floor(Math.min(limits.cellBytes, limits.lineBytes) / 3)
  let row = 0
  let widest = 0
  let hasRest = false

  function made(kind: RowKind, cells: Cells, about: Partial<FileRow>): FileRow {
    kinds[kind] += 1
    return {
      row: row++,
      kind,
      cells,
      subjects: about.subjects ?? NO_SUBJECTS,
      ref: about.ref,
      ofRow: about.ofRow,
      claim: about.claim,
      error: about.error,
    }
  }

  const refuse = (cells: Cells, error: string, ref?: string): FileRow =>
    made('refused', cells, { error, ref: ref || undefined })

  function fromParts(
    cells: Cells,
    fields: RowFields | undefined,
    textOf: ColumnText = ({ column }) => cells[column],
  ): FileRow {
    const { refused, subjects, keys, error } = readParts(parts, cells, fields)
    const ref = (fields === undefined ? cells[refColumn] : fields.ref()) || undefined
    if (refused !== undefined) return refuse(cells, refused, ref)
    const record = records.of(row, subjects, keys, textOf)
    return made(record.kind, cells, { ...record, subjects, ref, error })
  }

  return {
    fromCells: (cells, broken) => {
      if (cells === TOO_LONG) return refuse([], lineFault(limits))
      if (cells.length > widest) widest = Math.min(cells.length, limits.columns)
      let chars = cells.length
      for (const cell of cells) chars += cell.length
      if (chars > safeChars || cells.length > limits.columns || broken !== undefined) {
        if (isLongLine(cells, limits)) return refuse([], lineFault(limits))
        const fault = limitFault(cells, limits) ?? broken
        const within = cells.length <= limits.columns
        hasRest ||= !within
        if (fault !== undefined) {
          return refuse(within ? cells : gathered(cells, limits), fault, cells[refColumn])
        }
      }
      return cells.every(isBlank) ? made('blank', cells, {}) : fromParts(cells, undefined)
    },
    fromFields: (cells, fields, width, textOf) => {
      if (width > widest) widest = Math.min(width, limits.columns)
      if (width > limits.columns) {
        return refuse(cells, columnsFault(width, limits), fields.ref())
      }
      return fromParts(cells, fields, textOf)
    },
    refuse,
    blank: (cells) => made('blank', cells, {}),
    get counts() {
      return { total: row, ...kinds, columns: widest, hasRest }
    },
    duplicated: () => records.duplicated(),
  }
}

type Cells = readonly string[]

/** The cells up to the limit, and the others joined into one: a line can hold tens of thousands. */
function gathered(cells: Cells, { columns }: UploadLimits): Cells {
  const rest = cells.slice(columns).map((cell) => csvCell(cell, true))
  return [...cells.slice(0, columns), rest.join(',')]
}

/** One field of a record: its column and parser. */
interface Part {
  readonly check: Check
  readonly column: number
  readonly reader: CellReader
  readonly required: boolean
}

function partsOf({ product, columns, defaultCountry }: RowRules): readonly Part[] {
  const readers = cellReaders(defaultCountry)
  return checksOf(product).flatMap((check, at): Part[] => {
    const column = columns[check]
    return column === undefined
      ? []
      : [{ check, column, reader: readers[check], required: at === 0 }]
  })
}

const NO_TEXT: Reading = { fault: 'is not a text' }

/**
 * The subjects of a record, or why it is refused; an optional field that cannot be read is left out
 * and named in the error.
 */
function readParts(
  parts: readonly Part[],
  cells: Cells,
  fields: RowFields | undefined,
): { refused?: string; subjects: Subjects; keys: Subjects; error?: string | undefined } {
  const subjects: { -readonly [C in Check]: Subjects[C] } = { ...NO_SUBJECTS }
  const keys: { -readonly [C in Check]: Subjects[C] } = { ...NO_SUBJECTS }
  let error: string | undefined
  for (const { check, column, reader, required } of parts) {
    const given = fields === undefined ? cells[column] : fields.subject(check)
    const text = typeof given === 'string' ? cellText(given) : undefined
    if (given !== null && (text === undefined || isNoValue(text))) {
      if (required) return { refused: `${check}: is missing`, subjects, keys }
      continue
    }
    const reading = text === undefined ? NO_TEXT : reader(text)
    subjects[check] = reading.subject
    keys[check] = reading.subject === undefined ? undefined : (reading.key ?? reading.subject)
    const word = reading.subject === undefined ? reading.fault : reading.note
    if (word === undefined) continue
    const named = `${check}: ${word}`
    if (required && reading.subject === undefined) return { refused: named, subjects, keys }
    error = error === undefined ? named : `${error}; ${named}`
  }
  return { subjects, keys, error }
}

function isBlank(cell: string): boolean {
  return cell === '' || cell.trim() === ''
}

function limitFault(cells: readonly string[], limits: UploadLimits): string | undefined {
  if (cells.length > limits.columns) return columnsFault(cells.length, limits)
  const long = cells.findIndex((cell) => isOver(cell, limits.cellBytes))
  return long === -1 ? undefined : `column ${long}: is over ${limits.cellBytes} bytes`
}

/** Whether cells make a line over its limit, counted without quotes. */
export function isLongLine(cells: readonly string[], { lineBytes }: UploadLimits): boolean {
  let chars = cells.length - 1
  for (const cell of cells) chars += cell.length
  if (chars * 3 <= lineBytes) return false
  if (chars > lineBytes) return true
  let bytes = cells.length - 1
  for (const cell of cells) bytes += Buffer.byteLength(cell)
  return bytes > lineBytes
}

function columnsFault(width: number, limits: UploadLimits): string {
  return `the record has ${width} columns; the most is ${limits.columns}`
}

/** The error of a record whose line exceeds the limit. */
function lineFault(limits: UploadLimits): string {
  return `the line is over ${limits.lineBytes} bytes`
}
