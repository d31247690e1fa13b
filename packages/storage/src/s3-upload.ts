import { open, type FileHandle } from 'node:fs/promises'
import type { S3Client } from './s3-client.ts'
import { elements, escapedXml, textOf } from './s3-xml.ts'

/** Bounds of AWS, "Amazon S3 multipart upload limits": 5 MiB for each part but the last, 10,000 parts. */
const PART_BYTES = 8 * 1_048_576
const MOST_PARTS = 10_000

/** Parts in flight at once, each held in memory. */
const WIDTH = 3

/** Uploads a file under a key: in one request where it is small, else in parts, of which none stays on failure. */
export async function uploadFile(client: S3Client, key: string, path: string): Promise<void> {
  await using file = await open(path, 'r')
  const { size } = await file.stat()
  if (size <= PART_BYTES) {
    await client.send({ method: 'PUT', key, body: await readPart(file, 0, size) })
    return
  }
  const begun = await client.send({ method: 'POST', key, query: { uploads: '' } })
  const uploadId = textOf(begun.text, 'UploadId')
  if (uploadId === undefined) throw new Error('the store began an upload and did not name it')
  try {
    const etags = await uploadParts(client, { key, uploadId, file, size })
    await client.send({
      method: 'POST',
      key,
      query: { uploadId },
      body: Buffer.from(completion(etags)),
    })
  } catch (error) {
    await abort(client, key, uploadId)
    throw error
  }
}

async function uploadParts(
  client: S3Client,
  upload: {
    readonly key: string
    readonly uploadId: string
    readonly file: FileHandle
    readonly size: number
  },
): Promise<readonly string[]> {
  const { key, uploadId, file, size } = upload
  const partBytes = Math.max(PART_BYTES, Math.ceil(size / MOST_PARTS))
  const count = Math.ceil(size / partBytes)
  const etags = Array.from({ length: count }, () => '')
  const state = { next: 0, failed: false }
  const worker = async (): Promise<void> => {
    while (state.next < count && !state.failed) {
      const at = state.next
      state.next += 1
      const from = at * partBytes
      const body = await readPart(file, from, Math.min(partBytes, size - from))
      const query = { partNumber: String(at + 1), uploadId }
      const { headers } = await client.send({ method: 'PUT', key, query, body })
      if (headers.etag === undefined) throw new Error(`the store gave no ETag for part ${at + 1}`)
      etags[at] = headers.etag
    }
  }
  const ends = await Promise.allSettled(
    Array.from({ length: Math.min(WIDTH, count) }, async () => {
      try {
        await worker()
      } catch (error) {
        state.failed = true
        throw error
      }
    }),
  )
  const fault = ends.find((end) => end.status === 'rejected')
  if (fault !== undefined) throw fault.reason
  return etags
}

/** Parts that nobody completes are kept, and paid for, until they are aborted. */
async function abort(client: S3Client, key: string, uploadId: string): Promise<void> {
  try {
    await client.send({ method: 'DELETE', key, query: { uploadId } })
  } catch {
    // What failed before is what the caller has to know; the bucket's own rule drops the parts.
  }
}

/** Pages of open uploads that are read in one go; what is left is met the next time. */
const MOST_PAGES = 100

/**
 * Aborts uploads in parts below a prefix that were begun before a time, as a killed process leaves them; those whose
 * key is not ours stay. Source: AWS, "ListMultipartUploads" (pages of 1,000).
 * @returns how many
 */
export async function abortUploads(
  client: S3Client,
  wanted: {
    readonly prefix: string
    readonly before: Date
    readonly isOurs: (key: string) => boolean
  },
): Promise<number> {
  let count = 0
  let from: { readonly key: string; readonly uploadId: string } | undefined
  for (let page = 0; page < MOST_PAGES; page += 1) {
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
      await client.send({ method: 'DELETE', key, query: { uploadId } })
      count += 1
    }
    const key = textOf(text, 'NextKeyMarker')
    const uploadId = textOf(text, 'NextUploadIdMarker')
    if (textOf(text, 'IsTruncated') !== 'true' || key === undefined || uploadId === undefined) break
    from = { key, uploadId }
  }
  return count
}

async function readPart(file: FileHandle, from: number, length: number): Promise<Uint8Array> {
  const part = Buffer.allocUnsafe(length)
  let read = 0
  while (read < length) {
    const { bytesRead } = await file.read(part, read, length - read, from + read)
    if (bytesRead === 0) throw new Error('the file became shorter while it was uploaded')
    read += bytesRead
  }
  return part
}

function completion(etags: readonly string[]): string {
  const parts = etags.map(
    (etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${escapedXml(etag)}</ETag></Part>`,
  )
  return `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join('')}</CompleteMultipartUpload>`
}
