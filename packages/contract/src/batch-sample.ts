import { z } from 'zod'

const count = z.int().min(0)
const share = z.number().min(0).max(1)

/** Maximum rows of a sample, and seconds after which rows without an outcome count as unknown. */
export const SAMPLE = { rows: 50, seconds: 60 } as const

/** A sample of a batch: the results of a few rows drawn from all of it. */
export const batchSample = z.strictObject({
  batch_id: z.string(),
  status: z.enum(['running', 'completed']),
  /** Seed of the draw: the same for each sample of the batch. */
  seed: z.string(),
  asked_at: z.iso.datetime(),
  /** When missing outcomes count as unknown. */
  ends_at: z.iso.datetime(),
  /** Rows that were drawn, and those whose outcomes are known. */
  rows: z.strictObject({ drawn: count, known: count }),
  /**
   * For each verdict the number of rows that have it so far, their share, and the interval (Wilson,
   * 95 %) for the share in the whole batch.
   */
  shares: z.array(z.strictObject({ verdict: z.string(), count, share, low: share, high: share })),
  /** Cost of the sample; the start of the batch holds that much less. */
  credits_used: count,
  /** Expected cost and time of the whole batch; null until the sample has ended. */
  expected: z.strictObject({ credits: count, seconds: count }).nullable(),
})
/** A sample of a batch. */
export type BatchSample = z.infer<typeof batchSample>
