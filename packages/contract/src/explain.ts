import { z } from 'zod'
import { CHECKS, type Check } from './products.ts'
import { REASONS } from './reasons.ts'

function partOf(check: Check) {
  const statuses =
    check === 'email'
      ? (['deliverable', 'undeliverable', 'risky', 'unknown'] as const)
      : (['answered', 'unknown'] as const)
  return z.strictObject({
    status: z.enum(statuses),
    reason: z.enum(Object.keys(REASONS[check])),
    evidence: z.record(z.string(), z.unknown()),
    cached: z.boolean(),
    checked_at: z.iso.datetime(),
    duration_ms: z.number().min(0),
  })
}

const check = z.enum(CHECKS)

/** The reasons of a composite score; contributions add up to the score. */
const explainScore = z.strictObject({
  reasons: z.array(
    z.strictObject({
      code: z.string(),
      part: z.enum([...CHECKS, 'across']),
      weight: z.number(),
      contribution: z.number(),
      value: z.unknown().optional(),
      source: z.string().optional(),
    }),
  ),
  coverage: z.strictObject({
    supplied: z.array(check),
    resolved: z.array(check),
    unknown: z.array(check),
  }),
  model_version: z.string(),
})

/**
 * The object `explain` of a result: one part for each check asked, `fraud_score` for fraud signals.
 * Source: decision 2.
 */
export const explainShape = z.strictObject({
  email: partOf('email').optional(),
  phone: partOf('phone').optional(),
  ip: partOf('ip').optional(),
  domain: partOf('domain').optional(),
  fraud_score: explainScore.optional(),
})

/** Evidence of a result. */
export type Explain = z.infer<typeof explainShape>
