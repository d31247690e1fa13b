import { lockBatch, updateBatch, type BatchRow } from '@plumbline/db/batches/rows'
import type { Tx } from '@plumbline/db/database'
import { noteRemovals } from '@plumbline/db/file-store'
import { pagesOfChunks } from './chunk-pages.ts'
import { storeResult } from './finish.ts'
import type { Pipeline } from './pipeline.ts'
import { removeNoted } from './remove-files.ts'
import { resultKey, resultKeysBefore } from './result-keys.ts'

/**
 * Rewrites the result file of an ended batch under the attempt number in `lease`, and switches the
 * batch to it; deletes the old file, and files that killed processes left. If the batch was
 * deleted, claimed by another attempt or blanked meanwhile, the new file is deleted instead.
 *
 * @param note called in the transaction that switches to the file
 * @returns whether the batch was switched to it
 */
export async function replaceResult(
  pipeline: Pipeline,
  batch: BatchRow,
  signal: AbortSignal,
  note: (tx: Tx) => Promise<void>,
): Promise<boolean> {
  const key = resultKey(batch.id, batch.lease)
  const pages = pagesOfChunks(pipeline, batch.id)
  const written = await storeResult(pipeline, batch, pages, key, signal)
  const { isKept, removed } = await pipeline.db.kysely.transaction().execute(async (tx) => {
    const row = await lockBatch(tx, batch.id)
    const isCurrent = row?.lease === batch.lease && row.blank_count === batch.blank_count
    const isKept = isCurrent && row.erasing === null && row.result_key !== null
    const old = isKept ? [...resultKeysBefore(batch.id, batch.lease), row.result_key ?? key] : [key]
    const removed = [...new Set(old)].filter((name) => !isKept || name !== key)
    await noteRemovals(tx, batch.account_id, removed)
    if (!isKept) return { isKept, removed }
    await updateBatch(tx, batch.id, {
      result_key: key,
      result_bytes: written.bytes,
      result_rows: written.rows,
      result_sha256: written.sha256,
      result_blank_count: batch.blank_count,
    })
    await note(tx)
    return { isKept, removed }
  })
  await removeNoted(pipeline, removed)
  return isKept
}
