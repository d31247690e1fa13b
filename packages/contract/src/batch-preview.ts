import { z } from 'zod'
import { MAPPED_FIELDS } from './batch-request.ts'
import { batchFault, rowCounts } from './batch-view.ts'
import { BATCH_STATES } from './batch.ts'
import { CHECKS, PRODUCTS } from './products.ts'

const count = z.int().min(0)

/** What the cells of a column look like. */
export const COLUMN_KINDS = [...CHECKS, 'number', 'date', 'text', 'empty'] as const
/** One of them. */
export type ColumnKind = (typeof COLUMN_KINDS)[number]

/** Rows that a preview shows, values of each column, and characters of each. */
export const PREVIEW = { rows: 10, values: 3, chars: 100, reasons: 20, examples: 3 } as const

const column = z.strictObject({
  /** 0-based. */
  column: count,
  header: z.string().nullable(),
  /** The first different values. */
  values: z.array(z.string()),
  kind: z.enum(COLUMN_KINDS),
  /** How sure the kind is, 0 to 1. */
  confidence: z.number().min(0).max(1),
  /** What the column is taken for; null if it is only carried through. */
  field: z.enum(MAPPED_FIELDS).nullable(),
})
/** A column of a file. */
export type PreviewColumn = z.infer<typeof column>

const refusedRows = z.strictObject({
  /** What is wrong with these rows. */
  reason: z.string(),
  count,
  /** The first of them: number of the row, and its cells. */
  examples: z.array(z.strictObject({ row: z.int().min(1), cells: z.array(z.string()) })),
})
/** Rows that are refused for one reason. */
export type RefusedRows = z.infer<typeof refusedRows>

const costPart = z.strictObject({
  part: z.enum(CHECKS),
  /** Billable records that have it. */
  records: count,
  price: count,
  credits: count,
})
/** What one part of a product costs in all. */
export type CostPart = z.infer<typeof costPart>

/**
 * A batch before it costs anything. Long values are cut to 100 characters, and end with an ellipsis
 * then.
 */
export const batchPreview = z.strictObject({
  id: z.string(),
  product: z.enum(PRODUCTS),
  status: z.enum(BATCH_STATES),
  /** How the file is read. */
  file: z.strictObject({
    format: z.string().nullable(),
    encoding: z.string().nullable(),
    delimiter: z.string().nullable(),
    /** The sheet of a workbook. */
    sheet: z.string().nullable(),
    /** Number of the record that is the header, 1 for the first of the file; null without one. */
    header_row: z.int().min(1).nullable(),
  }),
  columns: z.array(column),
  /** Of phone numbers without country code, ISO 3166-1 alpha-2; null if none was chosen. */
  default_country: z.string().nullable(),
  /**
   * By verdicts of another service that are how many days old at most, and of which day where the
   * file has none.
   */
  known: z.strictObject({ days: z.int().min(1), at: z.iso.date().nullable() }).nullable(),
  /** The first rows, as they came. */
  first_rows: z.array(z.array(z.string())),
  /** Whether every row was counted; until then the counts below and the cost are null. */
  counted: z.boolean(),
  rows: z.strictObject(rowCounts).nullable(),
  /** The commonest reasons first. */
  refused: z.array(refusedRows).nullable(),
  /** The first rows that repeat an earlier one, which are free. */
  repeats: z.array(z.strictObject({ row: z.int().min(1), of_row: z.int().min(1) })).nullable(),
  cost: z
    .strictObject({
      parts: z.array(costPart),
      /** What the product's cap takes off the sum of the parts. */
      cap_discount: count,
      /** What a sample has paid already. */
      sampled: count,
      /** What the start will hold: the sum of the parts less the amounts above. */
      credits: count,
      /**
       * What the account can spend now, and what is left of it then; below 0 where it does not
       * suffice.
       */
      balance: z.int(),
      balance_after: z.int(),
    })
    .nullable(),
  /** What keeps the batch from being read, or from starting by itself. */
  error: batchFault.nullable(),
})
/** What a batch holds and what it would cost. */
export type BatchPreview = z.infer<typeof batchPreview>

/** What the start of the file shows. */
export type PreviewHead = Pick<BatchPreview, 'file' | 'columns' | 'first_rows'>

/** What was met in all rows. */
export interface PreviewCounts {
  refused: RefusedRows[]
  repeats: { row: number; of_row: number }[]
}
