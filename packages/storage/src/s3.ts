import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { processEnvironment, type Environment } from '@plumbline/runtime/settings'
import { openS3Client, S3Error, type S3Client } from './s3-client.ts'
import { credentialSource, suffixOf } from './s3-credentials.ts'
import { readProfile } from './s3-profile.ts'
import { abortUploads } from './s3-abandoned.ts'
import { createUpload, uploadFile } from './s3-upload.ts'
import { elements, textOf } from './s3-xml.ts'
import {
  LIST_PAGE,
  type NameRange,
  type ByteRange,
  type Storage,
  type StoredFile,
} from './storage.ts'
import { MARKER } from './marker.ts'
import { writeNewFile } from './new-file.ts'

/**
 * Opens an S3 bucket; credentials, region and endpoint as the AWS tools find them.
 *
 * @param url `s3://bucket/prefix`, percent-encoded
 * @throws if a store of an earlier version is at the prefix as it is encoded
 */
export async function openS3Storage(
  url: URL,
  scratchDir: string,
  environment: Environment = processEnvironment(),
): Promise<Storage> {
  const client = await openBucket(url.hostname, environment)
  const prefix = await prefixOf(url, client)
  const at = (key: string): string => (prefix === '' ? key : `${prefix}/${key}`)
  const open = async (key: string, range?: ByteRange): Promise<Readable> =>
    await client.open({
      method: 'GET',
      key: at(key),
      ...(range === undefined ? {} : { headers: { range: `bytes=${range.start}-${range.end}` } }),
    })
  async function* list(
    folder: string,
    names: NameRange = { prefix: '', after: '' },
  ): AsyncGenerator<readonly StoredFile[], void, undefined> {
    const base = at('')
    let from: string | undefined
    do {
      const { text } = await client.send({
        method: 'GET',
        key: '',
        query: {
          'list-type': '2',
          prefix: at(`${folder}/${names.prefix}`),
          'start-after': names.after === '' ? undefined : at(`${folder}/${names.after}`),
          'max-keys': String(LIST_PAGE),
          'continuation-token': from,
        },
      })
      yield elements(text, 'Contents').flatMap((entry) => {
        const key = textOf(entry, 'Key')
        const modified = textOf(entry, 'LastModified')
        return key === undefined || modified === undefined
          ? []
          : [{ key: key.slice(base.length), storedAt: new Date(modified) }]
      })
      from = textOf(text, 'NextContinuationToken')
      // Without one, or with an empty one, this was the last page.
    } while (from !== undefined && from !== '')
  }
  return {
    put: async (key, path) => {
      await uploadFile(client, at(key), path)
      await rm(path, { force: true })
    },
    create: async (key) => createUpload(client, at(key)),
    open,
    local: async (key) => {
      await mkdir(scratchDir, { recursive: true })
      const path = join(scratchDir, `fetch-${randomUUID()}`)
      const release = async (): Promise<void> => await rm(path, { force: true })
      await writeNewFile(path, async (file) => await pipeline(await open(key), file))
      return { path, release }
    },
    remove: async (keys) => {
      for (const key of keys) await client.send({ method: 'DELETE', key: at(key) })
    },
    list,
    dropParts: async (folder, { isOurs, ...wanted }) =>
      await abortUploads(client, {
        ...wanted,
        prefix: at(`${folder}/`),
        isOurs: (key) => isOurs(key.slice(at('').length)),
      }),
    [Symbol.asyncDispose]: async () => client[Symbol.dispose](),
  }
}

async function prefixOf(url: URL, client: S3Client): Promise<string> {
  const encoded = url.pathname.replace(/^\/|\/$/g, '')
  const prefix = decodeURIComponent(encoded)
  if (prefix === encoded || !(await isMarked(client, encoded))) return prefix
  // Files of a store that is left behind would be missed, and never be erased.
  throw new Error(
    'the prefix of FILES_URL was used percent-encoded by earlier versions, and a store is there; ' +
      'write each % of the encoded prefix as %25, or move its objects to the prefix as it is meant',
  )
}

async function isMarked(client: S3Client, prefix: string): Promise<boolean> {
  try {
    await client.send({ method: 'HEAD', key: `${prefix}/${MARKER}` })
    return true
  } catch (error) {
    // A place that these credentials may not read is not the store that they were given for.
    if (error instanceof S3Error && (error.status === 404 || error.status === 403)) return false
    throw error
  }
}

async function openBucket(bucket: string, environment: Environment): Promise<S3Client> {
  const region = await regionOf(environment)
  const told = environment['AWS_ENDPOINT_URL_S3'] || environment['AWS_ENDPOINT_URL']
  return openS3Client({
    endpoint: new URL(told || `https://s3.${region}.${suffixOf(region)}`),
    region,
    bucket,
    credentials: credentialSource(environment, region),
  })
}

async function regionOf(environment: Environment): Promise<string> {
  const told = environment['AWS_REGION'] || environment['AWS_DEFAULT_REGION']
  const region = told || (await readProfile(environment)).get('region')
  if (region === undefined) throw new Error('FILES_URL is on S3; set AWS_REGION')
  return region
}
