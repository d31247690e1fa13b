import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { signatureFault, signedAt, type S3Credentials } from './signature.ts'

/** An object store in memory with the part of the S3 API that the service uses, and its refusals. */
export interface S3Server extends S3Faults, AsyncDisposable {
  readonly url: string
  /** Objects of the bucket by key. */
  readonly objects: Map<string, Buffer>
  /** Multipart uploads that were neither completed nor aborted, by id. */
  readonly openUploads: ReadonlyMap<string, { readonly key: string }>
  /** Creates an unfinished multipart upload with this time of initiation. */
  leaveUpload(key: string, begun: Date): void
}

/** Faults of the store, which a test sets. */
interface S3Faults {
  /** Most multipart uploads in one response to `ListMultipartUploads`. */
  uploadsListed: number
  /** How many of the next requests get 503 `SlowDown`. */
  busy: number
  /** How many of the next response bodies are cut off in the middle. */
  cuts: number
  /** Awaited before a multipart upload begins. */
  beforeUpload: () => Promise<void>
  /** How many of the next parts get 500 `InternalError`. */
  brokenParts: number
  /** How many of the next multipart uploads are completed without a reply. */
  lostCompletions: number
  /** By how much the server's clock is ahead, in ms; it refuses requests signed over 15 minutes from its time. */
  aheadMs: number
}

/** Largest permitted difference to the time of a signature. Source: AWS, "RequestTimeTooSkewed". */
const SIGNED_WITHIN_MS = 15 * 60_000

interface Reply {
  readonly status: number
  readonly body?: Buffer | string
  readonly headers?: Readonly<Record<string, string>>
}

interface Store {
  readonly objects: Map<string, Buffer>
  readonly uploads: Map<string, OpenUpload>
}

interface OpenUpload {
  readonly key: string
  readonly begun: Date
  readonly parts: Map<number, { body: Buffer; etag: string }>
}

/** Starts a store on loopback. Every request must be signed with the credentials. */
export async function startS3(
  options: S3Credentials & { readonly bucket: string },
): Promise<S3Server> {
  const store: Store = { objects: new Map(), uploads: new Map() }
  const faults: S3Faults = {
    busy: 0,
    cuts: 0,
    brokenParts: 0,
    lostCompletions: 0,
    aheadMs: 0,
    uploadsListed: 1_000,
    beforeUpload: async () => {},
  }
  const server = createServer((req, res) => {
    void answer(req, store, options, faults).then(
      (reply) => send(res, reply, req.method === 'GET' && isCut(faults)),
      () => res.destroy(),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port was given')
  return Object.assign(faults, {
    url: `http://127.0.0.1:${address.port}`,
    objects: store.objects,
    openUploads: store.uploads,
    leaveUpload: (key: string, begun: Date) => {
      store.uploads.set(randomUUID(), { key, begun, parts: new Map() })
    },
    [Symbol.asyncDispose]: async () => {
      server.close()
      server.closeAllConnections()
    },
  })
}

function isCut(faults: S3Faults): boolean {
  if (faults.cuts === 0) return false
  faults.cuts -= 1
  return true
}

function send(res: ServerResponse, { status, body = '', headers = {} }: Reply, cut: boolean): void {
  const bytes = Buffer.from(body)
  res.writeHead(status, { ...headers, 'Content-Length': bytes.length })
  if (!cut) {
    res.end(bytes)
    return
  }
  res.write(bytes.subarray(0, bytes.length >> 1), () => res.destroy())
}

async function answer(
  req: IncomingMessage,
  store: Store,
  options: S3Credentials & { readonly bucket: string },
  faults: S3Faults,
): Promise<Reply> {
  const body = await buffer(req)
  const fault = signatureFault(req, body, options)
  if (fault !== undefined) return refusal(403, fault)
  const now = Date.now() + faults.aheadMs
  if (Math.abs(now - signedAt(req)) > SIGNED_WITHIN_MS) {
    return {
      ...refusal(403, 'RequestTimeTooSkewed'),
      headers: { Date: new Date(now).toUTCString() },
    }
  }
  if (faults.busy > 0) {
    faults.busy -= 1
    return refusal(503, 'SlowDown')
  }
  const url = new URL(req.url ?? '', 'http://s3')
  const [, bucket, ...rest] = url.pathname.split('/').map(decodeURIComponent)
  if (bucket !== options.bucket) return refusal(404, 'NoSuchBucket')
  const key = rest.join('/')
  if (key === '' && url.searchParams.has('uploads')) {
    return listUploads(store, url.searchParams, faults.uploadsListed)
  }
  if (key === '') return list(store, url.searchParams)
  const uploadId = url.searchParams.get('uploadId')
  if (url.searchParams.has('uploads') && req.method === 'POST') {
    await faults.beforeUpload()
    return begin(store, key)
  }
  if (uploadId !== null && req.method === 'PUT' && faults.brokenParts > 0) {
    faults.brokenParts -= 1
    return refusal(500, 'InternalError')
  }
  if (uploadId !== null) {
    const reply = part(req.method, store, { key, uploadId, url, body })
    if (req.method !== 'POST' || faults.lostCompletions === 0) return reply
    faults.lostCompletions -= 1
    throw new Error('the reply is lost')
  }
  return object(req.method, store, key, body)
}

function object(method: string | undefined, { objects }: Store, key: string, body: Buffer): Reply {
  const found = objects.get(key)
  switch (method) {
    case 'PUT':
      objects.set(key, body)
      return { status: 200, headers: { ETag: etagOf(body) } }
    case 'GET':
    case 'HEAD':
      return found === undefined ? refusal(404, 'NoSuchKey') : { status: 200, body: found }
    case 'DELETE':
      objects.delete(key)
      return { status: 204 }
    default:
      return refusal(405, 'MethodNotAllowed')
  }
}

function begin({ uploads }: Store, key: string): Reply {
  const id = randomUUID()
  uploads.set(id, { key, begun: new Date(), parts: new Map() })
  const text = `<Key>${escaped(key)}</Key><UploadId>${id}</UploadId>`
  return xml('InitiateMultipartUploadResult', text)
}

/**
 * Minimum size of every part but the last. Source: AWS, "Amazon S3 multipart upload limits".
 */
const PART_MIN_BYTES = 5 * 1_048_576

function part(
  method: string | undefined,
  { objects, uploads }: Store,
  { key, uploadId, url, body }: { key: string; uploadId: string; url: URL; body: Buffer },
): Reply {
  const parts = uploads.get(uploadId)?.parts
  if (parts === undefined) return refusal(404, 'NoSuchUpload')
  switch (method) {
    case 'PUT': {
      const etag = etagOf(body)
      parts.set(Number(url.searchParams.get('partNumber')), { body, etag })
      return { status: 200, headers: { ETag: etag } }
    }
    case 'DELETE':
      uploads.delete(uploadId)
      return { status: 204 }
    case 'POST': {
      const named = [...body.toString().matchAll(/<Part>.*?<\/Part>/gs)].map(([text]) => ({
        no: Number(/<PartNumber>(\d+)</.exec(text)?.[1]),
        etag: (/<ETag>(.*?)</.exec(text)?.[1] ?? '').replaceAll('&quot;', '"'),
      }))
      const bodies = named.map(({ no, etag }) => {
        const found = parts.get(no)
        return found?.etag === etag ? found.body : undefined
      })
      const whole = bodies.filter((found) => found !== undefined)
      if (whole.length === 0 || whole.length < bodies.length) return refusal(400, 'InvalidPart')
      if (whole.slice(0, -1).some(({ length }) => length < PART_MIN_BYTES)) {
        return refusal(400, 'EntityTooSmall')
      }
      objects.set(key, Buffer.concat(whole))
      uploads.delete(uploadId)
      return xml('CompleteMultipartUploadResult', `<Key>${escaped(key)}</Key>`)
    }
    default:
      return refusal(405, 'MethodNotAllowed')
  }
}

/** The token of a page is its last key: paging stays correct while objects are added or deleted. */
function list({ objects }: Store, query: URLSearchParams): Reply {
  const prefix = query.get('prefix') ?? ''
  const after = query.get('continuation-token') ?? query.get('start-after') ?? ''
  const most = Math.min(1_000, Number(query.get('max-keys') ?? 1_000))
  const keys = [...objects.keys()]
    .filter((key) => key.startsWith(prefix) && key > after)
    .toSorted((one, other) => (one < other ? -1 : 1))
  const page = keys.slice(0, most)
  const cut = keys.length > page.length
  // Empty with the last page, which a client must not take for one that more pages follow.
  const next = cut ? escaped(page.at(-1) ?? '') : ''
  const token = `<NextContinuationToken>${next}</NextContinuationToken>`
  const contents = page.map(
    (key) =>
      `<Contents><Key>${escaped(key)}</Key><LastModified>${new Date().toISOString()}</LastModified></Contents>`,
  )
  return xml('ListBucketResult', `<IsTruncated>${cut}</IsTruncated>${token}${contents.join('')}`)
}

/** Lists multipart uploads by key, then by id; a page continues after the last upload of the previous page. */
function listUploads({ uploads }: Store, query: URLSearchParams, most: number): Reply {
  const prefix = query.get('prefix') ?? ''
  const from = [query.get('key-marker') ?? '', query.get('upload-id-marker') ?? ''].join('\0')
  const places = [...uploads]
    .map(([id, { key, begun }]) => ({ id, key, begun, place: `${key}\0${id}` }))
    .filter(({ key, place }) => key.startsWith(prefix) && place > from)
    .toSorted((one, other) => (one.place < other.place ? -1 : 1))
  const page = places.slice(0, most)
  const last = page.at(-1)
  const cut = places.length > page.length && last !== undefined
  const markers = cut
    ? `<NextKeyMarker>${escaped(last.key)}</NextKeyMarker><NextUploadIdMarker>${last.id}</NextUploadIdMarker>`
    : ''
  const texts = page.map(
    ({ id, key, begun }) =>
      `<Upload><Key>${escaped(key)}</Key><UploadId>${id}</UploadId><Initiated>${begun.toISOString()}</Initiated></Upload>`,
  )
  return xml(
    'ListMultipartUploadsResult',
    `<IsTruncated>${cut}</IsTruncated>${markers}${texts.join('')}`,
  )
}

function etagOf(body: Buffer): string {
  return `"${createHash('md5').update(body).digest('hex')}"`
}

function refusal(status: number, code: string): Reply {
  return { ...xml('Error', `<Code>${code}</Code><Message>${code}</Message>`), status }
}

function xml(name: string, content: string): Reply {
  const body = `<?xml version="1.0" encoding="UTF-8"?><${name}>${content}</${name}>`
  return { status: 200, body, headers: { 'Content-Type': 'application/xml' } }
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
