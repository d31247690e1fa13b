import { Worker } from 'node:worker_threads'
import type { LoadedParts, LoadRequest } from './load-worker.ts'
import { buildRanges, type RangeList } from './ranges.ts'
import type { RangeListName } from './source.ts'

/** Heap limit of the worker thread in MiB: the largest source has 300,000 lines. */
const HEAP_MAX_MIB = 512
/** Young generation of its heap in MiB: small, since the process does not return that memory. */
const YOUNG_MAX_MIB = 8

/**
 * Loads lists of address ranges in a worker thread, so that the event loop is free while 300,000
 * lines are parsed and sorted. Throws what `loadRanges` throws.
 */
export async function loadRangesInWorker(
  dir: string | null,
  names: readonly RangeListName[],
): Promise<readonly RangeList[]> {
  const order: LoadRequest = { dir, names }
  const worker = new Worker(new URL('./load-worker.ts', import.meta.url), {
    workerData: order,
    resourceLimits: {
      maxOldGenerationSizeMb: HEAP_MAX_MIB,
      maxYoungGenerationSizeMb: YOUNG_MAX_MIB,
    },
  })
  try {
    const { promise, resolve, reject } = Promise.withResolvers<LoadedParts>()
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', (code) => reject(new Error(`the list reader ended with code ${code}`)))
    const loaded = await promise
    return names.map((name, index) => buildRanges(name, loaded[index] ?? []))
  } finally {
    await worker.terminate()
  }
}
