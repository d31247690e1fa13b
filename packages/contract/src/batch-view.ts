import { z } from 'zod'
import { MAPPED_FIELDS } from './batch-request.ts'
import { batchOrigin } from './batch-origin.ts'
import { BATCH_STATES } from './batch.ts'
import { PRODUCTS } from './products.ts'

const count = z.int().min(0)

/** Rows of a batch by kind: `total` is the sum of the others. */
export const rowCounts = {
  total: count,
  blank: count,
  refused: count,
  duplicate: count,
  /** Rows settled by another service's verdict. */
  known: count,
  billable: count,
} as const
const at = z.iso.datetime().optional()

/**
 * Characters of the name of a column, or of a file in an archive, that a batch shows at most; longer
 * ones are cut and end with an ellipsis. A file may have names as long as a line.
 */
export const SHOWN_NAME_CHARS = 200

/** Characters of the names of sheets that a batch shows at most, all together. */
export const SHOWN_SHEETS_CHARS = 1_000

/** The column mapped to a field, and the confidence of its detection (1 if the client chose it). */
const mappedColumn = z.strictObject({
  /** 0-based. */
  column: count,
  header: z
    .string()
    .meta({ description: `Name of the column; beyond ${SHOWN_NAME_CHARS} characters it is cut.` })
    .nullable(),
  confidence: z.number().min(0).max(1),
})

/** Why a batch failed, or cannot start. */
export const batchFault = z.strictObject({
  error: z.string(),
  message: z.string(),
  /** The part of the request to change with `PATCH`. */
  field: z.enum(['mapping', 'known', 'known_at', 'entry']).optional(),
  /** If that is `entry`: the files of the archive, the first ones if they are many. */
  entries: z.array(z.string()).optional(),
})
/** Why a batch failed or cannot start, and the field to correct. */
export type BatchFault = z.infer<typeof batchFault>

/** The batch object. Source: decision 33. */
export const batchView = z.strictObject({
  id: z.string(),
  product: z.enum(PRODUCTS),
  name: z.string().nullable(),
  status: z.enum(BATCH_STATES),
  /** The batch that this one was made from, by a recheck or rescore; null for an upload. */
  origin: batchOrigin.nullable(),
  created_at: z.iso.datetime(),
  analyzing_at: at,
  ready_at: at,
  running_at: at,
  /** When the batch was last paused. */
  paused_at: at,
  finalizing_at: at,
  completed_at: at,
  canceling_at: at,
  canceled_at: at,
  failed_at: at,
  expired_at: at,
  /** When file, chunks and results are erased; null until the batch has ended. */
  expires_at: z.iso.datetime().nullable(),
  /** When a paused batch resumes automatically; null for others. */
  resumes_at: z.iso.datetime().nullable(),
  file: z
    .strictObject({
      name: z.string().nullable(),
      bytes: count,
      encoding: z.string().nullable(),
      /** Confidence of the encoding: 1 if the client or the file itself tells it. */
      encoding_confidence: z.number().min(0).max(1).nullable(),
      delimiter: z.string().nullable(),
      /** The sheet of a workbook that was read, and its sheets, the first ones if they are many. */
      sheet: z.string().nullable(),
      sheets: z.array(z.string()).nullable(),
      /** The file of an archive that was read; its path is cut as names of columns are. */
      entry: z.string().nullable(),
    })
    .nullable(),
  mapping: z.partialRecord(z.enum(MAPPED_FIELDS), mappedColumn),
  /**
   * `done` counts rows with all their outcomes, and a proportional share of the rows that cost
   * nothing.
   */
  rows: z.strictObject({ ...rowCounts, done: count }),
  /** Billable records by email status, or by risk level for fraud signals. */
  verdicts: z.record(z.string(), count),
  /** Version of the weights of all scores of the batch; null until it starts. */
  weights: z.string().nullable(),
  credits: z.strictObject({ estimate: count, held: count, used: count, released: count }),
  /** Share of subjects with an outcome; 1 for a completed batch. */
  progress: z.number().min(0).max(1),
  /**
   * Estimated seconds to the end, at least until the last postponed task is due; null if unknown.
   */
  eta_seconds: count.nullable(),
  error: batchFault.nullable(),
})
/** A batch as its owner sees it. */
export type BatchView = z.infer<typeof batchView>

/** Batches of a page of `GET /v1/batches`, by default and at most. */
export const BATCH_PAGE = { default: 20, max: 100 } as const

/** Characters of `search` at most. */
export const BATCH_SEARCH_MAX_CHARS = 100

/** One page of `GET /v1/batches`. */
export const batchPage = z.strictObject({
  data: z.array(batchView),
  next_cursor: z.string().nullable(),
})
/** Batches, newest first, and where the next page begins. */
export type BatchPage = z.infer<typeof batchPage>
