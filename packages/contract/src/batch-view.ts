import { z } from 'zod'
import { MAPPED_FIELDS } from './batch-request.ts'
import { batchOrigin } from './batch-origin.ts'
import { BATCH_STATES } from './batch.ts'
import { PRODUCTS } from './products.ts'

const count = z.int().min(0)

/** What the rows of a batch are: `total` is the sum of the others. */
export const rowCounts = {
  total: count,
  blank: count,
  refused: count,
  duplicate: count,
  /** They have a verdict of another service, by which the batch goes. */
  known: count,
  billable: count,
} as const
const at = z.iso.datetime().optional()

/** Which column of the file feeds a field, and how sure the recognition is (1 where it was told). */
const mappedColumn = z.strictObject({
  /** 0-based. */
  column: count,
  header: z.string().nullable(),
  confidence: z.number().min(0).max(1),
})

/** What ended a batch or keeps it from starting. */
export const batchFault = z.strictObject({
  error: z.string(),
  message: z.string(),
  /** The part of the request that can be changed with `PATCH` to mend it. */
  field: z.enum(['mapping', 'known', 'known_at']).optional(),
})
/** What ended a batch or keeps it from starting, and where it can be mended. */
export type BatchFault = z.infer<typeof batchFault>

/** The batch object. Source: decision 33. */
export const batchView = z.strictObject({
  id: z.string(),
  product: z.enum(PRODUCTS),
  name: z.string().nullable(),
  status: z.enum(BATCH_STATES),
  /** The batch of which it was made, by a recheck or rescore; null for an upload. */
  origin: batchOrigin.nullable(),
  created_at: z.iso.datetime(),
  analyzing_at: at,
  ready_at: at,
  running_at: at,
  /** When it was paused last. */
  paused_at: at,
  finalizing_at: at,
  completed_at: at,
  canceling_at: at,
  canceled_at: at,
  failed_at: at,
  expired_at: at,
  /** When file, chunks and results are erased; null until the end is reached. */
  expires_at: z.iso.datetime().nullable(),
  /** When a paused batch goes on by itself; null for others. */
  resumes_at: z.iso.datetime().nullable(),
  file: z
    .strictObject({
      name: z.string().nullable(),
      bytes: count,
      encoding: z.string().nullable(),
      /** How sure the encoding is: 1 where it was told, by the client or by the file itself. */
      encoding_confidence: z.number().min(0).max(1).nullable(),
      delimiter: z.string().nullable(),
      /** The sheet of a workbook that was read, and all that it has. */
      sheet: z.string().nullable(),
      sheets: z.array(z.string()).nullable(),
      /** The file of an archive that was read. */
      entry: z.string().nullable(),
    })
    .nullable(),
  mapping: z.partialRecord(z.enum(MAPPED_FIELDS), mappedColumn),
  /** `done` counts rows whose last part is known, and of rows that cost nothing as large a share as of those around them. */
  rows: z.strictObject({ ...rowCounts, done: count }),
  /** Counts of billable records by email status, or by risk level for fraud signals. */
  verdicts: z.record(z.string(), count),
  /** Version of the weights that all scores of the batch are made by; null until it starts. */
  weights: z.string().nullable(),
  credits: z.strictObject({ estimate: count, held: count, used: count, released: count }),
  /** The share that was answered; 1 for a batch that was completed. */
  progress: z.number().min(0).max(1),
  /** At least until the last task that waits for a time is due; null if nothing can be said. */
  eta_seconds: count.nullable(),
  error: batchFault.nullable(),
})
/** A batch as its owner sees it. */
export type BatchView = z.infer<typeof batchView>

/** One page of `GET /v1/batches`. */
export const batchPage = z.strictObject({
  data: z.array(batchView),
  next_cursor: z.string().nullable(),
})
/** Batches, newest first, and where the next page begins. */
export type BatchPage = z.infer<typeof batchPage>
