import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * All files and folders below a folder. Unlike with `readdir` and `recursive`, a folder below it may
 * be removed meanwhile.
 */
export async function entriesBelow(folder: string): Promise<readonly Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const folders = entries.filter((entry) => entry.isDirectory())
  const below = await Promise.all(
    folders.map(({ parentPath, name }) => entriesBelow(join(parentPath, name)).catch(noneIfGone)),
  )
  return [...entries, ...below.flat()]
}

function noneIfGone(error: unknown): readonly Dirent[] {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
  throw error
}
