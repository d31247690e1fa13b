import type { Scorer, Weights } from '@plumbline/contract/score'
import type { Db } from '@plumbline/db/database'
import { storeWeights, readWeights } from '@plumbline/db/score-weights'

/**
 * Scorers by version of their weights: new work uses the weights of this process, a batch those of
 * its start.
 */
export interface Scorers {
  /** The scorer of single calls, and of batches that start now. */
  readonly current: Scorer
  /**
   * The scorer of a batch, by its row's `weights`; the current one for a batch that was never
   * started. Not to be called within a transaction: it may take another connection.
   */
  of(version: string | null): Promise<Scorer>
}

/** Maximum number of scorers in memory: versions change only when an operator changes weights. */
const MOST_KEPT = 16

/**
 * Stores the weights of this process in the database, so that other processes can score by them.
 */
export async function openScorers(
  db: Db,
  weights: Weights,
  createScorer: (weights: Weights) => Scorer,
): Promise<Scorers> {
  await storeWeights(db, weights)
  const current = createScorer(weights)
  const kept = new Map<string, Scorer>()
  return {
    current,
    of: async (version) => {
      if (version === null || version === current.version) return current
      const known = kept.get(version)
      if (known !== undefined) return known
      const table = await readWeights(db, version)
      if (table === undefined) throw new Error(`no weights of version ${version} are stored`)
      const scorer = createScorer(table)
      const [oldest] = kept.keys()
      if (kept.size >= MOST_KEPT && oldest !== undefined) kept.delete(oldest)
      kept.set(version, scorer)
      return scorer
    },
  }
}
