import { request as requestHttp } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { resolveAddresses } from './resolve-addresses.ts'
import { parseAddress } from './address.ts'
import { DialError } from './egress.ts'
import type { Egress } from './egress.ts'
import { readBody } from './http-body.ts'
import type { Resolver } from './resolver.ts'

/** A request and its limits. */
export interface FetchRequest {
  readonly url: string
  readonly method?: 'GET' | 'POST' | 'HEAD'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Limit of the body both as sent and as decoded. */
  readonly maxBytes: number
  /** Whether a longer body is a failure or cut; default `fail`. */
  readonly overflow?: 'fail' | 'cut'
  /** Whether a response with a broken or slow body counts, without the body; default false. */
  readonly headSuffices?: boolean
  /** Redirects that are followed; with `shown` the redirect itself is the response. */
  readonly maxRedirects: number | 'shown'
  /**
   * Whether http without TLS may connect anywhere, as by default, or only to addresses that the
   * operator allowed.
   */
  readonly plain?: 'anywhere' | 'allowed'
  /** Time-out of the whole request, redirects and body included. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly egress: Egress
  readonly resolver: Resolver
}

/** Why there is no response. */
export type HttpFailure =
  | 'bad_url'
  | 'forbidden'
  | 'dns'
  | 'timeout'
  | 'network'
  | 'tls'
  | 'bad_response'
  | 'too_large'
  | 'too_many_redirects'

/** Result of a request: any status is a response. Header names are lower case. */
export type HttpAnswer =
  | {
      readonly kind: 'response'
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: Uint8Array
      /** Whether the body was longer than `maxBytes`. */
      readonly cut: boolean
      /** The URL after redirects. */
      readonly url: string
      readonly redirects: number
    }
  | {
      readonly kind: 'failed'
      readonly reason: HttpFailure
      readonly detail: string
      readonly url: string
      /**
       * Whether the request may have reached the server, so that repeating it may repeat its
       * effect.
       */
      readonly sent: boolean
    }

/** Maximum number of addresses of one host that are tried in turn. */
const MAX_ADDRESSES = 3

const MAX_HEADER_BYTES = 16_384
const MAX_URL_LENGTH = 2_000

/** Headers that must not be sent to another origin. */
const PRIVATE_HEADERS = new Set(['authorization', 'cookie', 'proxy-authorization'])

/**
 * Fetches a URL over HTTP/1.1 within limits. On every hop the host is resolved here and the
 * connection pinned to an address that the egress guard permits; a redirect may not go from https
 * to http, nor to a port other than 80 and 443 unless it stays on its host or the operator allowed
 * the address.
 */
export async function fetchBounded(request: FetchRequest): Promise<HttpAnswer> {
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(request.timeoutMs)])
  const deadline = performance.now() + request.timeoutMs
  const { maxRedirects: most } = request
  let hop: Hop = {
    url: request.url,
    method: request.method ?? 'GET',
    headers: lowerCased(request.headers ?? {}),
    ...(request.body === undefined ? {} : { body: request.body }),
  }
  let origin: URL | null = null
  for (let redirects = 0; ; redirects++) {
    const url = parseUrl(hop.url)
    if (url === null) return failed('bad_url', 'not an http or https URL', hop.url)
    const answer = await oneHop(request, hop, url, origin, { signal, deadline })
    if ('kind' in answer) return answer
    const next = most === 'shown' ? null : nextHop(hop, url, answer)
    if (next === null) return { ...answer, kind: 'response', url: url.href, redirects }
    if (most === 'shown' || redirects >= most) {
      return failed('too_many_redirects', `more than ${most}`, url.href)
    }
    if (url.protocol === 'https:' && next.url.startsWith('http:')) {
      return failed('forbidden', 'a redirect from https to http', url.href)
    }
    origin ??= url
    hop = next
  }
}

interface Hop {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

interface Limits {
  readonly signal: AbortSignal
  readonly deadline: number
}

interface Received {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly cut: boolean
}

type Failed = Extract<HttpAnswer, { kind: 'failed' }>

async function oneHop(
  request: FetchRequest,
  hop: Hop,
  url: URL,
  origin: URL | null,
  limits: Limits,
): Promise<Received | Failed> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const found = await addressesOf(request, host, limits.signal)
  if (typeof found === 'string') return failed(found, 'the host has no address to use', url.href)
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  const mustBeAllowed = request.plain === 'allowed' && url.protocol === 'http:'
  const usual = port === 80 || port === 443 || origin === null || origin.host === url.host
  const addresses = found.filter(
    (address) => (usual && !mustBeAllowed) || request.egress.allowed(address),
  )
  const why = mustBeAllowed
    ? 'http to an address that is not allowed'
    : `a redirect to port ${port}`
  let failure = failed('forbidden', why, url.href)
  const tried = addresses.slice(0, MAX_ADDRESSES)
  for (const [index, address] of tried.entries()) {
    let sent = false
    // A dead address leaves time for the next.
    const leftMs = (limits.deadline - performance.now()) / (tried.length - index)
    try {
      const socket = await request.egress.dial({
        address,
        port,
        timeoutMs: Math.max(1, leftMs),
        signal: limits.signal,
        ...(url.protocol === 'https:' ? { tls: { servername: host } } : {}),
      })
      sent = true
      return await sendAndRead(request, hop, url, socket, limits.signal)
    } catch (error) {
      failure = failed(reasonOf(error, limits.signal), messageOf(error), url.href, sent)
    }
    if (sent) break
  }
  return failure
}

async function addressesOf(
  request: FetchRequest,
  host: string,
  signal: AbortSignal,
): Promise<readonly string[] | 'dns' | 'timeout'> {
  if (parseAddress(host) !== null) return [host]
  const answer = await resolveAddresses(request.resolver, host, { signal })
  if (answer.kind === 'addresses') return answer.addresses
  return signal.aborted ? 'timeout' : 'dns'
}

async function sendAndRead(
  request: FetchRequest,
  hop: Hop,
  url: URL,
  socket: Socket,
  signal: AbortSignal,
): Promise<Received | Failed> {
  try {
    const client = requestHttp({
      method: hop.method,
      path: `${url.pathname}${url.search}`,
      headers: {
        host: url.host,
        'accept-encoding': 'gzip, deflate, br',
        connection: 'close',
        ...hop.headers,
        ...(hop.body === undefined ? {} : { 'content-length': Buffer.byteLength(hop.body) }),
      },
      setHost: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      // Node calls this function only without an agent; an agent would open connections itself.
      createConnection: () => socket,
      signal,
    })
    client.end(hop.body)
    const message = await responseTo(client)
    if (message === null) {
      return failed('bad_response', 'the server switched protocols', url.href, true)
    }
    const { statusCode: status = 0 } = message
    const headers = flatHeaders(message.headers)
    const body = await readBody(message, request.maxBytes, signal)
    if (body.kind === 'failed') {
      if (request.headSuffices === true) {
        return { status, headers, body: new Uint8Array(), cut: true }
      }
      return failed(signal.aborted ? 'timeout' : 'bad_response', body.detail, url.href, true)
    }
    if (body.cut && request.overflow !== 'cut') {
      return failed('too_large', `a body over ${request.maxBytes} bytes`, url.href, true)
    }
    return { status, headers, body: body.bytes, cut: body.cut }
  } finally {
    socket.destroy()
  }
}

/** The response; null if the server switches protocols instead. */
function responseTo(client: ClientRequest): Promise<IncomingMessage | null> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage | null>()
  client.on('response', resolve)
  client.on('error', reject)
  // A response of 101 would otherwise leave the request without an end.
  client.on('upgrade', () => resolve(null))
  return promise
}

function nextHop(hop: Hop, url: URL, answer: Received): Hop | null {
  const { location } = answer.headers
  if (location === undefined || ![301, 302, 303, 307, 308].includes(answer.status)) return null
  const target = URL.canParse(location, url.href) ? new URL(location, url) : null
  const headers = Object.fromEntries(
    Object.entries(hop.headers).filter(
      ([name]) => target?.origin === url.origin || !PRIVATE_HEADERS.has(name),
    ),
  )
  const href = target?.href ?? location
  if (answer.status === 307 || answer.status === 308) return { ...hop, url: href, headers }
  return { url: href, method: hop.method === 'HEAD' ? 'HEAD' : 'GET', headers }
}

function parseUrl(text: string): URL | null {
  if (text.length > MAX_URL_LENGTH || !URL.canParse(text)) return null
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null
  return url.username === '' && url.password === '' && url.hostname !== '' ? url : null
}

function reasonOf(error: unknown, signal: AbortSignal): HttpFailure {
  if (signal.aborted) return 'timeout'
  if (!(error instanceof DialError)) return isParseError(error) ? 'bad_response' : 'network'
  return error.reason === 'aborted' ? 'timeout' : error.reason
}

function isParseError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('HPE_')
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function failed(reason: HttpFailure, detail: string, url: string, sent = false): Failed {
  return { kind: 'failed', reason, detail, url, sent }
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
}

function flatHeaders(headers: IncomingMessage['headers']): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return flat
}
