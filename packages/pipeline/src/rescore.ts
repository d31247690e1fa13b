import type { RescoreBody } from '@plumbline/contract/batch-origin'
import type { BatchView } from '@plumbline/contract/batch-view'
import { PROBLEMS, Problem } from '@plumbline/contract/problem'
import type { Product } from '@plumbline/contract/products'
import type { Scorer } from '@plumbline/contract/score'
import { countRows, type StoredChunk } from '@plumbline/db/batches/chunks'
import { copyChunks } from '@plumbline/db/batches/copies'
import { eraseLeftovers } from '@plumbline/db/batches/erase'
import { readDuplicatedRows, storeDuplicatedRows } from '@plumbline/db/batches/duplicated-rows'
import {
  lockBatch,
  readBatch,
  updateBatch,
  type BatchOwner,
  type BatchRow,
} from '@plumbline/db/batches/rows'
import { readWeights } from '@plumbline/db/score-weights'
import type { RescoreRequest } from '@plumbline/db/tables/batches'
import { readBatchOf, type InTransaction } from './batch-access.ts'
import { failBatch } from './cancel.ts'
import { pagesOfChunks } from './chunk-pages.ts'
import { unpackSubjects } from './codec.ts'
import type { Pipeline } from './pipeline.ts'
import { recordsOf, verdictCounts } from './record.ts'
import { hasResults } from './result-rows.ts'
import type { LeasedStage } from './stage-lease.ts'
import { submitDerived } from './submit.ts'

/** Products whose results have no score. */
const UNSCORED: readonly Product[] = ['email', 'phone', 'deliverability']

/**
 * Creates a batch with the outcomes of another one, scored by other weights: nothing is checked or
 * charged.
 *
 * @throws Problem `not_found`; `conflict` if the other has not ended; `unprocessable` if its
 * product has no score, or these weights were never used
 */
export async function rescoreBatch(
  pipeline: Pipeline,
  owner: BatchOwner,
  id: string,
  wanted: RescoreBody,
  inTransaction?: InTransaction,
): Promise<BatchView> {
  const batch = await readBatchOf(pipeline.db, owner, id)
  if (!hasResults(batch)) {
    throw new Problem('conflict', `The batch is ${batch.status}; it is scored again when it ends.`)
  }
  if (UNSCORED.includes(batch.product)) {
    throw new Problem('unprocessable', `Results of ${batch.product} have no score.`)
  }
  const weights = wanted.weights ?? pipeline.scorers.current.version
  const isKnown =
    weights === pipeline.scorers.current.version ||
    (await readWeights(pipeline.db, weights)) !== undefined
  if (!isKnown) {
    throw new Problem(
      'unprocessable',
      'There are no weights of this version; a batch shows its own.',
    )
  }
  const rescore: RescoreRequest = { of: id, weights }
  const derived = {
    fileName: batch.file_name,
    requested: { rescore },
    name: wanted.name ?? batch.name,
    autoStart: true,
    maxCredits: null,
    chargeUnknown: batch.charge_unknown,
  }
  return await submitDerived(pipeline, batch, derived, inTransaction)
}

/**
 * Copies the outcomes into the new batch, under its stage's lease, with verdicts by the new
 * weights.
 *
 * @returns `failed` if they are erased by now, which ends the batch; `lost` if another worker has
 * the stage
 */
export async function copyOutcomes(
  pipeline: Pipeline,
  stage: LeasedStage,
  { product }: BatchRow,
  { of, weights }: RescoreRequest,
): Promise<'read' | 'failed' | 'lost'> {
  await eraseLeftovers(pipeline.db, stage)
  const other = await readBatch(pipeline.db, of)
  const scorer = await pipeline.scorers.of(weights)
  let rows = 0
  if (other?.status === 'completed' || other?.status === 'canceled') {
    for await (const page of pagesOfChunks(pipeline, of)) {
      stage.signal.throwIfAborted()
      const nos = page.map(({ no }) => no)
      const verdicts = page.map((chunk) => verdictsOf(product, chunk, scorer))
      if (!(await copyChunks(pipeline.db, stage, { of, nos, verdicts }))) break
      for (const { rowCount } of page) rows += rowCount
    }
  }
  if (other !== undefined && rows === other.rows_total) {
    return await storeCounts(pipeline, stage, other, weights)
  }
  const still = await readBatch(pipeline.db, stage.batchId)
  if (still?.lease !== stage.lease) return 'lost'
  const message = 'The batch whose outcomes were to be scored again is erased.'
  await failBatch(pipeline, stage, { error: PROBLEMS.conflict.error, message })
  return 'failed'
}

function verdictsOf(product: Product, chunk: StoredChunk, scorer: Scorer): readonly number[] {
  const records = recordsOf(chunk, unpackSubjects(chunk.subjects))
  return verdictCounts(product, records.values(), scorer)
}

async function storeCounts(
  { db }: Pipeline,
  stage: LeasedStage,
  other: BatchRow,
  weights: string,
): Promise<'read' | 'lost'> {
  const duplicated = await readDuplicatedRows(db, other.id)
  return await db.kysely.transaction().execute(async (tx) => {
    const row = await lockBatch(tx, stage.batchId)
    if (row === undefined || row.lease !== stage.lease) return 'lost'
    // A failover may lose a commit that copied chunks.
    const stored = await countRows(tx, stage.batchId)
    if (stored !== other.rows_total) {
      throw new Error(`batch ${stage.batchId}: ${stored} rows are stored of ${other.rows_total}`)
    }
    await updateBatch(tx, stage.batchId, {
      read_whole: true,
      // The copied chunks have verdicts by them, also if a cancel ends the batch before its start.
      weights,
      file_format: other.file_format,
      encoding: other.encoding,
      delimiter: other.delimiter,
      header: other.header === null ? null : JSON.stringify(other.header),
      column_count: other.column_count,
      has_rest: other.has_rest,
      mapping: JSON.stringify(other.mapping),
      rows_total: other.rows_total,
      rows_blank: other.rows_blank,
      rows_refused: other.rows_refused,
      rows_duplicate: other.rows_duplicate,
      rows_known: other.rows_known,
      known: other.known === null ? null : JSON.stringify(other.known),
      rows_billable: other.rows_billable,
    })
    if (duplicated !== null) await storeDuplicatedRows(tx, stage.batchId, duplicated)
    return 'read'
  })
}
