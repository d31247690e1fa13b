import { S3Error, type S3Client } from './s3-client.ts'
import { elements, textOf } from './s3-xml.ts'
import type { PartsToDrop } from './storage.ts'

/** Maximum pages of open uploads that are read in one call; the next call continues. */
const MOST_PAGES = 100

/**
 * Aborts multipart uploads below a prefix that were begun before a time, as a killed process leaves
 * them; those with foreign keys stay. Source: AWS, "ListMultipartUploads" (pages of 1,000).
 *
 * @returns how many
 * @throws the signal's reason if it aborts
 */
export async function abortUploads(
  client: S3Client,
  wanted: PartsToDrop & { readonly prefix: string },
): Promise<number> {
  let count = 0
  let from: { readonly key: string; readonly uploadId: string } | undefined
  for (let page = 0; page < MOST_PAGES; page += 1) {
    wanted.signal?.throwIfAborted()
    const { text } = await client.send({
      method: 'GET',
      key: '',
      query: {
        uploads: '',
        prefix: wanted.prefix,
        'key-marker': from?.key,
        'upload-id-marker': from?.uploadId,
      },
    })
    for (const upload of elements(text, 'Upload')) {
      const key = textOf(upload, 'Key')
      const uploadId = textOf(upload, 'UploadId')
      const begun = Date.parse(textOf(upload, 'Initiated') ?? '')
      if (key === undefined || uploadId === undefined || !(begun < wanted.before.getTime()))
        continue
      if (!wanted.isOurs(key)) continue
      wanted.signal?.throwIfAborted()
      if (await abortUpload(client, key, uploadId)) count += 1
    }
    const key = textOf(text, 'NextKeyMarker')
    const uploadId = textOf(text, 'NextUploadIdMarker')
    if (textOf(text, 'IsTruncated') !== 'true' || key === undefined || uploadId === undefined) break
    from = { key, uploadId }
  }
  return count
}

/** Aborts an upload; false if it is no longer there, as another process has aborted it. */
export async function abortUpload(
  client: S3Client,
  key: string,
  uploadId: string,
): Promise<boolean> {
  try {
    await client.send({ method: 'DELETE', key, query: { uploadId } })
    return true
  } catch (error) {
    if (error instanceof S3Error && error.code === 'NoSuchUpload') return false
    throw error
  }
}
