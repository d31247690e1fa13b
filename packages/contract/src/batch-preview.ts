import { z } from 'zod'
import { MAPPED_FIELDS } from './batch-request.ts'
import { batchFault, rowCounts } from './batch-view.ts'
import { BATCH_STATES } from './batch.ts'
import { CHECKS, PRODUCTS } from './products.ts'

const count = z.int().min(0)

/** Kinds of the cells of a column. */
export const COLUMN_KINDS = [...CHECKS, 'number', 'date', 'text', 'empty'] as const
/** Kind of the cells of a column. */
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
  /** Confidence of the kind, 0 to 1. */
  confidence: z.number().min(0).max(1),
  /** The field that the column is mapped to; null if the column is only copied to the results. */
  field: z.enum(MAPPED_FIELDS).nullable(),
})
/** A column of a file. */
export type PreviewColumn = z.infer<typeof column>

const refusedRows = z.strictObject({
  /** Error of these rows. */
  reason: z.string(),
  count,
  /** The first of these rows: number of the row, and its cells. */
  examples: z.array(z.strictObject({ row: z.int().min(1), cells: z.array(z.string()) })),
})
/** Rows that are refused for one reason. */
export type RefusedRows = z.infer<typeof refusedRows>

const costPart = z.strictObject({
  part: z.enum(CHECKS),
  /** Billable records that have this part. */
  records: count,
  price: count,
  credits: count,
})
/** Cost of one part of a product in a batch. */
export type CostPart = z.infer<typeof costPart>

/**
 * A batch before it costs anything. Long values are cut to 100 characters and then end with an
 * ellipsis.
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
    /** What stands before a quote within a quoted cell, if these are not doubled: a backslash. */
    quote_escape: z.literal('\\').optional(),
    /** The sheet of a workbook. */
    sheet: z.string().nullable(),
    /** Number of the record that is the header, 1 for the first of the file; null without one. */
    header_row: z.int().min(1).nullable(),
  }),
  columns: z.array(column),
  /** Country of phone numbers without country code, ISO 3166-1 alpha-2; null if none was chosen. */
  default_country: z.string().nullable(),
  /**
   * Accepted verdicts of another service: their maximum age in days, and their date if the file has
   * none.
   */
  known: z.strictObject({ days: z.int().min(1), at: z.iso.date().nullable() }).nullable(),
  /** The first rows, unchanged. */
  first_rows: z.array(z.array(z.string())),
  /** Whether every row was counted; until then the counts below and the cost are null. */
  counted: z.boolean(),
  rows: z.strictObject(rowCounts).nullable(),
  /** The commonest reasons first. */
  refused: z.array(refusedRows).nullable(),
  /** The first duplicates, which are free. */
  repeats: z.array(z.strictObject({ row: z.int().min(1), of_row: z.int().min(1) })).nullable(),
  cost: z
    .strictObject({
      parts: z.array(costPart),
      /** Credits by which the product's cap reduces the sum of the parts. */
      cap_discount: count,
      /** Credits that a sample has already cost. */
      sampled: count,
      /** Credits that the start will hold: the sum of the parts less the amounts above. */
      credits: count,
      /**
       * Credits that the account can spend now, and after the start; below 0 if they do not
       * suffice.
       */
      balance: z.int(),
      balance_after: z.int(),
    })
    .nullable(),
  /** Why the batch cannot be read, or does not start automatically. */
  error: batchFault.nullable(),
})
/** Content of a batch and its cost, before it starts. */
export type BatchPreview = z.infer<typeof batchPreview>

/** The part of a preview that the start of the file shows. */
export type PreviewHead = Pick<BatchPreview, 'file' | 'columns' | 'first_rows'>

/** Refused rows and duplicates among all rows. */
export interface PreviewCounts {
  refused: RefusedRows[]
  repeats: { row: number; of_row: number }[]
}
