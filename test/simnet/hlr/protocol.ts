import type { KeyObject } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Counters } from '../counters.ts'
import type { World } from '../world.ts'

/** Keys that every provider of the world accepts. */
export const HLR_KEY = 'sim-key'
export const HLR_SECRET = 'sim-secret'

/** A complete request to a provider. */
export interface HlrRequest {
  readonly method: string
  /** Path without the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** The reply of a provider, its body to be sent as JSON. */
export interface HlrReply {
  readonly status: number
  readonly body: unknown
  readonly headers?: Record<string, string>
}

/** What a provider needs for its reply. */
export interface HlrContext {
  readonly world: World
  readonly counters: Counters
  /** Whether the account has no credit left. */
  readonly outOfCredit: boolean
  /** Public key for the tokens of Vonage's Identity Insights; if absent, any token is accepted. */
  readonly tokenKey: KeyObject | undefined
  /** Records a paid query. */
  readonly bought: (number: string, costMilli: number) => void
  /** True once for each number whose first query gets a temporary refusal. */
  readonly putOff: (number: string) => boolean
}

/** The reply to a request of its own protocol; undefined for any other path. */
export type HlrProvider = (context: HlrContext, request: HlrRequest) => HlrReply | undefined

/** Whether the request carries the world's key and secret as Basic credentials. */
export function basic(request: HlrRequest): boolean {
  const expected = Buffer.from(`${HLR_KEY}:${HLR_SECRET}`).toString('base64')
  return request.headers.authorization === `Basic ${expected}`
}

/** The body as an object; undefined if it is none. */
export function jsonObject(body: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(body)
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return undefined
    return { ...parsed }
  } catch {
    return undefined
  }
}

/** The strings of a value that should be a list of them. */
export function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : []
}
