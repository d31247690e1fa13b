import { chmod } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { filesUrl } from '@plumbline/runtime/files-url'
import { openLocalStorage } from './local.ts'
import { openS3Storage } from './s3.ts'
import type { Storage } from './storage.ts'

/**
 * Opens the store of a URL: `file:///dir` or `s3://bucket/prefix`.
 *
 * @param scratchDir directory for local copies of files in a remote store
 */
export async function openStorage(options: { url: string; scratchDir: string }): Promise<Storage> {
  const url = new URL(options.url)
  switch (url.protocol) {
    case 'file:':
      return await openLocalStorage(url)
    case 's3:':
      return await openS3Storage(url, options.scratchDir)
    default:
      throw new Error(`FILES_URL is ${url.protocol}; expected file: or s3:`)
  }
}

/**
 * Opens the store of a program.
 *
 * @param url as for `openStorage`; undefined for the default
 */
export async function openFiles(options: {
  url: string | undefined
  dataDir: string
  scratchDir: string
}): Promise<Storage> {
  const url = filesUrl(options.url, options.dataDir)
  // A folder of an older version may be accessible to others.
  if (options.url === undefined) await chmod(fileURLToPath(url), 0o700).catch(() => undefined)
  return await openStorage({ url, scratchDir: options.scratchDir })
}
