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

/** The world, and the state of the provider's account. */
export interface HlrContext {
  readonly world: World
  readonly counters: Counters
  /** Whether the account has no credit left. */
  readonly outOfCredit: boolean
  /** Public key for the tokens of Vonage's Identity Insights; if absent, any token is accepted. */
  readonly tokenKey: KeyObject | undefined
  /** Records a paid query. */
  readonly bought: (number: string, costMilli: number) => void
  /** Whether this is the first query of a number, which gets a temporary refusal. */
  readonly throttlesFirst: (number: string) => boolean
}

/** A provider's reply to a request; undefined if the path is not of this provider's API. */
export type HlrProvider = (context: HlrContext, request: HlrRequest) => HlrReply | undefined

/** Whether the request has the world's key and secret as HTTP Basic credentials. */
export function basic(request: HlrRequest): boolean {
  const expected = Buffer.from(`${HLR_KEY}:${HLR_SECRET}`).toString('base64')
  return request.headers.authorization === `Basic ${expected}`
}

/** The JSON object in a body; undefined if there is none. */
export function jsonObject(body: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(body)
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return undefined
    return { ...parsed }
  } catch {
    return undefined
  }
}

/** The strings in an array; empty for any other value. */
export function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : []
}
