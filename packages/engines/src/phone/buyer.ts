import type { Limiter, Memory } from '@plumbline/contract/engine'
import { HLR_ADAPTERS } from './hlr/adapters.ts'
import {
  type HlrAccount,
  failure,
  type HlrAnswer,
  type HlrFailure,
  type HlrFetch,
  type HlrProviderName,
} from './hlr/provider.ts'
import {
  type BoughtVerdict,
  intentJson,
  KEYS,
  readIntent,
  readVerdict,
  verdictJson,
} from './purchase.ts'

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
  pauseMs: 600_000,
}

/** Time and waiting, handed in so that tests have their own. */
export interface HlrClock {
  now(): number
  wait(ms: number, signal: AbortSignal): Promise<void>
}

export interface BuyerOptions {
  /** Keeps intents and verdicts; must outlive a crash of its server. */
  readonly purchases: Memory
  readonly limiter: Limiter
  readonly fetch: HlrFetch
  readonly policy: HlrPolicy
  readonly clock: HlrClock
  /** Ends when the engine closes; a caller that gives up does not end a query that is paid for. */
  readonly signal: AbortSignal
}

/** Who waits for the answer: a caller, or a list. */
export type Lane = 'live' | 'bulk'

/** What came of one number at one provider. */
export type Purchase =
  | { readonly kind: 'bought'; readonly bought: BoughtVerdict; readonly cached: boolean }
  | { readonly kind: 'in_doubt'; readonly provider: string; readonly detail: string }
  /** Nothing was bought: another provider may be asked. */
  | { readonly kind: 'refused'; readonly failure: HlrFailure }
  /** Another worker may still be buying it; its time runs out in `retryMs`. */
  | { readonly kind: 'begun'; readonly provider: string; readonly retryMs: number }
  /** The provider rests, or the day's cap is reached. */
  | { readonly kind: 'paused'; readonly detail: string }

/** Beyond a request's own time: what storing an outcome may take. */
const STORE_MS = 10_000
/** Pause between two looks at what another worker is buying. */
const LOOK_MS = 250
/** How long a list keeps its place for what another worker is buying; a caller waits it out. */
const BULK_WATCH_MS = 2_000
/** Share of a provider's places that lists leave to single calls. */
const LIVE_SHARE = 0.2
/** Share of a day's cap that its bucket refills in a second: next to none, since a bucket must refill. */
const REFILL_SHARE_PER_SECOND = 1e-9
const DAY_SECONDS = 86_400

/**
 * Buys verdicts of one provider for at most `maxBatch` numbers.
 *
 * The intent is claimed before the query is sent, and goes only after its outcome is stored or the provider is known to
 * have taken nothing. So whoever is killed in between leaves the number in doubt, and nobody buys it again until the
 * intent runs out with what would have been the verdict's life.
 */
export async function buy(
  options: BuyerOptions,
  provider: HlrProviderSettings,
  numbers: readonly string[],
  lane: Lane,
): Promise<ReadonlyMap<string, Purchase>> {
  const results = new Map<string, Purchase>()
  const slot = await takeSlot(options, provider, lane)
  if (slot === null) return new Map(numbers.map((number) => [number, crowded()]))
  let foreign: readonly string[] = []
  try {
    const claims = await Promise.all(numbers.map((number) => claim(options, provider, number)))
    const claimed = numbers.filter((_, index) => claims[index] === true)
    foreign = numbers.filter((_, index) => claims[index] !== true)
    for (const [number, purchase] of await spend(options, provider, claimed)) {
      results.set(number, purchase)
    }
  } finally {
    await slot.release()
  }
  const watched = foreign.map(
    async (number) => [number, await watch(options, number, lane)] as const,
  )
  for (const [number, purchase] of await Promise.all(watched)) results.set(number, purchase)
  return results
}

/** Kept verdicts of numbers; absent where there is none. */
export async function keptVerdicts(
  purchases: Memory,
  numbers: readonly string[],
): Promise<ReadonlyMap<string, BoughtVerdict>> {
  const kept = new Map<string, BoughtVerdict>()
  if (numbers.length === 0) return kept
  const values = await purchases.get(numbers.map(KEYS.verdict))
  numbers.forEach((number, index) => {
    const verdict = readVerdict(values[index])
    if (verdict !== null) kept.set(number, verdict)
  })
  return kept
}

async function spend(
  options: BuyerOptions,
  provider: HlrProviderSettings,
  claimed: readonly string[],
): Promise<ReadonlyMap<string, Purchase>> {
  const results = new Map<string, Purchase>()
  // Another worker may have bought between our look and our claim.
  const kept = await keptVerdicts(options.purchases, claimed)
  for (const [number, bought] of kept) results.set(number, { kind: 'bought', bought, cached: true })
  const wanted = claimed.filter((number) => !kept.has(number))
  const allowed = wanted.slice(0, await takeDay(options, provider, wanted.length))
  for (const number of wanted.slice(allowed.length)) results.set(number, capped())
  if (allowed.length > 0 && !(await takeRate(options, provider))) {
    for (const number of allowed.splice(0)) results.set(number, crowded())
  }
  await options.purchases.delete([...results.keys()].map(KEYS.intent))
  if (allowed.length === 0) return results
  const answers = await HLR_ADAPTERS[provider.name]({
    numbers: allowed,
    account: provider,
    fetch: options.fetch,
    timeoutMs: options.policy.timeoutMs,
    signal: options.signal,
    nowMs: options.clock.now(),
  })
  const outcomes = allowed.map((number, index) => [number, answers[index]] as const)
  await store(options, provider, outcomes)
  for (const [number, answer] of outcomes) {
    results.set(number, purchaseOf(options, provider, answer))
  }
  return results
}

/** Keeps what was bought, then lets go of the intents of all that are settled. */
async function store(
  options: BuyerOptions,
  provider: HlrProviderSettings,
  outcomes: readonly (readonly [string, HlrAnswer | undefined])[],
): Promise<void> {
  const { purchases, policy, clock } = options
  const entries = outcomes.flatMap(([number, answer]) => {
    if (answer?.kind !== 'verdict') return []
    const ttlMs =
      answer.connectivity === 'undetermined' ? policy.undeterminedCacheMs : policy.cacheMs
    const bought = { provider: provider.name, verdict: answer, atMs: clock.now() }
    return [{ key: KEYS.verdict(number), value: verdictJson(bought), ttlMs }]
  })
  const settled = outcomes.flatMap(([number, answer]) =>
    answer === undefined || (answer.kind === 'failed' && answer.maybeBought) ? [] : [number],
  )
  if (entries.length > 0) await purchases.set(entries)
  if (settled.length > 0) await purchases.delete(settled.map(KEYS.intent))
}

function purchaseOf(
  options: BuyerOptions,
  provider: HlrProviderSettings,
  answer: HlrAnswer | undefined,
): Purchase {
  if (answer === undefined) {
    return { kind: 'in_doubt', provider: provider.name, detail: 'no answer for a number' }
  }
  if (answer.kind === 'verdict') {
    const bought = { provider: provider.name, verdict: answer, atMs: options.clock.now() }
    return { kind: 'bought', bought, cached: false }
  }
  if (answer.maybeBought) {
    return { kind: 'in_doubt', provider: provider.name, detail: answer.detail }
  }
  return { kind: 'refused', failure: answer }
}

async function claim(
  { purchases, policy, clock }: BuyerOptions,
  provider: HlrProviderSettings,
  number: string,
): Promise<boolean> {
  const atMs = clock.now()
  const untilMs = atMs + policy.timeoutMs * 2 + STORE_MS
  const value = intentJson({ provider: provider.name, atMs, untilMs })
  return purchases.claim({ key: KEYS.intent(number), value, ttlMs: policy.cacheMs })
}

/** Waits for what another worker is buying; in doubt once its time has passed. */
async function watch(options: BuyerOptions, number: string, lane: Lane): Promise<Purchase> {
  const { purchases, clock, signal } = options
  const patientUntilMs = clock.now() + (lane === 'bulk' ? BULK_WATCH_MS : Infinity)
  for (;;) {
    const [verdict, intent] = await purchases.get([KEYS.verdict(number), KEYS.intent(number)])
    const bought = readVerdict(verdict)
    if (bought !== null) return { kind: 'bought', bought, cached: true }
    if (intent === undefined) return crowded()
    const { provider, untilMs } = readIntent(intent)
    if (clock.now() >= untilMs || signal.aborted) {
      return { kind: 'in_doubt', provider, detail: 'a query was begun and its outcome was lost' }
    }
    if (clock.now() >= patientUntilMs) {
      return { kind: 'begun', provider, retryMs: untilMs - clock.now() }
    }
    await clock.wait(LOOK_MS, signal)
  }
}

async function takeSlot(
  { limiter, policy, clock, signal }: BuyerOptions,
  provider: HlrProviderSettings,
  lane: Lane,
): Promise<{ release(): Promise<void> } | null> {
  const deadline = clock.now() + policy.timeoutMs
  const ttlMs = policy.timeoutMs * 2 + STORE_MS
  const kept = lane === 'bulk' ? Math.floor(policy.concurrency * LIVE_SHARE) : 0
  const limit = Math.max(1, policy.concurrency - kept)
  for (;;) {
    const lease = await limiter.lease(`hlr:slot:${provider.name}`, limit, ttlMs)
    if (lease.granted) return lease
    if (clock.now() >= deadline || signal.aborted) return null
    await clock.wait(Math.min(lease.retryMs, LOOK_MS), signal)
  }
}

/** Waits for its turn for as long as a request may take. */
async function takeRate(
  { limiter, policy, clock, signal }: BuyerOptions,
  provider: HlrProviderSettings,
): Promise<boolean> {
  const deadline = clock.now() + policy.timeoutMs
  const rate = { perSecond: policy.perSecond, burst: Math.max(1, policy.perSecond) }
  for (;;) {
    const grant = await limiter.take(`hlr:rate:${provider.name}`, 1, rate)
    if (grant.granted) return true
    if (clock.now() + grant.retryMs > deadline || signal.aborted) return false
    await clock.wait(grant.retryMs, signal)
  }
}

/** How many numbers the day's cap still allows, taken at once. */
async function takeDay(
  { limiter, policy, clock }: BuyerOptions,
  provider: HlrProviderSettings,
  count: number,
): Promise<number> {
  if (policy.dailyCap === null) return count
  const perSecond = policy.dailyCap * REFILL_SHARE_PER_SECOND
  // What refills until midnight is taken off beforehand, so that the cap holds to the number.
  const burst = policy.dailyCap - Math.floor(perSecond * DAY_SECONDS)
  if (burst < 1) return 0
  const day = new Date(clock.now()).toISOString().slice(0, 10)
  const key = `hlr:day:${provider.name}:${day}`
  let allowed = 0
  for (let share = Math.min(count, burst); share > 0; share = Math.min(share, count - allowed)) {
    const grant = await limiter.take(key, share, { perSecond, burst })
    if (grant.granted) allowed += share
    else share = Math.floor(share / 2)
  }
  return allowed
}

function capped(): Purchase {
  return { kind: 'paused', detail: 'the spending cap of the day is reached' }
}

function crowded(): Purchase {
  const detail = 'no room at the provider within the time of a request'
  return { kind: 'refused', failure: failure('throttled', false, detail) }
}
