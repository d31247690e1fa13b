import { Problem } from '@plumbline/contract/problem'
import {
  deleteManyRows,
  eraseAccount,
  hasDataInWork,
  listOwnBatches,
  listUnerased,
} from '@plumbline/db/closed-accounts'
import { cancelBatch } from './cancel.ts'
import { deleteBatch } from './erase.ts'
import type { Pipeline } from './pipeline.ts'

/** Accounts that one call erases at most, batches of each read at once, and reads of these. */
const MOST_ACCOUNTS = 20
const MOST_BATCHES = 100
const MOST_READS = 100

/**
 * Erases the data of closed accounts: batches are canceled and deleted, then the rest is deleted.
 * Running batches and erasures must end first, so an account may take several calls; a failing
 * account does not block the others.
 *
 * @returns how many accounts were erased completely
 */
export async function eraseClosedAccounts(
  pipeline: Pipeline,
  signal?: AbortSignal,
): Promise<number> {
  let erased = 0
  for (const accountId of await listUnerased(pipeline.db, MOST_ACCOUNTS)) {
    if (signal?.aborted === true) break
    try {
      if (!(await eraseBatchesOf(pipeline, accountId, signal))) continue
      if (!(await deleteManyRows(pipeline.db, accountId, { signal }))) break
      await pipeline.db.kysely.transaction().execute((tx) => eraseAccount(tx, accountId))
      erased += 1
    } catch (error) {
      pipeline.log.warn({ err: error, account: accountId }, 'account not erased; it is tried again')
    }
  }
  return erased
}

/** Deletes an account's batches; returns whether nothing of them is left, and no erasure under way. */
async function eraseBatchesOf(
  pipeline: Pipeline,
  accountId: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  for (let read = 0; read < MOST_READS; read++) {
    const batches = await listOwnBatches(pipeline.db, accountId, MOST_BATCHES)
    let deleted = 0
    for (const { id, mode } of batches) {
      if (signal?.aborted === true) return false
      const owner = { accountId, mode }
      if (await isDone(() => deleteBatch(pipeline, owner, id))) deleted += 1
      else await isDone(() => cancelBatch(pipeline, owner, id))
    }
    if (batches.length < MOST_BATCHES || deleted === 0) break
  }
  return !(await hasDataInWork(pipeline.db, accountId))
}

/** Whether the state of the batch allowed the work; a batch that is gone counts as done. */
async function isDone(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return true
    if (error instanceof Problem && error.code === 'conflict') return false
    throw error
  }
}
