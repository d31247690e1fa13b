import { Problem } from '@plumbline/contract/problem'
import { eraseAccount, hasBatches, listOwnBatches, listUnerased } from '@plumbline/db/account-state'
import { cancelBatch } from './cancel.ts'
import { deleteBatch } from './erase.ts'
import type { Pipeline } from './pipeline.ts'

/** Accounts, and batches of one, that a call looks at. */
const MOST_ACCOUNTS = 20
const MOST_BATCHES = 100

/**
 * Erases the data of closed accounts: batches are canceled and deleted, then the rest goes. What runs is let
 * end first, so an account may take several calls; one that fails holds up no other.
 * @returns how many accounts were erased whole
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
      await pipeline.db.kysely.transaction().execute((tx) => eraseAccount(tx, accountId))
      erased += 1
    } catch (error) {
      pipeline.log.warn({ err: error, account: accountId }, 'account not erased; it is tried again')
    }
  }
  return erased
}

/** Deletes an account's batches; returns whether none is left, nor any row of one. */
async function eraseBatchesOf(
  pipeline: Pipeline,
  accountId: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const batches = await listOwnBatches(pipeline.db, accountId, MOST_BATCHES)
  for (const { id, mode } of batches) {
    if (signal?.aborted === true) return false
    const owner = { accountId, mode }
    if (await isDone(() => deleteBatch(pipeline, owner, id))) continue
    await isDone(() => cancelBatch(pipeline, owner, id))
  }
  return !(await hasBatches(pipeline.db, accountId))
}

/** Whether it could be done in the state that the batch is in; gone is done, too. */
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
