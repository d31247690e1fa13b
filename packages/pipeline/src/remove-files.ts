import { TimeOutError } from '@plumbline/concurrency/time-out'
import { confirmRemovals, takeRemovals } from '@plumbline/db/file-store'
import type { Pipeline } from './pipeline.ts'
import { withinStoreLimit } from './store-time-limit.ts'

type Stores = Pick<Pipeline, 'db' | 'storage' | 'log'>

/** Maximum number of files that one query returns. */
const MOST_FILES = 100

/**
 * Removes files whose removal was recorded in the transaction that stopped referencing them. If the
 * store fails or does not reply for ten seconds, the record stays and the sweep tries again; the
 * caller may report them as removed.
 */
export async function removeNoted(stores: Stores, keys: readonly string[]): Promise<void> {
  try {
    await removeWithin(stores, keys)
  } catch (error) {
    stores.log.warn({ err: error, files: keys.length }, 'files not removed yet; it is tried again')
  }
}

/**
 * Retries removals that the store has not confirmed. A file that cannot be removed does not block
 * the others.
 *
 * @returns how many files were removed
 */
export async function retryRemovals(stores: Stores, signal?: AbortSignal): Promise<number> {
  let count = 0
  for (;;) {
    const keys = await takeRemovals(stores.db, MOST_FILES)
    const removed = await removeEach(stores, keys, signal)
    count += removed
    if (keys.length < MOST_FILES || removed === 0 || signal?.aborted === true) return count
  }
}

/**
 * Removes files one by one, until one exceeds the store's time limit; returns how many. The rest is
 * tried again later, so that few calls wait for a store that stalls.
 */
export async function removeEach(
  stores: Stores,
  keys: readonly string[],
  signal?: AbortSignal,
): Promise<number> {
  let count = 0
  for (const key of keys) {
    if (signal?.aborted === true) return count
    try {
      await removeWithin(stores, [key])
      count += 1
    } catch (error) {
      stores.log.warn({ err: error }, 'a file is not removed yet; it is tried again')
      if (error instanceof TimeOutError) break
    }
  }
  return count
}

/** Removes files and the records of their removal; a late reply is recorded, too. */
async function removeWithin({ db, storage }: Stores, keys: readonly string[]): Promise<void> {
  const remove = async (): Promise<void> => {
    await storage.remove(keys)
    await confirmRemovals(db, keys)
  }
  await withinStoreLimit(remove())
}
