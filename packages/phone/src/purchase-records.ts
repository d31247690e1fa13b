import type { Json } from '@plumbline/contract/outcome'
import { fieldsOf, flagOf, textOf } from './hlr/json.ts'
import type { HlrResult } from './hlr/provider.ts'

/** A result as it is stored. */
export interface BoughtResult {
  readonly provider: string
  readonly verdict: HlrResult
  /** When it was bought, Unix time in milliseconds. */
  readonly atMs: number
  /** The account that it was bought for; absent if unknown. */
  readonly by?: string
}

/** A purchase in flight: stored before the query is sent, deleted once its result is stored. */
export interface Intent {
  readonly provider: string
  readonly atMs: number
  /** Until then the worker that buys it may still be waiting; after that the result is lost. */
  readonly untilMs: number
}

/** Keys of the shared memory. */
export const KEYS = {
  verdict: (number: string) => `hlr:verdict:${number}`,
  intent: (number: string) => `hlr:intent:${number}`,
} as const

/** A stored result as JSON. */
export function boughtResultJson({ verdict, ...bought }: BoughtResult): Json {
  return { ...bought, verdict: { ...verdict } }
}

/** Parses what `boughtResultJson` wrote; null for anything else. */
export function readBoughtResult(value: Json | undefined): BoughtResult | null {
  const fields = fieldsOf(value)
  const verdict = fieldsOf(fields['verdict'])
  const connectivity = verdict['connectivity']
  const { provider, atMs, by } = fields
  if (typeof provider !== 'string' || typeof atMs !== 'number') return null
  if (!isConnectivity(connectivity)) return null
  return {
    provider,
    atMs,
    ...(typeof by === 'string' ? { by } : {}),
    verdict: {
      kind: 'verdict',
      connectivity,
      lineType: lineTypeOf(verdict['lineType']),
      carrier: textOf(verdict['carrier']),
      carrierCountry: textOf(verdict['carrierCountry']),
      ported: flagOf(verdict['ported']),
      roaming: flagOf(verdict['roaming']),
      status: textOf(verdict['status']) ?? '',
      id: textOf(verdict['id']),
    },
  }
}

/** An intent as JSON. */
export function intentJson(intent: Intent): Json {
  return { ...intent }
}

/** Parses what `intentJson` wrote; an invalid one counts as expired. */
export function readIntent(value: Json): Intent {
  const { provider, atMs, untilMs } = fieldsOf(value)
  return {
    provider: textOf(provider) ?? 'unknown',
    atMs: typeof atMs === 'number' ? atMs : 0,
    untilMs: typeof untilMs === 'number' ? untilMs : 0,
  }
}

function lineTypeOf(value: unknown): HlrResult['lineType'] {
  return value === 'mobile' || value === 'landline' || value === 'voip' || value === 'unknown'
    ? value
    : null
}

function isConnectivity(value: unknown): value is HlrResult['connectivity'] {
  return (
    value === 'connected' ||
    value === 'absent' ||
    value === 'unknown_subscriber' ||
    value === 'undetermined'
  )
}
