import { PURCHASED_CHECKS } from '@plumbline/contract/products'
import type { Scorer } from '@plumbline/contract/score'
import {
  deleteIdleTasks,
  hasUnsettledOutcomes,
  lockPartlyAnswered,
} from '@plumbline/db/batches/drain'
import { lockBatch, updateBatch, type BatchRow } from '@plumbline/db/batches/rows'
import { isSampling } from '@plumbline/db/batches/samples'
import { postponeCanceled } from '@plumbline/db/batches/stages'
import type { Tx } from '@plumbline/db/database'
import { releaseRest } from './cancel.ts'
import { unpackSubjects } from './codec.ts'
import type { Pipeline } from './pipeline.ts'
import { chunkOfBatch, settleCanceledChunk } from './settle.ts'
import type { LeasedStage } from './stage-lease.ts'

/** Milliseconds until a canceled batch with running tasks is checked again. */
const RECHECK_MS = { leastMs: 100, mostMs: 2_000 }

/**
 * Milliseconds, added to two leases, in which a worker must store the result of a purchase: longer
 * than any purchase takes. Two minutes with the default lease.
 */
const PURCHASE_TIME_MS = 60_000

/**
 * Ends the work of a canceled batch, in transactions of one chunk each that can be interrupted
 * anywhere: deletes tasks that no worker runs, waits for running ones, charges the known outcomes
 * of incomplete chunks, and releases the rest of the hold.
 *
 * @returns false if tasks are still running: the stage is postponed
 */
export async function drainBatch(
  pipeline: Pipeline,
  stage: LeasedStage,
  batch: BatchRow,
): Promise<boolean> {
  // A batch that never ran has no tasks and no hold, and only a sample's outcomes.
  if (batch.ats.running === undefined) return await drainSampled(pipeline, stage, batch)
  const left = await deleteIdleTasks(pipeline.db, batch.id, {
    checks: PURCHASED_CHECKS,
    patienceMs: PURCHASE_TIME_MS + 2 * pipeline.limits.leaseMs,
  })
  if (left > 0) {
    await postponeCanceled(pipeline.db, stage, RECHECK_MS)
    return false
  }
  await settleChunks(pipeline, stage, batch)
  const released = await pipeline.db.kysely.transaction().execute((tx) => releaseOnce(tx, stage))
  pipeline.countCredits?.released(batch.product, released)
  return true
}

/** Waits for the end of a batch's sample, whose outcomes stay in the batch's results. */
async function drainSampled(
  pipeline: Pipeline,
  stage: LeasedStage,
  batch: BatchRow,
): Promise<boolean> {
  if (batch.sample_id === null) return true
  if (await isSampling(pipeline.db, batch.sample_id)) {
    await postponeCanceled(pipeline.db, stage, RECHECK_MS)
    return false
  }
  await settleChunks(pipeline, stage, batch)
  return true
}

async function settleChunks(
  pipeline: Pipeline,
  { signal }: LeasedStage,
  batch: BatchRow,
): Promise<void> {
  const scorer = await pipeline.scorers.of(batch.weights)
  for (let from = 0; ;) {
    signal.throwIfAborted()
    const settled = await pipeline.db.kysely
      .transaction()
      .execute((tx) => settleNext(tx, batch, scorer, from))
    if (settled === undefined) return
    pipeline.countCredits?.charged(batch.product, settled.charged)
    from = settled.no + 1
  }
}

/** Settles the next incomplete chunk from a number on. */
async function settleNext(
  tx: Tx,
  batch: BatchRow,
  scorer: Scorer,
  from: number,
): Promise<{ readonly no: number; readonly charged: number } | undefined> {
  const chunk = await lockPartlyAnswered(tx, batch.id, from)
  if (chunk === undefined) return undefined
  const { no } = chunk
  const subjects = unpackSubjects(chunk.subjects)
  const charged = await settleCanceledChunk(tx, chunkOfBatch(batch, { no, scorer, subjects }))
  return { no, charged }
}

async function releaseOnce(tx: Tx, { batchId, lease }: LeasedStage): Promise<number> {
  const row = await lockBatch(tx, batchId)
  if (row === undefined || row.lease !== lease) return 0
  const released = await releaseSettled(tx, row)
  await updateBatch(tx, batchId, { credits_released: row.credits_released + released })
  return released
}

/**
 * Releases the rest of the hold of a canceled batch; returns how many credits that were.
 *
 * @throws if known outcomes are not charged: a failover may lose a settlement, and the batch is
 * drained again
 */
export async function releaseSettled(tx: Tx, row: BatchRow): Promise<number> {
  if (await hasUnsettledOutcomes(tx, row.id)) {
    throw new Error(`batch ${row.id}: a chunk with outcomes is not settled`)
  }
  return await releaseRest(tx, row)
}
