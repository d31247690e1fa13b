import type { ChunkCells } from './codec.ts'
import type { ShownRow } from './shown-row.ts'

/** How one row is written in one form. */
export interface LineFormat {
  readonly header: string
  line(cells: ChunkCells, place: number, row: ShownRow): string
}

/** CSV; `columns` null is every column. */
export interface CsvForm {
  readonly kind: 'csv'
  readonly columns: readonly string[] | null
  /** Cells byte for byte, without the guard against formulas. */
  readonly raw: boolean
  readonly delimiter: string
  /** A byte order mark in front, by which spreadsheets know UTF-8. */
  readonly bom: boolean
  /** A first line that names the delimiter to Excel. */
  readonly sep: boolean
}

/** Rows of a sheet's XML. */
export interface SheetForm {
  readonly kind: 'sheet'
  readonly columns: readonly string[] | null
  readonly size: SheetSize
}

/** How many rows, the header among them, and columns a sheet has; counted while they are written. */
export interface SheetSize {
  rows: number
  columns: number
}

/** The forms of a row, and what each can be asked for. */
export type RowForm =
  | CsvForm
  | SheetForm
  | { readonly kind: 'ndjson' }
  | { readonly kind: 'given'; readonly lines: LineFormat }

/** The form in which the result of a batch is stored. */
export const STORED_FORM: CsvForm = {
  kind: 'csv',
  columns: null,
  raw: false,
  delimiter: ',',
  bom: false,
  sep: false,
}

/** What rows are shown and how. */
export interface RowFormat {
  readonly form: RowForm
  /** Verdicts, row statuses, advices and reasons that are shown; null shows every row. */
  readonly only: ReadonlySet<string> | null
  /** Rows that were answered before are shown too, whatever `only` says. */
  readonly before?: Date | null
}
