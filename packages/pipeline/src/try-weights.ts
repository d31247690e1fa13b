import { Problem } from '@plumbline/contract/problem'
import type { Product } from '@plumbline/contract/products'
import { riskLevel } from '@plumbline/contract/results'
import type { BareOutcomes, Scorer, Weights } from '@plumbline/contract/score'
import { readBatch } from '@plumbline/db/batches/rows'
import type { Db } from '@plumbline/db/database'
import { readWeights } from '@plumbline/db/score-weights'
import { safetyScore } from './bundle-parts.ts'
import { pagesOfChunks } from './chunk-pages.ts'
import { unpackSubjects } from './codec.ts'
import { isPartial, recordsOf } from './record.ts'
import { hasResults } from './result-rows.ts'

/** Records by the level of a score. */
export type LevelCounts = Record<ReturnType<typeof riskLevel>, number>

/** The changes that other weights would make to one score of a batch. */
export interface ScoreTrial {
  readonly score: 'fraud_score' | 'threat_score' | 'safety_score'
  /** Number of records with this score. */
  records: number
  readonly before: LevelCounts
  readonly after: LevelCounts
  /** Number of records whose score would change, and of those whose level would. */
  changed: number
  moved: number
}

/** The changes that other weights would make in a batch. */
export interface WeightsTrial {
  readonly batch: string
  readonly product: Product
  /** Versions of the two tables. */
  readonly before: string
  readonly after: string
  readonly scores: readonly ScoreTrial[]
}

/**
 * Counts the changes that new weights would make in a batch that has ended, from its stored
 * outcomes. Complete records are counted once, as in the batch's `verdicts`; the level of a safety
 * score is that of the risk (100 minus the score).
 *
 * @throws Problem `not_found`; `conflict` if the batch has not ended; `unprocessable` if no record
 * has a score
 */
export async function tryWeights(
  db: Db,
  batchId: string,
  weights: Weights,
  createScorer: (weights: Weights) => Scorer,
): Promise<WeightsTrial> {
  const batch = await readBatch(db, batchId)
  if (batch === undefined) throw new Problem('not_found', `There is no batch ${batchId}.`)
  if (!hasResults(batch)) {
    throw new Problem('conflict', `The batch is ${batch.status}; try weights on it when it ends.`)
  }
  const old = batch.weights === null ? undefined : await readWeights(db, batch.weights)
  if (old === undefined) throw new Problem('unprocessable', 'The batch was never scored.')
  const scorers = { before: createScorer(old), after: createScorer(weights) }
  const trials: readonly Trial[] = SCORES.map(({ score, of }) => ({ of, counts: noneOf(score) }))
  for await (const page of pagesOfChunks({ db }, batchId)) {
    for (const chunk of page) {
      for (const record of recordsOf(chunk, unpackSubjects(chunk.subjects)).values()) {
        if (record.failed || isPartial(record)) continue
        for (const trial of trials) count(trial, batch.product, record.outcomes, scorers)
      }
    }
  }
  const scores = trials.map(({ counts }) => counts).filter(({ records }) => records > 0)
  if (scores.length === 0) {
    throw new Problem('unprocessable', `No record of this batch has a score (${batch.product}).`)
  }
  return {
    batch: batchId,
    product: batch.product,
    before: scorers.before.version,
    after: scorers.after.version,
    scores,
  }
}

/** A score of a record; undefined if it has none. */
type ScoreOf = (product: Product, outcomes: BareOutcomes, scorer: Scorer) => number | undefined

interface Trial {
  readonly of: ScoreOf
  readonly counts: ScoreTrial
}

const SCORES: readonly { readonly score: ScoreTrial['score']; readonly of: ScoreOf }[] = [
  {
    score: 'fraud_score',
    of: (product, outcomes, scorer) =>
      product === 'fraud-signals' ? scorer.fraud(outcomes).score : undefined,
  },
  {
    score: 'threat_score',
    of: (_, { ip }, scorer) => (ip === undefined ? undefined : scorer.risk(ip.facts.signals)),
  },
  {
    score: 'safety_score',
    of: (_, { domain }, scorer) =>
      domain === undefined ? undefined : safetyScore(domain.facts, scorer),
  },
]

function noneOf(score: ScoreTrial['score']): ScoreTrial {
  const none = (): LevelCounts => ({ low: 0, medium: 0, high: 0 })
  return { score, records: 0, before: none(), after: none(), changed: 0, moved: 0 }
}

function count(
  { of, counts }: Trial,
  product: Product,
  outcomes: BareOutcomes,
  scorers: { readonly before: Scorer; readonly after: Scorer },
): void {
  const before = of(product, outcomes, scorers.before)
  const after = of(product, outcomes, scorers.after)
  if (before === undefined || after === undefined) return
  const level = (value: number): keyof LevelCounts =>
    riskLevel(counts.score === 'safety_score' ? 100 - value : value)
  counts.records += 1
  counts.before[level(before)] += 1
  counts.after[level(after)] += 1
  if (before !== after) counts.changed += 1
  if (level(before) !== level(after)) counts.moved += 1
}
