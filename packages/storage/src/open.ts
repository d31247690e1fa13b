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
      return openS3Storage(url, options.scratchDir)
    default:
      throw new Error(`FILES_URL is ${url.protocol}; expected file: or s3:`)
  }
}
