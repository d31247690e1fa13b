import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The file beside the packaged Postgres that says where its data was moved. */
function markOf(dataDir: string): string {
  return join(dataDir, 'postgres', 'moved-to')
}

/**
 * Records that the packaged Postgres of a directory was moved, so that it is not started by mistake
 * and diverges from the new server.
 *
 * @param place `host:port/name`, without user and password
 */
export async function markMoved(dataDir: string, place: string): Promise<void> {
  await writeFile(markOf(dataDir), `${place}\n`, { mode: 0o600 })
}

/** @throws Error if the packaged Postgres of this directory has been moved */
export async function refuseMoved(dataDir: string): Promise<void> {
  const path = markOf(dataDir)
  const place = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  })
  if (place === undefined) return
  throw new Error(
    `the database of ${dataDir} was moved to ${place.trim()}; set DATABASE_URL to that, or remove ` +
      `${path} to go on with what was left here`,
  )
}
