import { lockBatch, updateBatch, type BatchRow } from '@plumbline/db/batches/rows'
import type { Tx } from '@plumbline/db/database'
import { noteRemovals } from '@plumbline/db/file-store'
import { pagesOfChunks } from './chunk-pages.ts'
import { storeResult } from './finish.ts'
import type { Pipeline } from './pipeline.ts'
import { removeNoted } from './remove-files.ts'
import { resultKey, resultKeysBefore } from './result-keys.ts'

/**
 * Writes the result file of an ended batch anew, under the number that it has in `lease`, and names it; the old
 * one, and what killed processes left of its kind, goes. Where the batch was deleted, numbered anew or blanked
 * meanwhile, the new file is nobody's and goes instead.
 * @param note told in the transaction that names the file
 * @returns whether the file was named
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
