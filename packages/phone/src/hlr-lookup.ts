import { createSingleFlight } from '@plumbline/concurrency/single-flight'
import type { EngineHealth } from '@plumbline/ports/engine'
import type { Memory } from '@plumbline/ports/memory'
import {
  purchasesByOthers,
  buy,
  type PurchaseOptions,
  storedResults,
  type Purchase,
} from './hlr-purchase.ts'
import { MAX_NUMBERS } from './hlr/provider.ts'
import type { HlrCaller, HlrProviderSettings } from './policy.ts'
import type { BoughtResult } from './purchase-records.ts'
import { memoryFor, nameFor, type Sharing } from '@plumbline/ports/sharing'
import {
  type HlrProviderName,
  pauseKey,
  pauseReason,
  readProviderStatus,
} from '@plumbline/ports/provider-status'

/** Result of an HLR lookup of a number. */
export type LookupAnswer =
  | { readonly kind: 'verdict'; readonly bought: BoughtResult; readonly cached: boolean }
  | {
      readonly kind: 'unknown'
      readonly reason: 'hlr_in_doubt' | 'hlr_paused' | 'hlr_failed' | 'hlr_throttled'
      readonly provider: string | null
      readonly detail: string
      /** Delay after which another try may help; null if unknown. */
      readonly retryMs: number | null
      /** The account whose own daily limit is reached: others may buy the number. */
      readonly capped?: string
    }
  /** Nothing was bought, since the run is being stopped. */
  | { readonly kind: 'stopped' }

/**
 * Looks up numbers at HLR providers: each is bought at most once, from the first provider that
 * gives a result.
 */
export interface HlrLookup {
  /**
   * The results by number. Duplicates, in this or another call, share one purchase; a single call
   * does not wait for the turn that its number has in a batch.
   */
  ask(numbers: readonly string[], caller: HlrCaller): ReadonlyMap<string, Promise<LookupAnswer>>
  health(): Promise<readonly EngineHealth[]>
  /** Waits for purchases in flight. */
  idle(): Promise<void>
}

/** Attempts at one provider that replies that it is too busy. */
const TRIES = 3
/** First delay after such a reply; doubled each time. */
const BACKOFF_MS = 400
/** Longest delay within a call; a longer one is left to the caller. */
const BACKOFF_MAX_MS = 2_000

/** Settings and dependencies of HLR lookups. */
export interface HlrLookupOptions extends PurchaseOptions, Sharing {
  /** Store of paused providers. */
  readonly memory: Memory
  readonly providers: readonly HlrProviderSettings[]
  readonly onPause: (provider: string, detail: string) => void
}

/** HLR lookups at providers in order of preference. */
export function createHlrLookup(options: HlrLookupOptions): HlrLookup {
  // A result that was paid for is shared with other callers, even if its own caller has stopped.
  const shared = createSingleFlight<LookupAnswer>((answer) => answer.kind === 'stopped')
  const running = new Set<Promise<void>>()
  const begin = (numbers: OpenLookups, caller: HlrCaller): void => {
    const run = lookUp(options, numbers, caller)
    running.add(run)
    void run.finally(() => running.delete(run))
  }
  return {
    ask(numbers, caller) {
      const collect = createCollector((open: OpenLookups) => begin(open, caller))
      return new Map(
        [...new Set(numbers)].map((number) => {
          const share = (name: string): Promise<LookupAnswer> =>
            shared(`${caller.lane} ${name}`, caller.stop, () => collect(number))
          const answer = share(nameFor(number, caller.account, options)).then((found) =>
            isOfOther(found, caller) ? share(`${number} ${caller.account}`) : found,
          )
          return [number, answer]
        }),
      )
    },
    health: () => healthOf(options),
    async idle() {
      await Promise.all(running)
    },
  }
}

/** Whether a shared run ended at the daily limit of another account. */
function isOfOther(answer: LookupAnswer, { account }: HlrCaller): boolean {
  const capped = answer.kind === 'unknown' ? answer.capped : undefined
  return capped !== undefined && capped !== account
}

/** Pending results by number. */
type OpenLookups = ReadonlyMap<string, PromiseWithResolvers<LookupAnswer>>

/**
 * Collects the numbers that one caller asks for in the same turn of the event loop, since providers
 * take several in a request.
 */
function createCollector(
  begin: (open: OpenLookups) => void,
): (number: string) => Promise<LookupAnswer> {
  let collected = new Map<string, PromiseWithResolvers<LookupAnswer>>()
  const send = (): void => {
    const open = collected
    collected = new Map()
    begin(open)
  }
  return (number) => {
    if (collected.size === 0) queueMicrotask(send)
    const open = Promise.withResolvers<LookupAnswer>()
    collected.set(number, open)
    return open.promise
  }
}

/** Resolves each number; an error rejects all that are pending. */
async function lookUp(
  options: HlrLookupOptions,
  open: OpenLookups,
  caller: HlrCaller,
): Promise<void> {
  const answered = (number: string, answer: LookupAnswer): void => open.get(number)?.resolve(answer)
  const purchases = memoryFor(options.purchases, caller.account, options)
  try {
    await buyFromProviders({ ...options, purchases, caller }, [...open.keys()], answered)
  } catch (error) {
    for (const { reject } of open.values()) reject(error)
  }
}

type Answered = (number: string, answer: LookupAnswer) => void

interface BuyingOptions extends HlrLookupOptions {
  readonly caller: HlrCaller
}

async function buyFromProviders(
  options: BuyingOptions,
  numbers: readonly string[],
  answered: Answered,
): Promise<void> {
  const kept = await storedResults(options.purchases, numbers)
  for (const [number, bought] of kept) answered(number, { kind: 'verdict', bought, cached: true })
  const unkept = numbers.filter((number) => !kept.has(number))
  const { stop } = options.caller
  if (stop.aborted) return await awaitBegun(options, unkept, answered)
  let open: ReadonlyMap<string, LookupAnswer> = new Map(
    unkept.map((number) => [number, noProvider()]),
  )
  for (const provider of options.providers) {
    if (open.size === 0 || stop.aborted) break
    open = await askProvider(options, provider, [...open.keys()], answered)
  }
  // A number that one provider refused and the next was not asked about may still be known to the
  // next.
  const isCut = stop.aborted && options.providers.length > 1
  for (const [number, answer] of open) answered(number, isCut ? STOPPED : answer)
}

/** When a run is stopped: waits for purchases in flight, and buys nothing. */
async function awaitBegun(
  options: BuyingOptions,
  numbers: readonly string[],
  answered: Answered,
): Promise<void> {
  const begun = await purchasesByOthers(options, numbers, options.caller)
  for (const number of numbers) {
    const purchase = begun.get(number)
    const isKnown = purchase?.kind === 'bought' || purchase?.kind === 'in_doubt'
    answered(number, isKnown ? answerOf('', purchase) : STOPPED)
  }
}

const STOPPED: LookupAnswer = { kind: 'stopped' }

/** Resolves the numbers that this provider can; returns the others with the reason. */
async function askProvider(
  options: BuyingOptions,
  provider: HlrProviderSettings,
  numbers: readonly string[],
  answered: Answered,
): Promise<ReadonlyMap<string, LookupAnswer>> {
  const left = new Map<string, LookupAnswer>()
  const most = MAX_NUMBERS[provider.name]
  const batches: string[][] = []
  for (let at = 0; at < numbers.length; at += most) {
    batches.push(numbers.slice(at, at + most))
  }
  const work = async (): Promise<void> => {
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
      for (const [number, answer] of await askBatch(options, provider, batch, answered)) {
        left.set(number, answer)
      }
    }
  }
  await Promise.all(Array.from({ length: options.policy.concurrency }, work))
  return left
}

async function askBatch(
  options: BuyingOptions,
  provider: HlrProviderSettings,
  batch: readonly string[],
  answered: Answered,
): Promise<ReadonlyMap<string, LookupAnswer>> {
  const left = new Map<string, LookupAnswer>()
  let wanted = batch
  for (let tries = 1; wanted.length > 0; tries++) {
    const closed = options.caller.stop.aborted ? STOPPED : await whyNotAsked(options, provider)
    if (closed !== null) {
      for (const number of wanted) left.set(number, closed)
      return left
    }
    const busy: string[] = []
    let waitMs = BACKOFF_MS * 2 ** (tries - 1)
    for (const [number, purchase] of await buy(options, provider, wanted, options.caller)) {
      const answer = answerOf(provider.name, purchase)
      if (isFinal(answer)) answered(number, answer)
      else left.set(number, answer)
      if (purchase.kind !== 'refused') continue
      const { cause, retryMs, detail } = purchase.failure
      if (cause === 'throttled') busy.push(number)
      if (cause === 'credentials' || cause === 'credit')
        await pause(options, provider, cause, detail)
      waitMs = Math.max(waitMs, retryMs ?? 0)
    }
    if (waitMs > BACKOFF_MAX_MS) await holdOff(options, provider, waitMs)
    if (tries >= TRIES || waitMs > BACKOFF_MAX_MS) return left
    wanted = busy
    if (wanted.length > 0) await options.clock.wait(waitMs, options.caller.stop)
    for (const number of wanted) left.delete(number)
  }
  return left
}

/** The answer to numbers that a provider is not asked about now; null if it is. */
async function whyNotAsked(
  { memory, clock }: HlrLookupOptions,
  { name }: HlrProviderSettings,
): Promise<LookupAnswer | null> {
  const [paused, throttledUntilMs] = await memory.get([pauseKey(name), throttleKey(name)])
  if (paused !== undefined) return unknown('hlr_paused', name, pauseReason(paused))
  if (typeof throttledUntilMs !== 'number') return null
  const retryMs = Math.max(0, throttledUntilMs - clock.now())
  return unknown('hlr_throttled', name, 'it asked for a pause between requests', retryMs)
}

/** Records, for all workers, how long a provider that throttles asked to be left alone. */
async function holdOff(
  { memory, clock }: HlrLookupOptions,
  { name }: HlrProviderSettings,
  forMs: number,
): Promise<void> {
  await memory.set([{ key: throttleKey(name), value: clock.now() + forMs, ttlMs: forMs }])
}

function throttleKey(provider: HlrProviderName): string {
  return `hlr:throttled:${provider}`
}

/** Whether no other provider is asked; an account's daily limit holds at all of them. */
function isFinal(answer: LookupAnswer): boolean {
  if (answer.kind !== 'unknown') return answer.kind === 'verdict'
  return answer.reason === 'hlr_in_doubt' || answer.capped !== undefined
}

async function pause(
  options: HlrLookupOptions,
  provider: HlrProviderSettings,
  cause: 'credentials' | 'credit',
  detail: string,
): Promise<void> {
  const value = cause === 'credit' ? `out of credit (${detail})` : `keys refused (${detail})`
  const key = pauseKey(provider.name)
  if (await options.memory.claim({ key, value, ttlMs: options.policy.pauseMs })) {
    options.onPause(provider.name, value)
  }
}

function answerOf(provider: string, purchase: Purchase): LookupAnswer {
  switch (purchase.kind) {
    case 'bought':
      return { kind: 'verdict', bought: purchase.bought, cached: purchase.cached }
    case 'in_doubt':
      return unknown('hlr_in_doubt', purchase.provider, purchase.detail)
    case 'begun': {
      const { provider: begunAt, retryMs } = purchase
      return unknown('hlr_in_doubt', begunAt, 'another worker may be asking', retryMs)
    }
    case 'paused': {
      const answer = unknown('hlr_paused', provider, purchase.detail)
      return purchase.capped === null ? answer : { ...answer, capped: purchase.capped }
    }
    case 'stopped':
      return STOPPED
    case 'refused': {
      const { cause, detail, retryMs } = purchase.failure
      const reason =
        cause === 'throttled'
          ? 'hlr_throttled'
          : cause === 'credit' || cause === 'credentials'
            ? 'hlr_paused'
            : 'hlr_failed'
      return unknown(reason, provider, detail, retryMs)
    }
  }
}

function noProvider(): LookupAnswer {
  return unknown('hlr_failed', null, 'no provider was asked')
}

function unknown(
  reason: Extract<LookupAnswer, { kind: 'unknown' }>['reason'],
  provider: string | null,
  detail: string,
  retryMs: number | null = null,
): Extract<LookupAnswer, { kind: 'unknown' }> {
  return { kind: 'unknown', reason, provider, detail, retryMs }
}

async function healthOf({ providers, memory }: HlrLookupOptions): Promise<readonly EngineHealth[]> {
  if (providers.length === 0) {
    const detail = 'no HLR provider is set: phones are answered by the numbering plan alone'
    return [{ name: 'hlr', status: 'off', detail }]
  }
  const statuses = await readProviderStatus(
    memory,
    providers.map(({ name }) => name),
  )
  return statuses.map(({ provider, paused }): EngineHealth =>
    paused === null
      ? { name: `hlr ${provider}`, status: 'ok', detail: 'asked' }
      : { name: `hlr ${provider}`, status: 'failed', detail: `paused: ${paused}` },
  )
}
