import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { LIST_PAGE, type Storage, type StoredFile } from './storage.ts'

/** What a store may take to be reached, to begin its answer, and between two bytes of it. */
const TIMES = {
  connectionTimeout: 10_000,
  requestTimeout: 120_000,
  throwOnRequestTimeout: true,
  socketTimeout: 120_000,
} as const

/**
 * Objects of an S3 bucket; credentials, region and endpoint as the AWS SDK finds them.
 * Checksums are sent only where required: S3-compatible stores refuse the default trailers.
 */
export function openS3Storage(url: URL, scratchDir: string): Storage {
  const client = new S3Client({
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    forcePathStyle: true,
    requestHandler: TIMES,
  })
  const Bucket = url.hostname
  const prefix = url.pathname.replace(/^\/|\/$/g, '')
  const at = (key: string): { Bucket: string; Key: string } => ({
    Bucket,
    Key: prefix === '' ? key : `${prefix}/${key}`,
  })
  const open = async (key: string): Promise<Readable> => {
    const { Body } = await client.send(new GetObjectCommand(at(key)))
    if (!(Body instanceof Readable)) throw new Error(`the store gave no body for ${key}`)
    return Body
  }
  async function* list(folder: string): AsyncGenerator<readonly StoredFile[], void, undefined> {
    const base = at('').Key
    let from: string | undefined
    do {
      const page = await client.send(
        new ListObjectsV2Command({
          Bucket,
          Prefix: at(`${folder}/`).Key,
          MaxKeys: LIST_PAGE,
          ContinuationToken: from,
        }),
      )
      yield (page.Contents ?? []).flatMap(({ Key, LastModified }) =>
        Key === undefined || LastModified === undefined
          ? []
          : [{ key: Key.slice(base.length), storedAt: LastModified }],
      )
      from = page.NextContinuationToken
    } while (from !== undefined)
  }
  return {
    put: async (key, path) => {
      const params = { ...at(key), Body: createReadStream(path) }
      await new Upload({ client, params }).done()
      await rm(path, { force: true })
    },
    open,
    local: async (key) => {
      await mkdir(scratchDir, { recursive: true })
      const path = join(scratchDir, `fetch-${randomUUID()}`)
      const release = async (): Promise<void> => await rm(path, { force: true })
      try {
        await pipeline(await open(key), createWriteStream(path, { mode: 0o600 }))
      } catch (error) {
        await release()
        throw error
      }
      return { path, release }
    },
    remove: async (keys) => {
      for (const key of keys) await client.send(new DeleteObjectCommand(at(key)))
    },
    list,
    [Symbol.asyncDispose]: async () => client.destroy(),
  }
}
