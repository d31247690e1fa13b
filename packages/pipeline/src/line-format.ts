import type { ChunkCells } from './codec.ts'
import type { ShownRow } from './shown-row.ts'

/** How one row is written in one form. */
export interface LineFormat {
  readonly header: string
  line(cells: ChunkCells, place: number, row: ShownRow): string
}

/** How a CSV result is written. */
export interface CsvDialect {
  /** Cells byte for byte, without the guard against formulas. */
  readonly raw: boolean
  readonly delimiter: string
}

/** CSV; `columns` null is every column. */
export interface CsvForm extends CsvDialect {
  readonly kind: 'csv'
  readonly columns: readonly string[] | null
}

/** The forms of a row, and what each can be asked for. */
export type RowForm = CsvForm | { readonly kind: 'ndjson' }

/** The form in which the result of a batch is stored. */
export const STORED_FORM: CsvForm = { kind: 'csv', columns: null, raw: false, delimiter: ',' }

/** What rows are shown and how. */
export interface RowFormat {
  readonly form: RowForm
  /** Verdicts, row statuses, advices and reasons that are shown; null shows every row. */
  readonly only: ReadonlySet<string> | null
}
