import { isAbsent } from '@plumbline/storage/storage'
import type { Pipeline } from './pipeline.ts'
import { withinStoreLimit } from './store-time-limit.ts'
import { isOwnStore } from './sweep-store.ts'

/**
 * Those of the given items whose file the store reports as missing. None if the store is
 * unreachable or lacks our marker, as an empty directory does when a disk is not mounted.
 */
export async function withoutFile(
  pipeline: Pick<Pipeline, 'db' | 'storage' | 'log'>,
  files: readonly { readonly id: string; readonly key: string }[],
): Promise<readonly string[]> {
  if (files.length === 0) return []
  const lost: string[] = []
  try {
    if (!(await withinStoreLimit(isOwnStore(pipeline)))) return []
    for (const { id, key } of files) {
      if (!(await withinStoreLimit(isStored(pipeline, key)))) lost.push(id)
    }
  } catch (error) {
    // The rest is checked by a later search: each reply may take up to the store's time limit.
    pipeline.log.warn({ err: error }, 'the file store could not be asked for its files')
  }
  return lost
}

async function isStored({ storage }: Pick<Pipeline, 'storage'>, key: string): Promise<boolean> {
  try {
    const stream = await storage.open(key, { start: 0, end: 0 })
    stream.destroy()
    return true
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
}
