import { PURCHASED_CHECKS } from '@plumbline/contract/products'
import type { Scorer } from '@plumbline/contract/score'
import { dropIdleTasks, lockPartlyAnswered } from '@plumbline/db/batches/drain'
import { lockBatch, updateBatch, type BatchRow } from '@plumbline/db/batches/rows'
import { restCanceled } from '@plumbline/db/batches/stages'
import type { Tx } from '@plumbline/db/database'
import { releaseRest } from './cancel.ts'
import { unpackSubjects } from './codec.ts'
import type { Pipeline } from './pipeline.ts'
import { settleCanceledChunk } from './settle.ts'
import type { StageInHand } from './stage-lease.ts'

/** Until a canceled batch is looked at again of which tasks are in hand. */
const LOOKS = { leastMs: 100, mostMs: 2_000 }

/**
 * How long it is waited, beside two leases, for a worker to tell what came of what was bought: longer than a purchase
 * may take. With the lease by default two minutes.
 */
const PATIENCE_MS = 60_000

/**
 * Brings a canceled batch to rest, in transactions of one chunk each that can be broken off anywhere: tasks that
 * nobody has in hand are dropped, what is in hand is awaited, chunks that are half answered are charged for what
 * is known, and the rest of the hold is released.
 * @returns false where tasks are in hand still: the stage was put aside and comes again
 */
export async function drainBatch(
  pipeline: Pipeline,
  stage: StageInHand,
  batch: BatchRow,
): Promise<boolean> {
  // One that never ran has no tasks, no outcomes and no hold.
  if (batch.ats.running === undefined) return true
  const { kysely } = pipeline.db
  const left = await dropIdleTasks(kysely, batch.id, {
    checks: PURCHASED_CHECKS,
    patienceMs: PATIENCE_MS + 2 * pipeline.limits.leaseMs,
  })
  if (left > 0) {
    await restCanceled(kysely, stage, LOOKS)
    return false
  }
  await settleChunks(pipeline, stage, batch)
  await kysely.transaction().execute((tx) => releaseOnce(tx, stage))
  return true
}

async function settleChunks(
  pipeline: Pipeline,
  { signal }: StageInHand,
  batch: BatchRow,
): Promise<void> {
  const scorer = await pipeline.scorers.of(batch.weights)
  for (let from = 0; ;) {
    signal.throwIfAborted()
    const no = await pipeline.db.kysely
      .transaction()
      .execute((tx) => settleNext(tx, batch, scorer, from))
    if (no === undefined) return
    from = no + 1
  }
}

/** Settles the next half answered chunk from a number on; answers its own. */
async function settleNext(
  tx: Tx,
  batch: BatchRow,
  scorer: Scorer,
  from: number,
): Promise<number | undefined> {
  const chunk = await lockPartlyAnswered(tx, batch.id, from)
  if (chunk === undefined) return undefined
  await settleCanceledChunk(tx, {
    batchId: batch.id,
    no: chunk.no,
    accountId: batch.account_id,
    mode: batch.mode,
    product: batch.product,
    chargeUnknown: batch.charge_unknown,
    scorer,
    subjects: unpackSubjects(chunk.subjects),
    onlyPart: undefined,
  })
  return chunk.no
}

async function releaseOnce(tx: Tx, { batchId, lease }: StageInHand): Promise<void> {
  const row = await lockBatch(tx, batchId)
  if (row === undefined || row.lease !== lease) return
  const released = await releaseRest(tx, row)
  await updateBatch(tx, batchId, { credits_released: released })
}
