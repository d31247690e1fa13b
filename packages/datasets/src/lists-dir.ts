import { stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Where updated lists are put: where told, else `lists` below the data directory. */
export function updatedListsDir(told: string | undefined, dataDir: string): string {
  return told ?? join(dataDir, 'lists')
}

/** Where the operator's lists are: where told, else the usual place if it is there; null for none. */
export async function findListsDir(
  told: string | undefined,
  dataDir: string,
): Promise<string | null> {
  const dir = updatedListsDir(told, dataDir)
  if (told !== undefined) return dir
  const found = await stat(dir).catch(() => null)
  return found?.isDirectory() === true ? dir : null
}
