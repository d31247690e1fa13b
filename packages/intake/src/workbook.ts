import type { ColumnKind } from '@plumbline/db/tables/batches'
import { IntakeError } from './intake-error.ts'
import { TOO_LONG } from './limits.ts'

/** An open workbook of any format. */
export interface Workbook extends AsyncDisposable {
  readonly sheets: readonly Sheet[]
  /**
   * The rows of a sheet from the first on, in blocks of bounded size; missing rows are yielded
   * without cells, and those over the line limit with `TOO_LONG`.
   */
  rows(sheet: Sheet, signal: AbortSignal): AsyncGenerator<readonly SheetRow[]>
}

/** A sheet of cells. */
export interface Sheet {
  readonly name: string
  readonly isHidden: boolean
  /** The part of the workbook with its cells. */
  readonly part: string
}

/** Sheets of a workbook, at most. */
export const MAX_SHEETS = 1_000

/** @throws IntakeError if a workbook has no sheet */
export function refuseNoSheet(sheets: readonly Sheet[]): void {
  if (sheets.length > 0) return
  throw new IntakeError('unprocessable', 'The workbook has no sheet of cells.')
}

/** The refusal of a workbook with more sheets, styles or parts. */
export function tooMany(what: string, most: number): IntakeError {
  return new IntakeError(
    'payload_too_large',
    `The workbook has more ${what} than are read (${most}); upload the sheet as CSV.`,
  )
}

/** Characters of a sheet's name that are kept: Excel allows 31, other programs more. */
const NAME_CHARS = 255

/** A sheet's name as it can be stored and shown. */
export function sheetName(written: string): string {
  return written
    .slice(0, NAME_CHARS)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, '\ufffd')
}

/** One row of a sheet, up to its last non-empty cell. */
export interface SheetRow {
  /** As displayed, but numbers with all their digits. */
  readonly cells: readonly string[]
  /** For each cell one bit of `KIND_BITS`, or 0. */
  readonly kinds: readonly number[]
}

/** A row over the line limit. */
export const LONG_ROW: SheetRow = { cells: TOO_LONG, kinds: [] }

/** Rows without cells, such as those before a row further down. */
export const EMPTY_ROW: SheetRow = { cells: [], kinds: [] }

/** A row, the length of its cells, and how many times it follows itself. */
export interface RowRun {
  readonly row: SheetRow
  readonly chars: number
  readonly times: number
}

/** Rows of a block at most, and characters after which it is full. */
const BLOCK_ROWS = 1_000
const BLOCK_CHARS = 1024 * 1024

/**
 * The rows of runs in blocks: a few bytes of a workbook can repeat a row, or a long text that rows
 * share, by the million.
 */
export function* rowBlocks(runs: Iterable<RowRun>): Generator<readonly SheetRow[]> {
  let block: SheetRow[] = []
  let blockChars = 0
  for (const { row, chars, times } of runs) {
    for (let at = 0; at < times; at++) {
      block.push(row)
      blockChars += chars
      if (block.length < BLOCK_ROWS && blockChars < BLOCK_CHARS) continue
      yield block
      block = []
      blockChars = 0
    }
  }
  if (block.length > 0) yield block
}

/** Types of a cell, as bits. */
export const KIND_BITS = {
  text: 1,
  number: 2,
  date: 4,
  datetime: 8,
  time: 16,
  boolean: 32,
} as const

/** Collects the types of each column's cells. */
export interface ColumnKinds {
  add(row: SheetRow): void
  kinds(columns: number): readonly ColumnKind[]
}

/** Starts with columns that are empty. */
export function createColumnKinds(): ColumnKinds {
  const masks: number[] = []
  return {
    add: ({ kinds }) => {
      for (let column = 0; column < kinds.length; column++) {
        masks[column] = (masks[column] ?? 0) | (kinds[column] ?? 0)
      }
    },
    kinds: (columns) => Array.from({ length: columns }, (_, column) => kindOf(masks[column] ?? 0)),
  }
}

function kindOf(mask: number): ColumnKind {
  switch (mask) {
    case 0:
      return 'empty'
    case KIND_BITS.text:
      return 'text'
    case KIND_BITS.number:
      return 'number'
    case KIND_BITS.date:
      return 'date'
    case KIND_BITS.datetime:
    case KIND_BITS.datetime | KIND_BITS.date:
      return 'datetime'
    case KIND_BITS.time:
      return 'time'
    case KIND_BITS.boolean:
      return 'boolean'
    default:
      return 'mixed'
  }
}

/** Columns that are always allowed; cells beyond them are counted. */
export const NEAR_COLUMNS = 256

/** Empty cells beyond the near columns, at most: a few bytes could encode billions. */
export const MAX_FAR_CELLS = 1_000_000

/** Empty or repeated rows in a run before one with content, at most: a stray cell costs as many. */
export const MAX_RUN_ROWS = 100_000

/** Repeated cells of a sheet, at most. */
export const MAX_REPEATED_CELLS = 20_000_000

/** The refusal of a sheet beyond these limits. */
export function sparse(): IntakeError {
  return new IntakeError(
    'payload_too_large',
    'The sheet has cells far apart or repeated by the million; copy what is needed to a new one.',
  )
}

/** The most rows and columns of a sheet. Source: Microsoft, "Excel specifications and limits". */
export const SHEET_LIMITS = { rows: 1_048_576, columns: 16_384 } as const
