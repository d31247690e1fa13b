import type { HlrAccount } from './hlr/provider.ts'
import type { HlrProviderName } from '@plumbline/ports/provider-status'

/** A provider in order of choice. */
export interface HlrProviderSettings extends HlrAccount {
  readonly name: HlrProviderName
}

/** Limits of purchases, and how long verdicts are kept. */
export interface HlrPolicy {
  /** How long a verdict is good for. */
  readonly cacheMs: number
  /** How long a verdict is kept that says that the network could not tell. */
  readonly undeterminedCacheMs: number
  /** Wall clock of one request to a provider. */
  readonly timeoutMs: number
  /** Requests under way at one provider, over all workers. */
  readonly concurrency: number
  /** Requests sent to one provider in a second, over all workers. */
  readonly perSecond: number
  /** Numbers bought of one provider in a UTC day; null: no cap. */
  readonly dailyCap: number | null
  /** Numbers bought for one account in a UTC day, of all providers together; null: no cap. */
  readonly accountDailyCap: number | null
  /** How long a provider is paused that refused the account. */
  readonly pauseMs: number
}

/** Defaults: a day's validity as HLR resellers use, and the limits that hlr-lookups gives new accounts. */
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

/** On whose behalf numbers are looked up. */
export interface HlrCaller {
  readonly lane: 'live' | 'bulk'
  /** Opaque name of the account that the numbers are counted for. */
  readonly tenant: string
  /** Once it fires nothing new is bought for this run. */
  readonly stop: AbortSignal
  /** Once it fires nobody waits for the answers any more. */
  readonly gone: AbortSignal
}
