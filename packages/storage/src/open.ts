import { chmod, mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { openLocalStorage } from './local.ts'
import { openS3Storage } from './s3.ts'
import type { Storage } from './storage.ts'

/**
 * Opens the store of a URL: `file:///dir` or `s3://bucket/prefix`.
 * @param scratchDir where downloads of a remote store lie while they are worked on
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

/** Where files lie: as told, else `files` below the data directory. */
export function filesUrl(told: string | undefined, dataDir: string): string {
  return told ?? pathToFileURL(join(resolve(dataDir), 'files')).href
}

/**
 * Opens the store of a program that works on files, and makes the directory for those in the making.
 * @param url as for `openStorage`; undefined for the usual place
 */
export async function openFiles(options: {
  url: string | undefined
  dataDir: string
}): Promise<{ storage: Storage; scratchDir: string }> {
  const scratchDir = join(resolve(options.dataDir), 'scratch')
  await mkdir(scratchDir, { recursive: true, mode: 0o700 })
  const url = filesUrl(options.url, options.dataDir)
  const usual = options.url === undefined ? [fileURLToPath(url)] : []
  // Made by an older version, they may be open to others.
  for (const folder of [scratchDir, ...usual]) await chmod(folder, 0o700).catch(() => undefined)
  return { storage: await openStorage({ url, scratchDir }), scratchDir }
}
