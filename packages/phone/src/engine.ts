import type { Log } from '@plumbline/ports/log'
import type { Engine, EngineRequest, Answer } from '@plumbline/ports/engine'
import type { Budget } from '@plumbline/ports/budget'
import type { Limiter } from '@plumbline/ports/limiter'
import type { Memory } from '@plumbline/ports/memory'
import type { Json, Outcome, PhoneFacts } from '@plumbline/contract/outcome'
import { PHONE_UNKNOWN, type Reason } from '@plumbline/contract/reasons'
import { orOnAbort } from '@plumbline/concurrency/time-out'
import { type CountryNames, createCountryNames } from '@plumbline/datasets/country-names'
import { createHlrLookup, type HlrLookup, type LookupAnswer } from './hlr-lookup.ts'
import type { PurchaseCounter } from './hlr-purchase.ts'
import type { HlrFetch, HlrResult } from './hlr/provider.ts'
import { type NumberingTables, type PhoneNumbering, readNumbering } from './numbering.ts'
import { type HlrCaller, HLR_POLICY, type HlrPolicy, type HlrProviderSettings } from './policy.ts'
import { type Clock, SYSTEM_CLOCK } from '@plumbline/ports/clock'
import type { AccountCapOf } from './provider-limits.ts'
import { loadPhonePrefixes, type PhonePrefixes } from './prefixes.ts'
import { momentFor, type Sharing } from '@plumbline/ports/sharing'

/** Settings and dependencies of the phone engine. */
export interface PhoneEngineOptions extends Sharing {
  /** In order of preference; none: only the numbering plan is used. */
  readonly providers: readonly HlrProviderSettings[]
  readonly policy?: Partial<HlrPolicy>
  readonly memory: Memory
  /** Store of purchases, in flight and made: losing one costs money. Default: `memory`. */
  readonly purchases?: Memory
  readonly limiter: Limiter
  /** Daily budgets of purchases; losing them costs money too. */
  readonly budget: Budget
  readonly accountCapOf?: AccountCapOf
  readonly fetch: HlrFetch
  readonly onPurchase?: PurchaseCounter
  readonly log: Pick<Log, 'warn'>
  readonly clock?: Clock
  /** Carriers and time zones by prefix; loaded if absent. */
  readonly prefixes?: PhonePrefixes
}

/** Numbers parsed between two turns of the event loop: about 5 ms of work. */
const READS_PER_TURN = 250
/** Least delay of a number whose provider is at its limits, in milliseconds. */
const LATER_MS = 5_000
/** First delay of a number of a batch that another worker is buying; doubled each time. */
const BEGUN_MS = 500
/** Times that a number of a batch is postponed before it is answered as throttled. */
const LATER_MAX = 8

/**
 * The engine of phone checks: the numbering plan first, then HLR lookups if they are wanted for
 * such numbers.
 */
export async function createPhoneEngine(options: PhoneEngineOptions): Promise<Engine<'phone'>> {
  const closing = new AbortController()
  const clock = options.clock ?? SYSTEM_CLOCK
  const tables: NumberingTables = {
    prefixes: options.prefixes ?? (await loadPhonePrefixes()),
    countries: createCountryNames(),
  }
  const hlr = createHlrLookup({
    providers: options.providers,
    policy: { ...HLR_POLICY, ...options.policy },
    memory: options.memory,
    shareFindings: options.shareFindings ?? true,
    purchases: options.purchases ?? options.memory,
    limiter: options.limiter,
    budget: options.budget,
    ...(options.accountCapOf === undefined ? {} : { accountCapOf: options.accountCapOf }),
    fetch: options.fetch,
    onPurchase: options.onPurchase ?? (() => undefined),
    clock,
    signal: closing.signal,
    onPause: (provider, detail) => options.log.warn({ provider }, `HLR provider paused: ${detail}`),
  })
  const context: RunContext = {
    tables,
    hlr,
    clock,
    asks: options.providers.length > 0,
    closing: closing.signal,
  }
  return {
    check: 'phone',
    run: (request) => run(context, request),
    health: () => hlr.health(),
    async [Symbol.asyncDispose]() {
      // Purchases in flight are awaited, so that their results are stored.
      await hlr.idle()
      closing.abort()
    },
  }
}

interface RunContext {
  readonly tables: NumberingTables
  readonly hlr: HlrLookup
  readonly clock: Clock
  readonly asks: boolean
  /** Aborted when the engine is closed. */
  readonly closing: AbortSignal
}

interface Read {
  readonly index: number
  readonly numbering: PhoneNumbering
  readonly startedMs: number
}

async function run(
  context: RunContext,
  request: EngineRequest<'phone'>,
): Promise<readonly Answer<'phone'>[]> {
  const answers: Answer<'phone'>[] = []
  const answer = (index: number, value: Answer<'phone'>): void => {
    answers[index] = value
    request.answered?.(index, value)
  }
  const open: Read[] = []
  for (const [index, subject] of request.subjects.entries()) {
    if (index % READS_PER_TURN === READS_PER_TURN - 1) await new Promise(setImmediate)
    const read = {
      index,
      numbering: readNumbering(context.tables, subject),
      startedMs: performance.now(),
    }
    const reason = offlineReason(read.numbering, context.asks)
    if (reason === null) open.push(read)
    else answer(index, outcome(context, read, reason, {}))
  }
  const asked = context.hlr.ask(
    open.map(({ numbering }) => numbering.facts.number),
    callerOf(context, request),
  )
  await Promise.all(
    open.map(async (read) => {
      const network = asked.get(read.numbering.facts.number) ?? Promise.resolve(null)
      const known = await orOnAbort(network, request.signal, null)
      answer(read.index, settle(context, request, read, known))
    }),
  )
  return answers
}

function callerOf({ closing }: RunContext, request: EngineRequest<'phone'>): HlrCaller {
  const { lane, account, signal, drain } = request
  const gone = AbortSignal.any([signal, closing])
  const stop = drain === undefined ? gone : AbortSignal.any([gone, drain])
  return { lane, account, stop, gone }
}

/** Why no HLR lookup is made; null if one is. */
function offlineReason(numbering: PhoneNumbering, asks: boolean): Reason<'phone'> | null {
  if (numbering.validity === 'impossible') return 'impossible_number'
  if (numbering.validity === 'unused') return 'invalid_number'
  if (!asks) return 'no_hlr_provider'
  const { numberType } = numbering.facts
  const mobile = numberType === 'mobile' || numberType === 'fixed_line_or_mobile'
  return mobile && !numbering.fictional ? null : 'hlr_not_applicable'
}

function settle(
  context: RunContext,
  request: EngineRequest<'phone'>,
  read: Read,
  network: LookupAnswer | null,
): Answer<'phone'> {
  // In an aborted run (`signal`) nobody waits for it; in a drained one it is returned unchanged.
  if (network?.kind === 'stopped' && request.drain?.aborted === true) {
    const state = request.states?.[read.index]
    return {
      kind: 'later',
      afterMs: 0,
      group: 'hlr:stopped',
      reason: 'stopped',
      ...(state === undefined ? {} : { state }),
    }
  }
  if (network === null || network.kind === 'stopped') return outcome(context, read, 'timeout', {})
  if (network.kind === 'verdict') return fromNetwork(context, request, read, network)
  const tries = triesOf(request.states?.[read.index])
  const isBegun = network.reason === 'hlr_in_doubt' && network.retryMs !== null
  const waits = isBegun || network.reason === 'hlr_throttled'
  if (waits && request.lane === 'bulk' && tries < LATER_MAX) {
    return {
      kind: 'later',
      // Most queries of others end long before their time is up; a provider that says "at once" is
      // at its limits nevertheless, and would use up all tries.
      afterMs: isBegun
        ? Math.min(network.retryMs ?? LATER_MS, BEGUN_MS * 2 ** tries)
        : Math.max(network.retryMs ?? 0, LATER_MS),
      group: `hlr:${isBegun ? 'begun:' : ''}${network.provider ?? 'any'}`,
      isOwnWait: isBegun,
      reason: network.reason,
      state: { tries: tries + 1 },
    }
  }
  const { provider, detail } = network
  return outcome(context, read, network.reason, { hlr: { provider, detail } })
}

function fromNetwork(
  context: RunContext,
  { account }: EngineRequest<'phone'>,
  read: Read,
  { bought, cached }: Extract<LookupAnswer, { kind: 'verdict' }>,
): Outcome<'phone'> {
  const { verdict, provider, by } = bought
  const at = new Date(momentFor(bought.atMs, by, account)).toISOString()
  // Only the account that paid sees the provider's id of the query.
  const id = by === account ? verdict.id : null
  const hlr = { provider, status: verdict.status, id, at }
  const reason = REASON_OF[verdict.connectivity]
  const facts = overlay(read.numbering.facts, verdict, context.tables.countries)
  const base = outcome(context, read, reason, {
    hlr,
    ...(verdict.carrier === null ? {} : { carrier_source: 'network' }),
    ...(facts.carrier === null ? { carrier_source: null } : {}),
  })
  return { ...base, facts, cached, checkedAt: cached ? hlr.at : base.checkedAt }
}

const REASON_OF = {
  connected: 'hlr_connected',
  absent: 'hlr_absent',
  unknown_subscriber: 'hlr_unknown_subscriber',
  undetermined: 'hlr_undetermined',
} as const satisfies Record<HlrResult['connectivity'], Reason<'phone'>>

/**
 * Facts of the network override those of the numbering plan; missing ones stay, except the carrier
 * of the range for a number that has left it. Whether a number is valid is decided by the numbering
 * plan alone (decision 26).
 */
function overlay(facts: PhoneFacts, verdict: HlrResult, countries: CountryNames): PhoneFacts {
  const { connectivity } = verdict
  const alive = connectivity === 'connected' || connectivity === 'absent'
  // Only mobile subscribers have a place in an HLR.
  const lineType = verdict.lineType ?? (alive ? 'mobile' : facts.lineType)
  const country = verdict.carrierCountry
  return {
    ...facts,
    reachable: connectivity === 'undetermined' ? null : connectivity === 'connected',
    lineType,
    carrier: verdict.carrier ?? (verdict.ported === true ? null : facts.carrier),
    carrierCountry:
      country === null ? facts.carrierCountry : (countries.of(country.toUpperCase()) ?? country),
    ported: verdict.ported,
    roaming: verdict.roaming,
  }
}

function outcome(
  context: RunContext,
  { numbering, startedMs }: Read,
  reason: Reason<'phone'>,
  evidence: { readonly [key: string]: Json },
): Outcome<'phone'> {
  const { facts, timezones, callingCode, fictional } = numbering
  return {
    kind: 'outcome',
    status: PHONE_UNKNOWN.includes(reason) ? 'unknown' : 'answered',
    reason,
    facts,
    evidence: {
      number_type: facts.numberType,
      calling_code: callingCode,
      timezones: [...timezones],
      ...(facts.carrier === null ? {} : { carrier_source: 'prefix' }),
      ...(fictional ? { fictional } : {}),
      ...evidence,
    },
    cached: false,
    checkedAt: new Date(context.clock.now()).toISOString(),
    durationMs: Math.round(performance.now() - startedMs),
  }
}

function triesOf(state: Json | undefined): number {
  if (typeof state !== 'object' || state === null || !('tries' in state)) return 0
  const { tries } = state
  return typeof tries === 'number' ? tries : 0
}
