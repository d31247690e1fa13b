import type { Memory } from '@plumbline/ports/memory'
import {
  type ProviderLimitsOptions,
  type DailySpending,
  takeDailyBudget,
  takeRate,
  takeSlot,
} from './provider-limits.ts'
import { HLR_ADAPTERS } from './hlr/adapters.ts'
import { failure, type HlrAnswer, type HlrFailure, type HlrFetch } from './hlr/provider.ts'
import type { HlrCaller, HlrProviderSettings } from './policy.ts'
import {
  type BoughtResult,
  intentJson,
  KEYS,
  readIntent,
  readBoughtResult,
  boughtResultJson,
} from './purchase-records.ts'

/**
 * Dependencies of a purchase. The signal is aborted when the engine is closed: a caller that gives
 * up does not end a query that is paid for.
 */
export interface PurchaseOptions extends ProviderLimitsOptions {
  /** Stores intents and results; must survive a crash of its server. */
  readonly purchases: Memory
  readonly fetch: HlrFetch
  readonly onPurchase: PurchaseCounter
  /** Aborts when the engine is closed. */
  readonly signal: AbortSignal
}

/**
 * Called once for each query that was sent to a provider, with how many of its numbers were, or may
 * have been, paid for; the daily caps count the same.
 */
export type PurchaseCounter = (provider: string, numberCount: number) => void

/** Result of one number at one provider. */
export type Purchase =
  | { readonly kind: 'bought'; readonly bought: BoughtResult; readonly cached: boolean }
  | { readonly kind: 'in_doubt'; readonly provider: string; readonly detail: string }
  /** Nothing was bought: another provider may be used. */
  | { readonly kind: 'refused'; readonly failure: HlrFailure }
  /** Another worker may still be buying it; its intent expires in `retryMs`. */
  | { readonly kind: 'begun'; readonly provider: string; readonly retryMs: number }
  /** A daily limit is reached: that of the account `capped`, or the provider's. */
  | { readonly kind: 'paused'; readonly detail: string; readonly capped: string | null }
  /** Nothing was bought, since the run is being stopped. */
  | { readonly kind: 'stopped' }

/** Milliseconds, beyond a request's own time-out, for storing a result. */
const STORE_MS = 10_000
/** Milliseconds between two checks of what another worker is buying. */
const POLL_MS = 250

/**
 * Buys results of one provider for at most `MAX_NUMBERS` numbers. An intent is stored before the query
 * is sent, and deleted only after its result is stored or the provider is known to have charged
 * nothing. A worker killed in between leaves the number in doubt, and nobody buys it again until
 * the intent expires, at the time at which a result would have.
 */
export async function buy(
  options: PurchaseOptions,
  provider: HlrProviderSettings,
  numbers: readonly string[],
  caller: HlrCaller,
): Promise<ReadonlyMap<string, Purchase>> {
  const results = new Map<string, Purchase>()
  const slot = await takeSlot(options, provider, caller)
  if (slot === null) return new Map(numbers.map((number) => [number, notBought(caller)]))
  let foreign: readonly string[] = []
  try {
    const claimed = await claimAll(options, provider, numbers)
    foreign = numbers.filter((number) => !claimed.has(number))
    for (const [number, purchase] of await buyClaimed(options, provider, [...claimed], caller)) {
      results.set(number, purchase)
    }
  } finally {
    await slot.release()
  }
  const awaited = foreign.map(
    async (number) => [number, await awaitPurchase(options, number, caller)] as const,
  )
  for (const [number, purchase] of await Promise.all(awaited)) results.set(number, purchase)
  return results
}

/** Stored results of numbers; those without one are left out. */
export async function storedResults(
  purchases: Memory,
  numbers: readonly string[],
): Promise<ReadonlyMap<string, BoughtResult>> {
  const kept = new Map<string, BoughtResult>()
  if (numbers.length === 0) return kept
  const values = await purchases.get(numbers.map(KEYS.verdict))
  numbers.forEach((number, index) => {
    const verdict = readBoughtResult(values[index])
    if (verdict !== null) kept.set(number, verdict)
  })
  return kept
}

async function buyClaimed(
  options: PurchaseOptions,
  provider: HlrProviderSettings,
  claimed: readonly string[],
  caller: HlrCaller,
): Promise<ReadonlyMap<string, Purchase>> {
  const { results, allowed, spending } = await admit(options, provider, claimed, caller).catch(
    async (error: unknown) => {
      // Nothing was sent yet: the next caller may buy them.
      await dropClaims(options, claimed)
      throw error
    },
  )
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
  const made = allowed.map(
    (number, at) => [number, purchaseOf(options, provider, answers[at], caller)] as const,
  )
  for (const [number, purchase] of made) results.set(number, purchase)
  const notCharged = allowed.filter((number) => results.get(number)?.kind === 'refused')
  // A result that cannot be stored was paid for nevertheless.
  if (notCharged.length < allowed.length) {
    options.onPurchase(provider.name, allowed.length - notCharged.length)
  }
  await store(options, made)
  if (notCharged.length > 0) await spending.giveBack(notCharged.length)
  return results
}

/** Which of the claimed numbers may be bought now, and the results of the others. */
async function admit(
  options: PurchaseOptions,
  provider: HlrProviderSettings,
  claimed: readonly string[],
  caller: HlrCaller,
): Promise<{
  results: Map<string, Purchase>
  allowed: readonly string[]
  spending: DailySpending
}> {
  const results = new Map<string, Purchase>()
  // Another worker may have bought between our read and our claim.
  const kept = await storedResults(options.purchases, claimed)
  for (const [number, bought] of kept) results.set(number, { kind: 'bought', bought, cached: true })
  const wanted = claimed.filter((number) => !kept.has(number))
  const spending = await takeDailyBudget(options, provider, caller, wanted.length)
  const allowed = wanted.slice(0, spending.count)
  const { reached } = spending
  const capped = spending.isOwn ? caller.account : null
  for (const number of wanted.slice(allowed.length)) {
    results.set(number, { kind: 'paused', detail: reached, capped })
  }
  const inTurn = allowed.length > 0 && (await takeRate(options, provider, caller))
  if (!inTurn || caller.stop.aborted) {
    await spending.giveBack(allowed.length)
    for (const number of allowed.splice(0)) results.set(number, notBought(caller))
  }
  return { results, allowed, spending }
}

/** Stores what was bought, then deletes the intents of all numbers with a certain result. */
async function store(
  { purchases, policy }: PurchaseOptions,
  made: readonly (readonly [string, Purchase])[],
): Promise<void> {
  const entries = made.flatMap(([number, purchase]) => {
    if (purchase.kind !== 'bought') return []
    const { bought } = purchase
    const isOpen = bought.verdict.connectivity === 'undetermined'
    const ttlMs = isOpen ? policy.undeterminedCacheMs : policy.cacheMs
    return [{ key: KEYS.verdict(number), value: boughtResultJson(bought), ttlMs }]
  })
  const settled = made.flatMap(([number, { kind }]) => (kind === 'in_doubt' ? [] : [number]))
  if (entries.length > 0) await purchases.set(entries)
  if (settled.length > 0) await purchases.delete(settled.map(KEYS.intent))
}

function purchaseOf(
  { clock }: PurchaseOptions,
  provider: HlrProviderSettings,
  answer: HlrAnswer | undefined,
  { account: by }: HlrCaller,
): Purchase {
  if (answer === undefined) {
    return { kind: 'in_doubt', provider: provider.name, detail: 'no answer for a number' }
  }
  if (answer.kind === 'verdict') {
    const bought = { provider: provider.name, verdict: answer, atMs: clock.now(), by }
    return { kind: 'bought', bought, cached: false }
  }
  if (answer.maybeBought) {
    return { kind: 'in_doubt', provider: provider.name, detail: answer.detail }
  }
  return { kind: 'refused', failure: answer }
}

/**
 * Stores intents for numbers that nobody else is buying.
 *
 * @throws with no intent stored
 */
async function claimAll(
  options: PurchaseOptions,
  provider: HlrProviderSettings,
  numbers: readonly string[],
): Promise<ReadonlySet<string>> {
  const { purchases, policy, clock } = options
  const atMs = clock.now()
  const untilMs = atMs + policy.timeoutMs * 2 + STORE_MS
  const value = intentJson({ provider: provider.name, atMs, untilMs })
  const claims = await Promise.allSettled(
    numbers.map((number) =>
      purchases.claim({ key: KEYS.intent(number), value, ttlMs: policy.cacheMs }),
    ),
  )
  const claimed = numbers.filter((_, at) => {
    const claim = claims[at]
    return claim?.status === 'fulfilled' && claim.value
  })
  for (const claim of claims) {
    if (claim.status === 'fulfilled') continue
    await dropClaims(options, claimed)
    throw claim.reason
  }
  return new Set(claimed)
}

/**
 * Deletes intents that are certainly ours and for which nothing was sent; if that fails too, they
 * stay in doubt, which costs nothing.
 */
async function dropClaims(
  { purchases }: PurchaseOptions,
  numbers: readonly string[],
): Promise<void> {
  await purchases.delete(numbers.map(KEYS.intent)).catch(() => undefined)
}

/** Results of purchases of these numbers by other workers; those without one are left out. */
export async function purchasesByOthers(
  options: PurchaseOptions,
  numbers: readonly string[],
  caller: HlrCaller,
): Promise<ReadonlyMap<string, Purchase>> {
  if (numbers.length === 0) return new Map()
  const intents = await options.purchases.get(numbers.map(KEYS.intent))
  const begun = numbers.filter((_, at) => intents[at] !== undefined)
  const awaited = begun.map(
    async (number) =>
      [number, await awaitPurchase(options, number, { ...caller, lane: 'live' })] as const,
  )
  return new Map(await Promise.all(awaited))
}

/**
 * A purchase by another worker: a single call waits for it, a batch tries again; in doubt once its
 * intent has expired.
 */
async function awaitPurchase(
  options: PurchaseOptions,
  number: string,
  { lane, gone }: HlrCaller,
): Promise<Purchase> {
  const { purchases, clock, signal } = options
  for (;;) {
    const [verdict, intent] = await purchases.get([KEYS.verdict(number), KEYS.intent(number)])
    const bought = readBoughtResult(verdict)
    if (bought !== null) return { kind: 'bought', bought, cached: true }
    if (intent === undefined) return throttledLocally()
    const { provider, untilMs } = readIntent(intent)
    if (gone.aborted) return { kind: 'stopped' }
    if (clock.now() >= untilMs || signal.aborted) {
      return { kind: 'in_doubt', provider, detail: 'a query was begun and its outcome was lost' }
    }
    if (lane === 'bulk') return { kind: 'begun', provider, retryMs: untilMs - clock.now() }
    await clock.wait(POLL_MS, gone)
  }
}

function notBought(caller: HlrCaller): Purchase {
  return caller.stop.aborted ? { kind: 'stopped' } : throttledLocally()
}

function throttledLocally(): Purchase {
  const detail = 'no room at the provider within the time of a request'
  return { kind: 'refused', failure: failure('throttled', false, detail) }
}
