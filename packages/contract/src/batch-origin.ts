import { z } from 'zod'
import { BATCH_NAME, MAX_CREDITS } from './batch-request.ts'
import { FILTERS_WANTED, isResultFilter } from './results-request.ts'

/**
 * Ways of making a batch from another: by checking some rows again, or by scoring its outcomes with
 * other weights.
 */
export const ORIGIN_KINDS = ['recheck', 'rescore'] as const
/** Way of making a batch from another. */
export type OriginKind = (typeof ORIGIN_KINDS)[number]

const daysWanted = '`older_than_days` must be a whole number from 1 to 3650.'

/**
 * The body of `POST /v1/batches/{id}/recheck`: rows that match any word of `only`, and rows whose
 * outcomes are older than `older_than_days`.
 */
export const recheckBody = z
  .strictObject({
    only: z
      .array(z.string().refine(isResultFilter, FILTERS_WANTED), FILTERS_WANTED)
      .max(50, '`only` names more than 50.')
      .optional(),
    older_than_days: z.int(daysWanted).min(1, daysWanted).max(3_650, daysWanted).optional(),
    start: z.boolean('`start` must be true or false.').optional(),
    max_credits: MAX_CREDITS.optional(),
    name: BATCH_NAME.optional(),
  })
  .refine(({ only = [], older_than_days: days }) => only.length > 0 || days !== undefined, {
    message:
      'Say which rows are checked again: `only`, such as ["unknown", "risky"], or `older_than_days`.',
  })
/** Selection of rows of a batch to check again. */
export type RecheckBody = z.infer<typeof recheckBody>

/** The body of `POST /v1/batches/{id}/rescore`: a version of weights; those in use if left out. */
export const rescoreBody = z.strictObject({
  weights: z
    .string('`weights` must be a version of weights, as a batch names it.')
    .min(1)
    .max(100)
    .optional(),
  name: BATCH_NAME.optional(),
})
/** Weights with which to score a batch again. */
export type RescoreBody = z.infer<typeof rescoreBody>

/** The batch that another was made from, and how. */
export const batchOrigin = z.strictObject({ batch: z.string(), kind: z.enum(ORIGIN_KINDS) })
