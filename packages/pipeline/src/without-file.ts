import { withTimeOut } from '@plumbline/concurrency/time-out'
import { isAbsent } from '@plumbline/storage/marker'
import type { Pipeline } from './pipeline.ts'
import { isOwnStore } from './sweep-store.ts'

/** Milliseconds that one question may take: a store that does not reply says nothing of its files. */
const ASKED_WITHIN_MS = 10_000

/**
 * Those of these items whose file the store reports as missing. None if the store is unreachable or
 * lacks our marker, as an empty directory does when a disk is not mounted.
 */
export async function withoutFile(
  pipeline: Pick<Pipeline, 'db' | 'storage' | 'log'>,
  files: readonly { readonly id: string; readonly key: string }[],
): Promise<readonly string[]> {
  if (files.length === 0) return []
  const lost: string[] = []
  try {
    if (!(await withTimeOut(ASKED_WITHIN_MS, isOwnStore(pipeline)))) return []
    for (const { id, key } of files) {
      if (!(await withTimeOut(ASKED_WITHIN_MS, isStored(pipeline, key)))) lost.push(id)
    }
  } catch (error) {
    // The rest is asked about by a later search: each answer may take as long as the store lets one
    // wait.
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
