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
import { release } from '@plumbline/metering/hold'
import { deleteChunks } from '@plumbline/db/batches/chunks'
import { noteRemovals } from '@plumbline/db/file-store'
import { lockOwned } from './batch-access.ts'
import type { Pipeline } from './pipeline.ts'
import { removeNoted } from './remove-files.ts'
import type { Alongside } from './submit.ts'
import { batchViewOf } from './view.ts'

/**
 * Cancels a batch: nothing new is begun for it from here on. The finish stage awaits what is being bought,
 * charges what is known of each record, releases the rest of the hold and writes every record into the
 * result file. Canceling again is no error.
 * @throws Problem `not_found`; `conflict` where the list has ended
 */
export async function cancelBatch(
  pipeline: Pipeline,
  owner: BatchOwner,
  id: string,
  alongside?: Alongside,
): Promise<BatchView> {
  return await pipeline.db.kysely.transaction().execute(async (tx) => {
    const row = await lockOwned(tx, owner, id)
    if (row.status === 'canceling' || row.status === 'canceled') {
      const view = batchViewOf(row, (await sumsOf(tx, [id])).get(id))
      await alongside?.(tx, view)
      return view
    }
    const canceling = await moveBatch(tx, id, 'canceling')
    if (canceling === undefined) {
      throw new Problem('conflict', `The batch is ${row.status}; it cannot be canceled any more.`)
    }
    const view = batchViewOf(canceling, (await sumsOf(tx, [id])).get(id))
    await alongside?.(tx, view)
    return view
  })
}

/**
 * Releases what is left of a list's hold; answers how many credits the hold had left. Those of an
 * ended cycle are among them, and do not come back to life (decision 14).
 */
export async function releaseRest(tx: Tx, row: BatchRow): Promise<number> {
  if (row.mode === 'test' || row.credits_held === 0) return 0
  const released = await release(tx, {
    accountId: row.account_id,
    ref: row.id,
    opKey: `${row.id}:release`,
  })
  return released ?? row.credits_released
}

/**
 * Ends a list as failed with a public reason, releases what it holds, and erases its file and what
 * was read of it: nothing can be done with them any more.
 * @param lease the fencing number that must still own the list
 */
export async function failBatch(
  pipeline: Pipeline,
  id: string,
  error: { error: string; message: string },
  lease: number,
): Promise<void> {
  const failed = await pipeline.db.kysely.transaction().execute(async (tx) => {
    const row = await lockBatch(tx, id)
    if (row === undefined || row.lease !== lease) return undefined
    await deleteChunks(tx, id)
    const released = await releaseRest(tx, row)
    const moved = await moveBatch(tx, id, 'failed', {
      error: JSON.stringify(error),
      credits_released: released,
    })
    if (moved !== undefined) await noteRemovals(tx, [moved.source_key])
    return moved
  })
  if (failed !== undefined) await removeNoted(pipeline, [failed.source_key])
}
