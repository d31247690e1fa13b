import { stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Folder of updated lists: `configured`, else `lists` below the data directory. */
export function updatedListsDir(configured: string | undefined, dataDir: string): string {
  return configured ?? join(dataDir, 'lists')
}

/**
 * Folder of the operator's lists: the configured one, else the default one if it exists; null for
 * none.
 */
export async function findListsDir(
  configured: string | undefined,
  dataDir: string,
): Promise<string | null> {
  const dir = updatedListsDir(configured, dataDir)
  if (configured !== undefined) return dir
  const found = await stat(dir).catch(() => null)
  return found?.isDirectory() === true ? dir : null
}
