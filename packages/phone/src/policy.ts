import type { HlrAccount } from './hlr/provider.ts'
import type { HlrProviderName } from '@plumbline/ports/provider-status'

/** A provider in order of choice. */
export interface HlrProviderSettings extends HlrAccount {
  readonly name: HlrProviderName
}

/** How much, how fast and for how long. */
export interface HlrPolicy {
  /** How long a verdict is good for. */
  readonly cacheMs: number
  /** How long one is kept that says that the network could not tell. */
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
  /** How long a provider rests that refused the account. */
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

/** Time and waiting, handed in so that tests have their own. */
export interface HlrClock {
  now(): number
  wait(ms: number, signal: AbortSignal): Promise<void>
  /** Does something again and again until disposed. */
  every(ms: number, work: () => void): Disposable
}

/** Who waits for the answer: a caller, or a list. */
export type Lane = 'live' | 'bulk'

/** One run that asks for numbers. */
export interface Asker {
  readonly lane: Lane
  /** Opaque name of the account that the numbers are counted for. */
  readonly tenant: string
  /** Once it fires nothing new is bought for this run. */
  readonly stop: AbortSignal
  /** Once it fires nobody waits for the answers any more. */
  readonly gone: AbortSignal
}
