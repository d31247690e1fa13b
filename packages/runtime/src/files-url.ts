import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** URL of the file store: the configured one, else `files` below the data directory. */
export function filesUrl(told: string | undefined, dataDir: string): string {
  return told ?? pathToFileURL(join(resolve(dataDir), 'files')).href
}

/** The local folder of the file store; null if it is remote. */
export function filesFolder(told: string | undefined, dataDir: string): string | null {
  const url = new URL(filesUrl(told, dataDir))
  return url.protocol === 'file:' ? fileURLToPath(url) : null
}
