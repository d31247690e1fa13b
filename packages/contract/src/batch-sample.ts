import { z } from 'zod'

const count = z.int().min(0)
const share = z.number().min(0).max(1)

/** Rows of a sample at most, and seconds after which what is not known counts as unknown. */
export const SAMPLE = { rows: 50, seconds: 60 } as const

/** A sample of a batch: what a few rows, drawn from all of it, came back with. */
export const batchSample = z.strictObject({
  batch_id: z.string(),
  status: z.enum(['running', 'completed']),
  /** What the draw was made with: the same for each sample of the batch. */
  seed: z.string(),
  asked_at: z.iso.datetime(),
  /** When what is not known by then counts as unknown. */
  ends_at: z.iso.datetime(),
  /** Rows that were drawn, and those of them whose last part is known. */
  rows: z.strictObject({ drawn: count, known: count }),
  /**
   * Of the rows known so far, at the end of all: how many have each verdict, which share that is, and the interval
   * (Wilson, 95 %) in which the share of the whole batch lies.
   */
  shares: z.array(z.strictObject({ verdict: z.string(), count, share, low: share, high: share })),
  /** What the sample has cost; the start of the batch holds so much less. */
  credits_used: count,
  /** What all of the batch is expected to cost and to take; null until the sample has ended. */
  expected: z.strictObject({ credits: count, seconds: count }).nullable(),
})
/** A sample of a batch. */
export type BatchSample = z.infer<typeof batchSample>
