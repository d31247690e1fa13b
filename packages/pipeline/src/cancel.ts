import type { BatchView } from '@plumbline/contract/batch-view'
import { Problem } from '@plumbline/contract/problem'
import type { Tx } from '@plumbline/db/database'
import {
  lockBatch,
  moveBatch,
  sumsOf,
  type BatchOwner,
  type BatchRow,
} from '@plumbline/db/batches/rows'
import { dropTasks } from '@plumbline/db/batches/tasks'
import type { Pipeline } from './pipeline.ts'
import { batchViewOf } from './view.ts'

/**
 * Cancels a list: settled chunks stay charged, the rest of the hold is released at once, and the
 * result file will hold every record. Canceling again is no error.
 * @throws Problem `not_found`; `conflict` where the list has ended
 */
export async function cancelBatch(
  pipeline: Pipeline,
  owner: BatchOwner,
  id: string,
): Promise<BatchView> {
  return await pipeline.db.kysely.transaction().execute(async (tx) => {
    const row = await lockBatch(tx, id)
    if (row === undefined || row.account_id !== owner.accountId || row.mode !== owner.mode) {
      throw new Problem('not_found', 'There is no batch with this id.')
    }
    if (row.status === 'canceling' || row.status === 'canceled') {
      return batchViewOf(row, (await sumsOf(tx, [id])).get(id))
    }
    await dropTasks(tx, id)
    const released = await releaseRest(pipeline, tx, row)
    const canceling = await moveBatch(tx, id, 'canceling', {
      credits_released: released,
    })
    if (canceling === undefined) {
      throw new Problem('conflict', `The batch is ${row.status}; it cannot be canceled any more.`)
    }
    return batchViewOf(canceling, (await sumsOf(tx, [id])).get(id))
  })
}

/**
 * Releases what is left of a list's hold; answers how many credits were released in all.
 * Those of an ended cycle do not come back to life (decision 14).
 */
export async function releaseRest(pipeline: Pipeline, tx: Tx, row: BatchRow): Promise<number> {
  if (row.mode === 'test' || row.credits_held === 0) return 0
  const used = (await sumsOf(tx, [row.id])).get(row.id)?.creditsUsed ?? 0
  await pipeline.metering.release(tx, {
    accountId: row.account_id,
    ref: row.id,
    opKey: `${row.id}:release`,
  })
  return row.credits_held - used
}

/**
 * Ends a list as failed with a public reason, and releases what it holds.
 * @param lease the fencing number that must still own the list
 */
export async function failBatch(
  pipeline: Pipeline,
  id: string,
  error: { error: string; message: string },
  lease: number,
): Promise<void> {
  await pipeline.db.kysely.transaction().execute(async (tx) => {
    const row = await lockBatch(tx, id)
    if (row === undefined || row.lease !== lease) return
    await dropTasks(tx, id)
    const released = await releaseRest(pipeline, tx, row)
    await moveBatch(tx, id, 'failed', {
      error: JSON.stringify(error),
      credits_released: released,
    })
  })
}
