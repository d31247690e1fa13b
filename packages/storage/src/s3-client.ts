import { setTimeout as wait } from 'node:timers/promises'
import type { IncomingMessage } from 'node:http'
import type { CredentialSource } from './s3-credentials.ts'
import { openStoreConnections } from './s3-request.ts'
import {
  canonicalQuery,
  encodedKey,
  sha256,
  signedHeaders,
  type Credentials,
} from './s3-signature.ts'
import { textOf } from './s3-xml.ts'

/** Time-outs: to connect, until the reply begins, and between two bytes of it. */
const TIMES = { connectMs: 10_000, replyMs: 120_000, idleMs: 120_000 } as const

/**
 * Maximum attempts of a request whose failure may be temporary, and the first delay between them.
 */
const ATTEMPTS = 3
const PAUSE_MS = 100

/**
 * Maximum bytes of a reply that is read into memory: a page of 1,000 keys of 1,024 characters is
 * smaller.
 */
const REPLY_MAX_BYTES = 16 * 1_048_576

/** An error reply of the store; `code` is one of its error codes. */
export class S3Error extends Error {
  override readonly name = 'S3Error'
  readonly code: string
  readonly status: number
  /** Number of the attempt that got it, from 1: those before got no reply, or that of a busy store. */
  attempts = 1

  constructor(status: number, code: string, message: string) {
    super(`${code}: ${message} (status ${status})`)
    this.code = code
    this.status = status
  }
}

/** A request to one bucket. */
export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** Empty for the bucket itself. */
  readonly key: string
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
}

/** A client of one bucket. */
export interface S3Client extends Disposable {
  /**
   * Sends a request; the caller reads the reply's body.
   *
   * @throws S3Error if it is refused
   */
  open(request: S3Request): Promise<IncomingMessage>
  /** Sends a request and reads its reply. @throws S3Error if it is refused */
  send(request: S3Request): Promise<{
    readonly text: string
    readonly headers: IncomingMessage['headers']
  }>
}

/** Makes a client; no connection is opened yet. */
export function openS3Client(options: {
  readonly endpoint: URL
  readonly region: string
  readonly bucket: string
  readonly credentials: CredentialSource
}): S3Client {
  const connections = openStoreConnections(TIMES)
  const base = `${options.endpoint.pathname.replace(/\/$/, '')}/${encodedKey(options.bucket)}`
  /** Milliseconds that the store's clock is ahead of ours. */
  let skewMs = 0
  /** Credentials that the store has refused as expired. */
  let expired: Credentials | undefined

  async function attempt(request: S3Request): Promise<IncomingMessage> {
    const body = request.body ?? EMPTY
    const url = new URL(options.endpoint)
    url.pathname = request.key === '' ? base : `${base}/${encodedKey(request.key)}`
    url.search = canonicalQuery(request.query ?? {})
    const { method } = request
    const credentials = await options.credentials(expired)
    const unsigned = { method, url, headers: request.headers ?? {}, bodySha256: sha256(body) }
    const signed = signedHeaders(unsigned, credentials, {
      region: options.region,
      now: new Date(Date.now() + skewMs),
    })
    const headers =
      method === 'GET' || method === 'HEAD'
        ? signed
        : { ...signed, 'content-length': String(body.byteLength) }
    const reply = await connections.send({ method, url, headers, body })
    if (reply.statusCode !== undefined && reply.statusCode < 300) return reply
    const refusal = await refusalOf(reply)
    if (refusal.code === 'ExpiredToken') expired = credentials
    throw refusal
  }

  async function refusalOf(reply: IncomingMessage): Promise<S3Error> {
    const status = reply.statusCode ?? 0
    const error = errorIn(status, await readText(reply))
    if (error.code === 'RequestTimeTooSkewed') {
      const theirs = Date.parse(reply.headers.date ?? '')
      if (!Number.isNaN(theirs)) skewMs = theirs - Date.now()
    }
    return error
  }

  async function withRetries<T>(once: () => Promise<T>): Promise<T> {
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await once()
      } catch (error) {
        if (error instanceof S3Error) error.attempts = attempts
        if (attempts >= ATTEMPTS || !isTemporary(error)) throw error
        await wait(PAUSE_MS * 2 ** (attempts - 1) * (1 + Math.random()))
      }
    }
  }

  return {
    open: async (request) => await withRetries(() => attempt(request)),
    send: async (request) =>
      await withRetries(async () => {
        const reply = await attempt(request)
        const text = await readText(reply)
        // A multipart upload is completed by a reply that begins with 200 and may end in an error.
        if (/^(?:<\?xml[^>]*\?>)?\s*<Error>/.test(text)) throw errorIn(500, text)
        return { text, headers: reply.headers }
      }),
    [Symbol.dispose]: () => connections[Symbol.dispose](),
  }
}

const EMPTY = new Uint8Array()

function errorIn(status: number, xml: string): S3Error {
  const code = textOf(xml, 'Code') ?? 'UnknownError'
  return new S3Error(status, code, textOf(xml, 'Message') ?? 'the store gave no reason')
}

async function readText(reply: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of reply) {
    // Safe because a reply without an encoding is read as buffers.
    const chunk = part as Buffer
    bytes += chunk.length
    if (bytes > REPLY_MAX_BYTES)
      throw new Error(`the store's reply is over ${REPLY_MAX_BYTES} bytes`)
    parts.push(chunk)
  }
  return Buffer.concat(parts).toString('utf8')
}

const PASSING_CODES = new Set([
  'RequestTimeout',
  'RequestTimeTooSkewed',
  'ExpiredToken',
  'SlowDown',
  'Throttling',
  'ThrottlingException',
  'InternalError',
  'ServiceUnavailable',
  'OperationAborted',
])

/**
 * Whether an error is temporary, as after a broken connection, so that the request may be repeated.
 */
function isTemporary(error: unknown): boolean {
  if (!(error instanceof S3Error)) return error instanceof Error && 'code' in error
  return error.status >= 500 || error.status === 429 || PASSING_CODES.has(error.code)
}
