import type { HlrAccount } from './hlr/provider.ts'
import type { HlrProviderName } from '@plumbline/ports/provider-status'

/** Name and account of a provider; lists of them are in order of preference. */
export interface HlrProviderSettings extends HlrAccount {
  readonly name: HlrProviderName
}

/** Limits of purchases, and how long results are stored. */
export interface HlrPolicy {
  /** Milliseconds that a result is valid. */
  readonly cacheMs: number
  /** The same for a result which says that the network could not tell. */
  readonly undeterminedCacheMs: number
  /** Time-out of one request to a provider. */
  readonly timeoutMs: number
  /** Concurrent requests to one provider, over all workers. */
  readonly concurrency: number
  /** Requests sent to one provider in a second, over all workers. */
  readonly perSecond: number
  /** Numbers bought from one provider in a UTC day; null: no limit. */
  readonly dailyCap: number | null
  /** Numbers bought for one account in a UTC day, from all providers together; null: no limit. */
  readonly accountDailyCap: number | null
  /** Milliseconds for which a provider that refused our account is paused. */
  readonly pauseMs: number
}

/**
 * Defaults: a day's validity as HLR resellers use, and the limits that hlr-lookups gives new
 * accounts.
 */
export const HLR_POLICY: HlrPolicy = {
  cacheMs: 24 * 3_600_000,
  undeterminedCacheMs: 3_600_000,
  timeoutMs: 10_000,
  concurrency: 10,
  perSecond: 15,
  dailyCap: null,
  accountDailyCap: null,
  pauseMs: 600_000,
}

/** The account and run that numbers are looked up for. */
export interface HlrCaller {
  readonly lane: 'live' | 'bulk'
  /** Opaque name of the account that the numbers are counted for. */
  readonly account: string
  /** Aborts when nothing new is to be bought for this run. */
  readonly stop: AbortSignal
  /** Aborts when nobody waits for the results any more. */
  readonly gone: AbortSignal
}
