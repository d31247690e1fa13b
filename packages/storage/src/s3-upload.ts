import { open, type FileHandle } from 'node:fs/promises'
import { abortUpload } from './s3-abandoned.ts'
import { S3Error, type S3Client } from './s3-client.ts'
import { escapedXml, textOf } from './s3-xml.ts'
import type { NewFile } from './storage.ts'

/**
 * Limits of AWS, "Amazon S3 multipart upload limits": 5 MiB for each part but the last, 10,000
 * parts.
 */
const PART_BYTES = 8 * 1_048_576
const MOST_PARTS = 10_000

/** Maximum number of parts in flight, each held in memory. */
const WIDTH = 3

/**
 * Uploads a file under a key: in one request if it is small, else in parts, which are aborted on
 * failure.
 */
export async function uploadFile(client: S3Client, key: string, path: string): Promise<void> {
  await using file = await open(path, 'r')
  const { size } = await file.stat()
  const partBytes = Math.max(PART_BYTES, Math.ceil(size / MOST_PARTS))
  await using upload = createUpload(client, key, partBytes)
  for (let from = 0; from < size; from += partBytes) {
    await upload.write(await readPart(file, from, Math.min(partBytes, size - from)))
  }
  await upload.end()
}

/**
 * Begins a file that is written in pieces: one request if it is no larger than a part, else parts
 * as they fill up, which are aborted if the file is not completed.
 *
 * @param partBytes bytes of each part but the last
 */
export function createUpload(client: S3Client, key: string, partBytes = PART_BYTES): NewFile {
  let pieces: Uint8Array[] = []
  let heldBytes = 0
  let begun: Multipart | undefined
  let sending = Promise.resolve()
  let isClosed = false
  let isOver = false

  const takePart = (length: number): Uint8Array => {
    const held = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces)
    const rest = held.subarray(length)
    pieces = rest.length === 0 ? [] : [rest]
    heldBytes = rest.length
    return held.subarray(0, length)
  }
  const sendFullParts = async (): Promise<void> => {
    for (;;) {
      // Data that may be the last part is held back until more follows.
      if (heldBytes <= partBytes) return
      begun ??= await beginMultipart(client, key)
      if (isClosed) throw new Error('the file was closed while it was written')
      await begun.add(takePart(partBytes))
    }
  }
  return {
    write: async (bytes) => {
      if (bytes.length === 0) return
      pieces.push(bytes)
      heldBytes += bytes.length
      sending = sendFullParts()
      await sending
    },
    end: async () => {
      if (begun === undefined) {
        await client.send({ method: 'PUT', key, body: takePart(heldBytes) })
      } else {
        await begun.add(takePart(heldBytes))
        await begun.complete()
      }
      isOver = true
    },
    [Symbol.asyncDispose]: async () => {
      isClosed = true
      // A write may still be under way, and about to begin the upload that is to be aborted.
      await sending.catch(() => undefined)
      if (!isOver) await begun?.abort()
    },
  }
}

/** A multipart upload with concurrent parts. */
interface Multipart {
  /**
   * Sends the next part; waits while the maximum number is in flight.
   *
   * @throws the error of an earlier one
   */
  add(body: Uint8Array): Promise<void>
  /** Waits for all parts, and completes the file. */
  complete(): Promise<void>
  /** Waits for parts in flight, and aborts the upload. */
  abort(): Promise<void>
}

async function beginMultipart(client: S3Client, key: string): Promise<Multipart> {
  const answer = await client.send({ method: 'POST', key, query: { uploads: '' } })
  const uploadId = textOf(answer.text, 'UploadId')
  if (uploadId === undefined) throw new Error('the store began an upload and did not name it')
  const etags: string[] = []
  const underWay = new Set<Promise<void>>()
  let count = 0
  let bytes = 0
  let fault: { readonly cause: unknown } | undefined

  const send = async (at: number, body: Uint8Array): Promise<void> => {
    const query = { partNumber: String(at + 1), uploadId }
    const { headers } = await client.send({ method: 'PUT', key, query, body })
    if (headers.etag === undefined) throw new Error(`the store gave no ETag for part ${at + 1}`)
    etags[at] = headers.etag
  }
  const throwFault = (): void => {
    if (fault !== undefined) throw fault.cause
  }
  return {
    add: async (body) => {
      while (underWay.size >= WIDTH) await Promise.race(underWay)
      throwFault()
      bytes += body.length
      const part: Promise<void> = send(count++, body)
        .catch((cause: unknown) => {
          fault ??= { cause }
        })
        .finally(() => underWay.delete(part))
      underWay.add(part)
    },
    complete: async () => {
      await Promise.all(underWay)
      throwFault()
      const body = Buffer.from(completion(etags))
      try {
        await client.send({ method: 'POST', key, query: { uploadId }, body })
      } catch (error) {
        if (!isCompletedBefore(error) || !(await isStored(client, key, bytes))) throw error
      }
    },
    abort: async () => {
      await Promise.all(underWay)
      // The caller needs the original error; the bucket's own rule removes the parts.
      await abortUpload(client, key, uploadId).catch(() => undefined)
    },
  }
}

/** Whether an earlier attempt, whose reply was lost, may have completed the upload. */
function isCompletedBefore(error: unknown): boolean {
  return error instanceof S3Error && error.code === 'NoSuchUpload' && error.attempts > 1
}

async function isStored(client: S3Client, key: string, bytes: number): Promise<boolean> {
  try {
    const { headers } = await client.send({ method: 'HEAD', key })
    return Number(headers['content-length']) === bytes
  } catch {
    // The caller throws its own error.
    return false
  }
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
