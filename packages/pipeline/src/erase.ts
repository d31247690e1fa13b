import { Problem } from '@plumbline/contract/problem'
import { UNFINISHED_STATES } from '@plumbline/contract/batch'
import { deleteChunks } from '@plumbline/db/batches/chunks'
import {
  deleteBatch as deleteBatchRow,
  expiringBatches,
  lockBatch,
  moveBatch,
  sumsOf,
  type BatchOwner,
  type BatchRow,
} from '@plumbline/db/batches/rows'
import { noteRemovals } from '@plumbline/db/file-store'
import { eraseAnswers } from '@plumbline/db/idempotency'
import { lockBatchOf } from './batch-access.ts'
import type { Pipeline } from './pipeline.ts'
import { removeNoted } from './remove-files.ts'

/**
 * Deletes a batch that has ended or not yet started, with its file, chunks, results and the idempotency
 * records that show it.
 * @throws Problem `not_found`; `conflict` while it is being worked on
 */
export async function deleteBatch(
  pipeline: Pipeline,
  owner: BatchOwner,
  id: string,
): Promise<void> {
  const row = await pipeline.db.kysely.transaction().execute(async (tx) => {
    const found = await lockBatchOf(tx, owner, id)
    if (found.status !== 'ready' && UNFINISHED_STATES.includes(found.status)) {
      throw new Problem('conflict', `The batch is ${found.status}; cancel it before deleting it.`)
    }
    await deleteChunks(tx, id)
    await eraseAnswers(tx, id)
    await deleteBatchRow(tx, id)
    await noteRemovals(tx, filesOf(found))
    return found
  })
  await removeNoted(pipeline, filesOf(row))
}

/**
 * Erases ended batches whose retention is over. One that cannot be erased is tried again at the next call
 * and does not hold up the others.
 * @returns how many were erased
 */
export async function expireBatches(pipeline: Pipeline): Promise<number> {
  let count = 0
  for (const row of await expiringBatches(pipeline.db, 100)) {
    try {
      await expireBatch(pipeline, row)
      count += 1
    } catch (error) {
      pipeline.log.warn({ err: error, batch: row.id }, 'batch not erased; it is tried again')
    }
  }
  return count
}

async function expireBatch(pipeline: Pipeline, row: BatchRow): Promise<void> {
  const given = await pipeline.db.kysely.transaction().execute(async (tx) => {
    // It may have been started meanwhile.
    const still = await lockBatch(tx, row.id)
    if (still === undefined || still.expires_at?.getTime() !== row.expires_at?.getTime()) return []
    await noteRemovals(tx, filesOf(still))
    const sums = (await sumsOf(tx, [row.id])).get(row.id)
    await deleteChunks(tx, row.id)
    await eraseAnswers(tx, row.id)
    await moveBatch(tx, row.id, 'expired', {
      result_key: null,
      file_name: null,
      header: null,
      mapping: '{}',
      requested: '{}',
      sheet: null,
      sheets: null,
      entry: null,
      column_types: null,
      sums: sums === undefined ? null : JSON.stringify(sums),
    })
    return filesOf(still)
  })
  await removeNoted(pipeline, given)
}

function filesOf(row: BatchRow): readonly string[] {
  return row.result_key === null ? [row.source_key] : [row.source_key, row.result_key]
}
