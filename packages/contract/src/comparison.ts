import { z } from 'zod'

/** Forms of a comparison: a summary, or the rows. */
export const COMPARISON_FORMATS = ['json', 'csv', 'ndjson'] as const
/** Form of a comparison. */
export type ComparisonFormat = (typeof COMPARISON_FORMATS)[number]

const count = z.int().min(0)

/** The changes between two batches. */
export const comparison = z.strictObject({
  /** Ids of the older batch and of the newer one. */
  before: z.string(),
  after: z.string(),
  /**
   * Answered rows that both have, those of them with another verdict, advice, status or reason, and
   * the other rows.
   */
  rows: z.strictObject({
    compared: count,
    changed: count,
    only_before: count,
    only_after: count,
  }),
  /** How many rows changed from one verdict to another; empty for products without verdicts. */
  verdicts: z.record(z.string(), z.record(z.string(), count)),
})
/** The changes between two batches. */
export type Comparison = z.infer<typeof comparison>
