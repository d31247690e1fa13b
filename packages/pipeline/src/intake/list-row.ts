import type { RowKind } from '@plumbline/contract/batch'
import { checksOf, type Check, type Product } from '@plumbline/contract/products'
import type { CountryCode } from 'libphonenumber-js/max'
import { createRowSet } from './bits.ts'
import { createFirstRows } from './first-rows.ts'
import type { ListLimits } from './limits.ts'
import { cellReaders } from './subject.ts'

/** Subjects of a record in normal form; undefined where absent or dropped. */
export interface Subjects {
  readonly email: string | undefined
  readonly phone: string | undefined
  readonly ip: string | undefined
  readonly domain: string | undefined
}

/** One row of a list. */
export interface ListRow {
  /** 0-based among the rows; the header is none. */
  readonly row: number
  readonly kind: RowKind
  /** As they came; for JSON lists the one JSON text. Empty where the line was too long to keep. */
  readonly cells: readonly string[]
  readonly subjects: Subjects
  readonly ref: string | undefined
  /** For a duplicate the row of the first identical record. */
  readonly ofRow: number | undefined
  /** Why a record was refused, or which of its parts could not be read. */
  readonly error: string | undefined
}

/** Counts of what was read so far. */
export interface RowCounts {
  readonly total: number
  readonly blank: number
  readonly refused: number
  readonly duplicate: number
  readonly billable: number
  /** Most cells of any row. */
  readonly columns: number
}

const NO_SUBJECTS: Subjects = {
  email: undefined,
  phone: undefined,
  ip: undefined,
  domain: undefined,
}

/** Where a field's text is in a row: undefined where absent; a fault where it is no text. */
export type FieldText = (check: Check | 'ref') => string | undefined

/** Turns cells into rows, in the order of the list. */
export interface RowMaker {
  fromCells(cells: readonly string[]): ListRow
  /** A row whose fields are not simply cells; `width` is the number of its columns. */
  fromFields(cells: readonly string[], field: FieldText, width: number): ListRow
  refuse(cells: readonly string[], error: string): ListRow
  blank(cells: readonly string[]): ListRow
  readonly counts: RowCounts
  /** Rows that a later row repeats: one bit a row, lowest first. */
  repeated(): Buffer
}

/** What rows are made by. */
export interface RowRules {
  readonly product: Product
  readonly columns: { readonly [F in Check | 'ref']?: number }
  readonly defaultCountry: CountryCode | undefined
  readonly limits: ListLimits
}

/** A maker that remembers every record, to find repeats. */
export function createRowMaker(rules: RowRules): RowMaker {
  const { limits, columns } = rules
  const readers = cellReaders(rules.defaultCountry)
  const checks = checksOf(rules.product).filter((check) => columns[check] !== undefined)
  const parts = checks.map((check, at) => ({
    check,
    column: columns[check] ?? -1,
    reader: readers[check],
    required: at === 0,
  }))
  const refColumn = columns.ref ?? -1
  const firstRows = createFirstRows()
  const repeated = createRowSet()
  const kinds = { blank: 0, refused: 0, duplicate: 0, billable: 0 }
  /** Below this many characters no cell or line can be over its limit, whatever they are. */
  const safeChars = Math.floor(Math.min(limits.cellBytes, limits.lineBytes) / 3)
  let row = 0
  let widest = 0

  function made(
    kind: RowKind,
    cells: readonly string[],
    subjects: Subjects,
    ref: string | undefined,
    ofRow: number | undefined,
    error: string | undefined,
  ): ListRow {
    kinds[kind] += 1
    return { row: row++, kind, cells, subjects, ref, ofRow, error }
  }

  function refuse(cells: readonly string[], error: string): ListRow {
    return made('refused', cells, NO_SUBJECTS, undefined, undefined, error)
  }

  function blank(cells: readonly string[]): ListRow {
    return made('blank', cells, NO_SUBJECTS, undefined, undefined, undefined)
  }

  function fromParts(cells: readonly string[], field: FieldText | undefined): ListRow {
    const subjects: { -readonly [C in Check]: Subjects[C] } = { ...NO_SUBJECTS }
    let error: string | undefined
    for (const part of parts) {
      const text = (field === undefined ? cells[part.column] : field(part.check))?.trim()
      if (text === undefined || text === '') {
        if (part.required) return refuse(cells, `${part.check}: is missing`)
        continue
      }
      const reading = part.reader(text)
      if (reading.subject === undefined) {
        const fault = `${part.check}: ${reading.fault}`
        if (part.required) return refuse(cells, fault)
        error = error === undefined ? fault : `${error}; ${fault}`
        continue
      }
      subjects[part.check] = reading.subject
      if (reading.note !== undefined) {
        const note = `${part.check}: ${reading.note}`
        error = error === undefined ? note : `${error}; ${note}`
      }
    }
    const ref = (field === undefined ? cells[refColumn] : field('ref')) || undefined
    const ofRow = firstRows.find(row, subjects.email, subjects.phone, subjects.ip, subjects.domain)
    if (ofRow === -1) return made('billable', cells, subjects, ref, undefined, error)
    repeated.add(ofRow)
    return made('duplicate', cells, subjects, ref, ofRow, error)
  }

  return {
    fromCells: (cells) => {
      if (cells.length > widest) widest = Math.min(cells.length, limits.columns)
      let chars = cells.length
      for (const cell of cells) chars += cell.length
      if (chars > safeChars) {
        const fault = limitFault(cells, limits)
        if (fault !== undefined) return refuse(cells.slice(0, limits.columns), fault)
      } else if (cells.length > limits.columns) {
        return refuse(cells.slice(0, limits.columns), columnsFault(cells.length, limits))
      }
      if (cells.every(isBlank)) return blank(cells)
      return fromParts(cells, undefined)
    },
    fromFields: (cells, field, width) => {
      if (width > widest) widest = Math.min(width, limits.columns)
      if (width > limits.columns) return refuse(cells, columnsFault(width, limits))
      return fromParts(cells, field)
    },
    refuse,
    blank,
    get counts() {
      return { total: row, ...kinds, columns: widest }
    },
    repeated: () => repeated.toBuffer(),
  }
}

function isBlank(cell: string): boolean {
  return cell === '' || cell.trim() === ''
}

function limitFault(cells: readonly string[], limits: ListLimits): string | undefined {
  if (cells.length > limits.columns) return columnsFault(cells.length, limits)
  let bytes = cells.length - 1
  for (const [column, cell] of cells.entries()) {
    const size = Buffer.byteLength(cell)
    if (size > limits.cellBytes) return `column ${column}: is over ${limits.cellBytes} bytes`
    bytes += size
  }
  return bytes > limits.lineBytes ? lineFault(limits) : undefined
}

function columnsFault(width: number, limits: ListLimits): string {
  return `the record has ${width} columns; the most is ${limits.columns}`
}

/** Why a record is refused whose line is over its limit. */
export function lineFault(limits: ListLimits): string {
  return `the line is over ${limits.lineBytes} bytes`
}
