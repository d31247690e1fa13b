import { createHash } from 'node:crypto'
import type { StoredChunk } from '@plumbline/db/batches/chunks'
import { readDuplicatedRows } from '@plumbline/db/batches/duplicated-rows'
import { lockBatch, moveBatch, readBatch, type BatchRow } from '@plumbline/db/batches/rows'
import type { StageFence } from '@plumbline/db/batches/stages'
import { sumsOfBatch } from '@plumbline/db/batches/sums'
import { statesBefore } from '@plumbline/db/batches/states'
import { noteRemovals } from '@plumbline/db/file-store'
import type { NewFile } from '@plumbline/storage/storage'
import { adoptSample } from './adopt-sample.ts'
import { releaseRest } from './cancel.ts'
import { pagesOfChunks } from './chunk-pages.ts'
import { drainBatch, releaseSettled } from './drain.ts'
import type { Pipeline } from './pipeline.ts'
import { removeNoted } from './remove-files.ts'
import { openDuplicateOutcomes } from './duplicate-outcomes.ts'
import { resultKey, resultKeysBefore } from './result-keys.ts'
import { STORED_FORM } from './line-format.ts'
import { createRowFormatter } from './row-formatter.ts'
import { failAfterAttempts } from './stage-attempts.ts'
import { runStage, type LeasedStage } from './stage-lease.ts'
import { readBatchFile } from './read-batch-file.ts'

/**
 * Writes the result file of a batch that is settled or being canceled, then ends the batch. Two
 * workers may write at once; only the one that holds the lease ends the batch, with its file. As the
 * customer has paid for it, this stage is retried forever; the rows can be read meanwhile.
 */
export async function runFinish(
  pipeline: Pipeline,
  job: StageFence,
  signal: AbortSignal,
): Promise<void> {
  await runStage(pipeline, job, signal, async (stage) => {
    const batch = await readBatch(pipeline.db, stage.batchId)
    if (batch?.status === 'canceling' && !(await drainBatch(pipeline, stage, batch))) return
    await finish(pipeline, stage, pagesOfChunks(pipeline, stage.batchId))
  })
}

/**
 * Writes the result file of a leased stage and ends the batch; writes it again if values were
 * erased meanwhile.
 *
 * @param pages all chunks of the batch in order
 */
export async function finish(
  pipeline: Pipeline,
  stage: LeasedStage,
  pages: AsyncIterable<readonly StoredChunk[]>,
): Promise<void> {
  const { batchId, lease, signal } = stage
  let batch = await readBatch(pipeline.db, batchId)
  if (batch === undefined) return
  if (!batch.read_whole) {
    if (await failAfterAttempts(pipeline, stage, batch)) return
    // Canceled while it was read: the result still has every record.
    const read = await readBatchFile(pipeline, stage, batch)
    if (read !== 'read') return
    batch = await readBatch(pipeline.db, batchId)
    if (batch === undefined) return
  }
  const key = resultKey(batchId, lease)
  let written = await storeResult(pipeline, batch, pages, key, signal)
  for (;;) {
    const end = await endBatch(pipeline, batch, lease, { ...written, key })
    if (end === 'ended') {
      if (batch.blank_count > 0) await removeNoted(pipeline, resultKeysBefore(batchId, lease))
      return
    }
    if (end === 'lost') {
      await removeUnused(pipeline, batch, key)
      return
    }
    // Values were erased while the file was written, so it is overwritten.
    batch = end
    written = await storeResult(pipeline, batch, pagesOfChunks(pipeline, batchId), key, signal)
  }
}

/**
 * Removes the result file of an attempt that has lost its batch, unless it is the file of the batch:
 * a failover may lose a claim, so that its number is given again, and the other attempt has ended the
 * batch with a file of the same name. If values were erased between the two, the remaining file may
 * still have them: it is removed, and restored from the rows.
 */
async function removeUnused(pipeline: Pipeline, batch: BatchRow, key: string): Promise<void> {
  const isUsed = await pipeline.db.kysely.transaction().execute(async (tx) => {
    const row = await lockBatch(tx, batch.id)
    if (row?.result_key === key && row.result_blank_count === batch.blank_count) return true
    await noteRemovals(tx, batch.account_id, [key])
    return false
  })
  if (!isUsed) await removeNoted(pipeline, [key])
}

/**
 * Writes the result file of a batch to the store as its rows arrive, replacing a file of the same
 * name; if that fails, nothing of it remains.
 */
export async function storeResult(
  pipeline: Pipeline,
  batch: BatchRow,
  pages: AsyncIterable<readonly StoredChunk[]>,
  key: string,
  signal: AbortSignal,
): Promise<Written> {
  await using file = await pipeline.storage.create(key)
  const written = await writeResult(pipeline, batch, pages, file, signal)
  if (written.rows !== batch.rows_total) {
    throw new Error(`batch ${batch.id}: ${written.rows} rows written of ${batch.rows_total}`)
  }
  await file.end()
  return written
}

/** Size and digest of a result file. */
export interface Written {
  readonly rows: number
  readonly bytes: number
  readonly sha256: string
}

async function endBatch(
  pipeline: Pipeline,
  batch: BatchRow,
  lease: number,
  file: Written & { key: string },
): Promise<'ended' | 'lost' | BatchRow> {
  let released = 0
  const end = await pipeline.db.kysely.transaction().execute(async (tx) => {
    // Locked in one order: a change of the batch ends its sample.
    if (batch.sample_of !== null) await lockBatch(tx, batch.sample_of)
    const row = await lockBatch(tx, batch.id)
    if (row === undefined || row.lease !== lease) return 'lost' as const
    // Paused while its result was written early: it continues, and needs its hold.
    if (!statesBefore(row.status === 'canceling' ? 'canceled' : 'completed').includes(row.status)) {
      return 'lost'
    }
    if (row.blank_count !== batch.blank_count) return row
    const canceled = row.status === 'canceling'
    released = canceled ? await releaseSettled(tx, row) : await releaseRest(tx, row)
    // Killed attempts may have left files with values that were erased since.
    const left = row.blank_count > 0 ? resultKeysBefore(batch.id, lease) : []
    if (left.length > 0) await noteRemovals(tx, row.account_id, left)
    const sums = await sumsOfBatch(tx, batch.id)
    const moved = await moveBatch(
      tx,
      batch.id,
      canceled ? 'canceled' : 'completed',
      {
        credits_released: row.credits_released + released,
        result_key: file.key,
        result_bytes: file.bytes,
        result_rows: file.rows,
        result_sha256: file.sha256,
        // The batch no longer changes, so its sums are stored: a listing need not add up the
        // chunks.
        sums: sums === undefined ? null : JSON.stringify(sums),
        result_blank_count: row.blank_count,
      },
      lease,
    )
    // The error also rolls back the release.
    if (moved === undefined) throw new Error(`batch ${batch.id}: its end was refused`)
    if (moved.sample_of !== null) await adoptSample(tx, pipeline, moved)
    return 'ended' as const
  })
  if (end === 'ended') pipeline.countCredits?.released(batch.product, released)
  return end
}

async function writeResult(
  pipeline: Pipeline,
  batch: BatchRow,
  pages: AsyncIterable<readonly StoredChunk[]>,
  file: NewFile,
  signal: AbortSignal,
): Promise<Written> {
  const duplicated = await readDuplicatedRows(pipeline.db, batch.id)
  using duplicates = openDuplicateOutcomes(duplicated, pipeline.scratchDir)
  const writer = createRowFormatter(
    batch,
    { form: STORED_FORM, only: null },
    { scorer: await pipeline.scorers.of(batch.weights), duplicates },
  )
  const hash = createHash('sha256')
  let rows = 0
  let bytes = 0
  // The text of one chunk is written to the disk or the network while the next is formatted.
  let writing = Promise.resolve()
  const write = async (text: string): Promise<void> => {
    const piece = Buffer.from(text)
    hash.update(piece)
    bytes += piece.length
    await writing
    writing = file.write(piece)
    // Thrown where the promise is awaited; until then a failure must not end the process.
    writing.catch(() => undefined)
  }
  await write(writer.header)
  for await (const page of pages) {
    signal.throwIfAborted()
    for (const chunk of page) {
      const pieces = writer.lines(chunk, 0)
      let piece = pieces.next()
      for (; piece.done !== true; piece = pieces.next()) await write(piece.value)
      rows += piece.value.count
    }
  }
  await writing
  return { rows, bytes, sha256: hash.digest('hex') }
}
