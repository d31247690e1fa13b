import type { PhoneFacts } from '@plumbline/contract/outcome'
import type { FetchRequest, HttpAnswer } from '@plumbline/net/http'
import { shortText } from '@plumbline/net/short-text'
import type { HlrProviderName } from '@plumbline/ports/provider-status'

/**
 * Numbers in one request, at most. Source: the providers' API pages as read in November 2026; Twilio
 * documents none, so ours is low.
 */
export const MAX_NUMBERS: Readonly<Record<HlrProviderName, number>> = {
  'hlr-lookups': 1,
  infobip: 1_000,
  twilio: 50,
  vonage: 1,
  'vonage-identity': 1,
  messente: 10,
}

/** HTTP access of an adapter: limited, and through the worker's egress guard and resolver. */
export type HlrFetch = (request: Omit<FetchRequest, 'egress' | 'resolver'>) => Promise<HttpAnswer>

/** URL and credentials of a provider. */
export interface HlrAccount {
  /** Base URL, with a path if it differs from the usual one; null: the provider's default. */
  readonly url: string | null
  readonly key: string
  /** Null if the provider only takes a key. */
  readonly secret: string | null
}

/** One request to an adapter. */
export interface HlrQuery {
  /** E.164 with its plus; at most `MAX_NUMBERS`. */
  readonly numbers: readonly string[]
  readonly account: HlrAccount
  readonly fetch: HlrFetch
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Unix time, for signatures. */
  readonly nowMs: number
}

/**
 * The interface of all providers; results have the order of the numbers. Throws only because of a
 * bug.
 */
export type HlrAdapter = (query: HlrQuery) => Promise<readonly HlrAnswer[]>

/** Result of a provider, or why there is none. */
export type HlrAnswer = HlrResult | HlrFailure

/** What the network says of a number; null for facts that the provider did not report. */
export interface HlrResult {
  readonly kind: 'verdict'
  readonly connectivity: 'connected' | 'absent' | 'unknown_subscriber' | 'undetermined'
  readonly lineType: PhoneFacts['lineType'] | null
  readonly carrier: string | null
  /** ISO alpha-2 code or English name, as the provider writes it. */
  readonly carrierCountry: string | null
  readonly ported: boolean | null
  readonly roaming: boolean | null
  /** The provider's own words for the result, at most 200 characters. */
  readonly status: string
  /** The provider's id of the query; null if it gives none. */
  readonly id: string | null
}

/** Why there is no result. */
export interface HlrFailure {
  readonly kind: 'failed'
  /** `credentials` and `credit` pause the provider for all numbers. */
  readonly cause: 'throttled' | 'credentials' | 'credit' | 'server' | 'timeout' | 'protocol'
  /** Whether the query may have been charged: then it must not be sent again automatically. */
  readonly maybeBought: boolean
  readonly detail: string
  readonly retryMs: number | null
}

/** A result with defaults for what most providers leave out. */
export function verdict(
  connectivity: HlrResult['connectivity'],
  status: string,
  told: Partial<Omit<HlrResult, 'kind' | 'connectivity' | 'status'>> = {},
): HlrResult {
  return {
    kind: 'verdict',
    connectivity,
    lineType: null,
    carrier: null,
    carrierCountry: null,
    ported: null,
    roaming: null,
    id: null,
    ...told,
    status: shortText(status),
  }
}

/** A failure. */
export function failure(
  cause: HlrFailure['cause'],
  maybeBought: boolean,
  detail: string,
  retryMs: number | null = null,
): HlrFailure {
  return { kind: 'failed', cause, maybeBought, detail: shortText(detail), retryMs }
}

/** Whether a reply is about the requested number; one that names none is accepted. */
export function isForNumber(number: string, named: string | null): boolean {
  return named === null || named.replace(/\D/g, '') === number.slice(1)
}
