import type { Weights } from '@plumbline/contract/score'
import type { Generated, JSONColumnType } from 'kysely'

/** `score_weights`: tables of weights that batches were scored by. */
interface ScoreWeightsTable {
  version: string
  groups: JSONColumnType<Weights['groups']>
  created_at: Generated<Date>
}

/** The tables of scores. */
export interface ScoreTables {
  score_weights: ScoreWeightsTable
}
