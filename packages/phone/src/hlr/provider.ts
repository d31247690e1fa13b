import type { PhoneFacts } from '@plumbline/contract/outcome'
import type { FetchRequest, HttpAnswer } from '@plumbline/net/http'
import type { HlrProviderName } from '@plumbline/ports/provider-status'

/** What a provider can tell; what it cannot stays unknown. */
export interface HlrCapabilities {
  readonly reachable: boolean
  readonly ported: boolean
  readonly roaming: boolean
  readonly lineType: boolean
  readonly carrier: boolean
  /** Numbers in one request. */
  readonly maxBatch: number
}

/** Source: the providers' API pages as read in November 2026. */
export const HLR_CAPABILITIES: Readonly<Record<HlrProviderName, HlrCapabilities>> = {
  'hlr-lookups': {
    reachable: true,
    ported: true,
    roaming: true,
    lineType: false,
    carrier: true,
    maxBatch: 1,
  },
  infobip: {
    reachable: true,
    ported: true,
    roaming: true,
    lineType: false,
    carrier: true,
    maxBatch: 1_000,
  },
  twilio: {
    reachable: true,
    ported: false,
    roaming: false,
    lineType: true,
    carrier: true,
    maxBatch: 50,
  },
  vonage: {
    reachable: true,
    ported: true,
    roaming: true,
    lineType: true,
    carrier: true,
    maxBatch: 1,
  },
  'vonage-identity': {
    reachable: true,
    ported: true,
    roaming: true,
    lineType: true,
    carrier: true,
    maxBatch: 1,
  },
  messente: {
    reachable: true,
    ported: true,
    roaming: true,
    lineType: false,
    carrier: true,
    maxBatch: 10,
  },
}

/** How an adapter reaches its provider: bounded, guarded, bound to the worker's egress and resolver. */
export type HlrFetch = (request: Omit<FetchRequest, 'egress' | 'resolver'>) => Promise<HttpAnswer>

/** Where a provider is and how to sign in. */
export interface HlrAccount {
  /** Origin of the service, with a path where it differs from the usual one; null: the provider's own. */
  readonly url: string | null
  readonly key: string
  /** Null where the provider takes a key alone. */
  readonly secret: string | null
}

/** What an adapter is given for one request. */
export interface HlrQuery {
  /** E.164 with its plus; at most `maxBatch`. */
  readonly numbers: readonly string[]
  readonly account: HlrAccount
  readonly fetch: HlrFetch
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Unix time, for signatures. */
  readonly nowMs: number
}

/** One form for all providers: the answers stand in the order of the numbers. Never throws but for a bug. */
export type HlrAdapter = (query: HlrQuery) => Promise<readonly HlrAnswer[]>

/** What a provider said, or why it said nothing. */
export type HlrAnswer = HlrVerdict | HlrFailure

/** What the network says of a number. Null: the provider did not tell. */
export interface HlrVerdict {
  readonly kind: 'verdict'
  readonly connectivity: 'connected' | 'absent' | 'unknown_subscriber' | 'undetermined'
  readonly lineType: PhoneFacts['lineType'] | null
  readonly carrier: string | null
  /** ISO alpha-2 code or English name, as the provider has it. */
  readonly carrierCountry: string | null
  readonly ported: boolean | null
  readonly roaming: boolean | null
  /** The provider's own words for what it found. */
  readonly status: string
  /** The provider's name for the query; null if it gives none. */
  readonly id: string | null
}

/** No verdict. */
export interface HlrFailure {
  readonly kind: 'failed'
  /** `credentials` and `credit` stop the provider for all numbers. */
  readonly cause: 'throttled' | 'credentials' | 'credit' | 'server' | 'timeout' | 'protocol'
  /** Whether the query may have been charged: then it must not be sent again by itself. */
  readonly maybeBought: boolean
  readonly detail: string
  readonly retryMs: number | null
}

/** A verdict with what most providers leave out. */
export function verdict(
  connectivity: HlrVerdict['connectivity'],
  status: string,
  told: Partial<Omit<HlrVerdict, 'kind' | 'connectivity' | 'status'>> = {},
): HlrVerdict {
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
    status,
  }
}

/** A failure. */
export function failure(
  cause: HlrFailure['cause'],
  maybeBought: boolean,
  detail: string,
  retryMs: number | null = null,
): HlrFailure {
  return { kind: 'failed', cause, maybeBought, detail: detail.slice(0, 200), retryMs }
}

/** Whether a reply speaks of the number that was asked; one that names none is taken at its word. */
export function speaksOf(number: string, named: string | null): boolean {
  return named === null || named.replace(/\D/g, '') === number.slice(1)
}
