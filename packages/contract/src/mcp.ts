import { z } from 'zod'
import { batchRecord, BATCH_NAME, MAX_CREDITS } from './batch-request.ts'
import { PRODUCTS } from './products.ts'

/**
 * Limits of a model's requests and responses: its user pays for them, and they fill its context.
 */
export const MCP_LIMITS = {
  /** Bytes of one message to the service. */
  messageBytes: 1_048_576,
  /** Records of one batch sent in a message. */
  records: 1_000,
  /** Rows of one response, and characters of any. */
  rows: 200,
  resultChars: 65_536,
  /** Seconds that one call may wait for a batch. */
  waitSeconds: 30,
  /** Concurrent calls of one account on one process, or of one `plumbline mcp`. */
  callsAtOnce: 16,
} as const

const records = z
  .array(batchRecord)
  .min(1)
  .max(MCP_LIMITS.records)
  .meta({ description: 'Each with the fields that the product takes, such as {"email": "..."}.' })
const product = z.enum(PRODUCTS).meta({ description: 'What is asked about each record.' })
const batchId = z
  .string()
  .regex(/^bat_[A-Za-z0-9]+$/)
  .meta({ description: 'As estimate_batch or start_batch gave it.' })

/** Input of the tools for batches. */
export const MCP_INPUTS = {
  estimate_batch: z.strictObject({ product, records, name: BATCH_NAME.optional() }),
  start_batch: z
    .strictObject({
      batch_id: batchId.optional(),
      product: product.optional(),
      records: records.optional(),
      name: BATCH_NAME.optional(),
      max_credits: MAX_CREDITS.meta({
        description: 'The most that it may cost; the batch is not started where it may cost more.',
      }),
    })
    .refine(
      (asked) =>
        asked.batch_id === undefined
          ? asked.product !== undefined && asked.records !== undefined
          : asked.product === undefined && asked.records === undefined && asked.name === undefined,
      'Give either the batch_id of an estimate, or product and records.',
    ),
  get_batch: z.strictObject({
    batch_id: batchId,
    wait_seconds: z
      .int()
      .min(0)
      .max(MCP_LIMITS.waitSeconds)
      .default(0)
      .meta({ description: 'Waits so long for its end.' }),
  }),
  get_results: z.strictObject({
    batch_id: batchId,
    only: z
      .array(z.string().min(1).max(100))
      .max(20)
      .optional()
      .meta({ description: 'Verdicts, row statuses, advices or reasons; all rows without it.' }),
    after: z.int().min(0).default(0).meta({ description: 'next_after of the answer before.' }),
    limit: z.int().min(1).max(MCP_LIMITS.rows).default(50),
  }),
  get_balance: z.strictObject({}),
} as const
