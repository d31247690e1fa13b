import type { BatchFault, BatchView } from '@plumbline/contract/batch-view'
import { Problem } from '@plumbline/contract/problem'
import type { StageFence } from '@plumbline/db/batches/stages'
import type { Tx } from '@plumbline/db/database'
import { lockBatch, moveBatch, type BatchOwner, type BatchRow } from '@plumbline/db/batches/rows'
import { release } from '@plumbline/metering/hold'
import { eraseStep } from '@plumbline/db/batches/erase'
import { noteRemovals } from '@plumbline/db/file-store'
import { lockBatchOf, viewIn, type InTransaction } from './batch-access.ts'
import type { Pipeline } from './pipeline.ts'
import { removeNoted } from './remove-files.ts'
import { endSamples } from './sampling.ts'

/**
 * Cancels a batch: no new lookup is begun for it. The finish stage waits for purchases in flight,
 * charges the known parts of each record, releases the rest of the hold and writes every record
 * into the result file. Canceling again is no error.
 *
 * @throws Problem `not_found`; `conflict` if the batch has ended
 */
export async function cancelBatch(
  pipeline: Pipeline,
  owner: BatchOwner,
  id: string,
  inTransaction?: InTransaction,
): Promise<BatchView> {
  return await pipeline.db.kysely.transaction().execute(async (tx) => {
    const row = await lockBatchOf(tx, owner, id)
    const isCanceled = row.status === 'canceling' || row.status === 'canceled'
    if (!isCanceled && row.sample_id !== null) await endSamples(tx, id)
    const canceling = isCanceled ? row : await moveBatch(tx, id, 'canceling')
    if (canceling === undefined) {
      throw new Problem('conflict', `The batch is ${row.status}; it cannot be canceled any more.`)
    }
    return await viewIn(tx, canceling, inTransaction)
  })
}

/**
 * Releases the rest of a batch's hold. Credits of an ended billing cycle are released too, but not
 * returned to the account (decision 14).
 *
 * @returns how many credits the hold had left; 0 if it was released before
 */
export async function releaseRest(tx: Tx, row: BatchRow): Promise<number> {
  if (row.mode === 'test' || row.credits_held === 0) return 0
  const released = await release(tx, {
    accountId: row.account_id,
    ref: row.id,
    opKey: `${row.id}:release`,
  })
  return released ?? 0
}

/**
 * Ends a batch as failed with a public reason, releases its hold, and erases its file and the rows
 * that were read, which have no further use.
 *
 * @param stage its fencing number, which the batch must still have
 */
export async function failBatch(
  pipeline: Pipeline,
  { batchId: id, lease }: StageFence,
  error: BatchFault,
): Promise<void> {
  const failed = await pipeline.db.kysely.transaction().execute(async (tx) => {
    const row = await lockBatch(tx, id)
    if (row === undefined || row.lease !== lease) return undefined
    const released = await releaseRest(tx, row)
    const moved = await moveBatch(tx, id, 'failed', {
      error: JSON.stringify(error),
      credits_released: row.credits_released + released,
      erasing: 'chunks',
    })
    // The error also rolls back the release.
    if (moved === undefined) throw new Error(`batch ${id}: its end was refused`)
    await noteRemovals(tx, moved.account_id, [moved.source_key])
    return { row: moved, released }
  })
  if (failed === undefined) return
  pipeline.countCredits?.released(failed.row.product, failed.released)
  await removeNoted(pipeline, [failed.row.source_key])
  await eraseStep(pipeline.db, id)
}
