import type { Json } from '@plumbline/contract/outcome'
import { CHECKS, type Check } from '@plumbline/contract/products'
import type { Outcomes, Score } from '@plumbline/contract/score'

/** Decision 2: the known facts of each part, with their evidence. */
export function explainParts(outcomes: Outcomes): Record<string, Json> {
  const parts: Record<string, Json> = {}
  for (const check of CHECKS) {
    const outcome = outcomes[check]
    if (outcome !== undefined) parts[check] = explainPart(outcome)
  }
  return parts
}

function explainPart(outcome: NonNullable<Outcomes[Check]>): Json {
  return {
    status: outcome.status,
    reason: outcome.reason,
    evidence: outcome.evidence,
    cached: outcome.cached,
    checked_at: outcome.checkedAt,
    duration_ms: outcome.durationMs,
  }
}

/** Decision 2: the reasons of a fraud score. */
export function explainScore(score: Score): Json {
  return {
    reasons: score.reasons.map((reason) => ({ ...reason })),
    coverage: {
      supplied: [...score.coverage.supplied],
      resolved: [...score.coverage.resolved],
      unknown: [...score.coverage.unknown],
    },
    model_version: score.modelVersion,
  }
}
