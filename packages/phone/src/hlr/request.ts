import { retryAfterMs } from '@plumbline/net/retry-after'
import { failure, type HlrAccount, type HlrFailure, type HlrQuery } from './provider.ts'

/** A reply parsed as JSON. */
export interface JsonReply {
  readonly kind: 'json'
  readonly status: number
  readonly body: unknown
}

/** One request of an adapter. */
export interface JsonRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent unchanged, since some providers sign the bytes. */
  readonly body?: string
  /** Statuses that this provider sends when it throttles; they are never charged. */
  readonly throttles?: readonly number[]
}

/** Bytes of a reply at most: 1,000 numbers at 4 KB each. */
const REPLY_MAX_BYTES = 4 * 1024 * 1024

/** Throttling by RFC 6585 and RFC 9110: the server says that it did nothing. */
const THROTTLES = [429, 503]

/** Longest delay that a provider can ask for, in milliseconds. */
const RETRY_MAX_MS = 3_600_000

/**
 * Sends one request and parses its reply as JSON. A request that was never sent, or was refused
 * with 4xx or by throttling, was not charged. Any other failure after sending may have been.
 */
export async function requestJson(
  query: HlrQuery,
  request: JsonRequest,
): Promise<JsonReply | HlrFailure> {
  const answer = await query.fetch({
    url: request.url,
    method: request.method,
    headers: { accept: 'application/json', ...request.headers },
    ...(request.body === undefined ? {} : { body: request.body }),
    maxBytes: REPLY_MAX_BYTES,
    // A refusal is one whatever becomes of its text; without a body a 200 is no result.
    headSuffices: true,
    maxRedirects: 0,
    timeoutMs: query.timeoutMs,
    signal: query.signal,
  })
  if (answer.kind === 'failed') {
    const cause = answer.reason === 'timeout' ? 'timeout' : 'server'
    return failure(cause, answer.sent, `${answer.reason}: ${answer.detail}`)
  }
  const { status, headers } = answer
  const throttles = [...THROTTLES, ...(request.throttles ?? [])]
  if (throttles.includes(status)) {
    const askedMs = retryAfterMs(headers['retry-after'], query.nowMs)
    const retryMs = askedMs === null ? null : Math.min(RETRY_MAX_MS, askedMs)
    return failure('throttled', false, `status ${status}`, retryMs)
  }
  if (status === 401 || status === 403) return failure('credentials', false, `status ${status}`)
  if (status === 402) return failure('credit', false, 'status 402')
  if (status >= 500) return failure('server', true, `status ${status}`)
  if (status < 200 || (status >= 300 && status < 400)) {
    return failure('protocol', false, `status ${status}, expected 200`)
  }
  const body = parseJson(answer.body)
  if (body === undefined) {
    return failure('protocol', status < 300, `status ${status} without a JSON body`)
  }
  return { kind: 'json', status, body }
}

/** The URL of a path: on the operator's base URL if set, else on the provider's default. */
export function urlOf(configured: string | null, usual: string, path: string): string {
  const base = new URL(configured ?? usual)
  const prefix = base.pathname === '/' ? new URL(usual).pathname : base.pathname
  return `${base.origin}${prefix.replace(/\/$/, '')}${path}`
}

/** Header of HTTP Basic authentication. Source: RFC 7617. */
export function basicAuth({ key, secret }: HlrAccount): string {
  return `Basic ${Buffer.from(`${key}:${secret ?? ''}`).toString('base64')}`
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return value ?? undefined
  } catch {
    return undefined
  }
}
