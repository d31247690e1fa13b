import { Problem } from '@plumbline/contract/problem'
import { UNFINISHED_STATES } from '@plumbline/contract/batch'
import { eraseStep, erasingBatches, lockExpiring } from '@plumbline/db/batches/erase'
import { moveBatch, updateBatch, type BatchOwner, type BatchRow } from '@plumbline/db/batches/rows'
import { sumsOfBatch } from '@plumbline/db/batches/sums'
import type { Tx } from '@plumbline/db/database'
import { eraseSamples } from '@plumbline/db/batches/samples'
import { noteRemovals } from '@plumbline/db/file-store'
import { eraseResponses } from '@plumbline/db/idempotency'
import { deleteDeliveriesAbout } from '@plumbline/db/webhooks/deliveries'
import { lockBatchOf } from './batch-access.ts'
import type { Pipeline } from './pipeline.ts'
import { removeNoted } from './remove-files.ts'
import { resultKeysUpTo } from './result-keys.ts'
import { refuseSampling } from './sampling.ts'

/**
 * Deletes a batch that has ended or not yet started, with its file, chunks, results, and the
 * idempotency records and webhook messages that show it. It is invisible at once; a large batch is
 * erased in steps, by the sweeps.
 *
 * @throws Problem `not_found`; `conflict` while it is being worked on
 */
export async function deleteBatch(
  pipeline: Pipeline,
  owner: BatchOwner,
  id: string,
): Promise<void> {
  const files = await pipeline.db.kysely.transaction().execute(async (tx) => {
    const found = await lockBatchOf(tx, owner, id)
    if (found.status !== 'ready' && UNFINISHED_STATES.includes(found.status)) {
      throw new Problem('conflict', `The batch is ${found.status}; cancel it before deleting it.`)
    }
    await refuseSampling(tx, found, 'delete')
    await eraseResponses(tx, id)
    await deleteDeliveriesAbout(tx, [id])
    await updateBatch(tx, id, { erasing: 'all', expires_at: null })
    const samples = await eraseSamples(tx, id)
    const files = [found, ...samples].flatMap(filesOf)
    await noteRemovals(tx, owner.accountId, files)
    return files
  })
  await removeNoted(pipeline, files)
  await eraseAtOnce(pipeline, id)
}

/** Maximum number of steps that are run before the call returns. */
const STEPS_AT_ONCE = 2

/** Erases the first steps of a batch. Errors are ignored: the sweeps erase the rest. */
async function eraseAtOnce(pipeline: Pipeline, id: string): Promise<void> {
  try {
    for (let step = 0; step < STEPS_AT_ONCE; step++) {
      if ((await eraseStep(pipeline.db, id)) !== 'more') return
    }
  } catch (error) {
    pipeline.log.warn({ err: error, batch: id }, 'batch not erased yet; it is tried again')
  }
}

/**
 * Erases all ended batches whose retention is over, and leaves their files to the sweep of removals:
 * it never waits for the store. A batch that cannot be erased is tried again at the next call and
 * does not block the others; those that another process has locked are skipped.
 *
 * @returns how many were erased
 */
export async function expireBatches(pipeline: Pipeline, signal?: AbortSignal): Promise<number> {
  const failed: string[] = []
  for (let count = 0; ; count++) {
    if (signal?.aborted === true) return count
    const row = await expireNext(pipeline, failed)
    if (row === undefined) return count
    await eraseAtOnce(pipeline, row.id)
  }
}

async function expireNext(pipeline: Pipeline, failed: string[]): Promise<BatchRow | undefined> {
  for (;;) {
    let id = ''
    try {
      return await pipeline.db.kysely.transaction().execute(async (tx) => {
        const row = await lockExpiring(tx, failed)
        id = row?.id ?? ''
        if (row !== undefined) await expireBatch(tx, row)
        return row
      })
    } catch (error) {
      if (id === '') throw error
      failed.push(id)
      pipeline.log.warn({ err: error, batch: id }, 'batch not erased; it is tried again')
    }
  }
}

async function expireBatch(tx: Tx, row: BatchRow): Promise<void> {
  await noteRemovals(tx, row.account_id, filesOf(row), 'sweep')
  const sums = await sumsOfBatch(tx, row.id)
  await eraseResponses(tx, row.id)
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
    erasing: 'chunks',
  })
}

const BATCHES_A_ROUND = 100

/** Continues erasing batches, in turn, until nothing is left that no other process works on. */
export async function eraseBatches(pipeline: Pipeline, signal?: AbortSignal): Promise<void> {
  for (let isMore = true; isMore;) {
    isMore = false
    for (const id of await erasingBatches(pipeline.db, BATCHES_A_ROUND)) {
      if (signal?.aborted === true) return
      if ((await eraseStep(pipeline.db, id)) !== 'busy') isMore = true
    }
  }
}

/** Storage keys of a batch's files, including those that killed attempts may have left. */
function filesOf(row: BatchRow): readonly string[] {
  const named = row.result_key === null ? [] : [row.result_key]
  return [...new Set([row.source_key, ...named, ...resultKeysUpTo(row.id, row.lease)])]
}
