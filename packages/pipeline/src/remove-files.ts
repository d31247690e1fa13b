import { confirmRemovals, takeRemovals } from '@plumbline/db/file-store'
import type { Pipeline } from './pipeline.ts'

type Stores = Pick<Pipeline, 'db' | 'storage' | 'log'>

/** Files of one try. */
const MOST_FILES = 100

/**
 * Removes files whose removal was recorded in the transaction that stopped referencing them. If the
 * store fails, the record stays and the sweep tries again; the caller may report them as removed.
 */
export async function removeNoted(stores: Stores, keys: readonly string[]): Promise<void> {
  try {
    await stores.storage.remove(keys)
    await confirmRemovals(stores.db, keys)
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
    count += await removeEach(stores, keys, signal)
    if (keys.length < MOST_FILES || signal?.aborted === true) return count
  }
}

/** Removes files one by one; returns how many. */
export async function removeEach(
  stores: Stores,
  keys: readonly string[],
  signal?: AbortSignal,
): Promise<number> {
  let count = 0
  for (const key of keys) {
    if (signal?.aborted === true) return count
    try {
      await stores.storage.remove([key])
      await confirmRemovals(stores.db, [key])
      count += 1
    } catch (error) {
      stores.log.warn({ err: error }, 'a file is not removed yet; it is tried again')
    }
  }
  return count
}
