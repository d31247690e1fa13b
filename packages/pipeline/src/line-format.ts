import type { ChunkCells } from './codec.ts'
import type { ShownRow } from './shown-row.ts'

/** How one row is written in one format. */
export interface LineFormat {
  readonly header: string
  line(cells: ChunkCells, place: number, row: ShownRow): string
  /** Called with each row that is not included. */
  passed?(row: ShownRow): void
}

/** CSV; `columns` null means every column. */
export interface CsvForm {
  readonly kind: 'csv'
  readonly columns: readonly string[] | null
  /** Whether cells are written unchanged, without protection against formulas. */
  readonly raw: boolean
  readonly delimiter: string
  /** Whether the file begins with a byte order mark, by which spreadsheets recognize UTF-8. */
  readonly bom: boolean
  /** Whether the first line tells Excel the delimiter. */
  readonly sep: boolean
}

/** Rows of a worksheet's XML. */
export interface SheetForm {
  readonly kind: 'sheet'
  readonly columns: readonly string[] | null
  readonly size: SheetSize
}

/** Rows, including the header, and columns of a worksheet; counted while they are written. */
export interface SheetSize {
  rows: number
  columns: number
}

/** The formats of rows, and their options. */
export type RowForm =
  | CsvForm
  | SheetForm
  | { readonly kind: 'ndjson' }
  | { readonly kind: 'given'; readonly lines: LineFormat }

/** The format in which the result of a batch is stored. */
export const STORED_FORM: CsvForm = {
  kind: 'csv',
  columns: null,
  raw: false,
  delimiter: ',',
  bom: false,
  sep: false,
}

/** Which rows are shown, and how. */
export interface RowFormat {
  readonly form: RowForm
  /** Verdicts, row statuses, advices and reasons to include; null shows every row. */
  readonly only: ReadonlySet<string> | null
  /** Rows answered before this time are included too, even if `only` excludes them. */
  readonly before?: Date | null
}
