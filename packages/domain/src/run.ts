import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EngineRequest, Answer, Later } from '@plumbline/ports/engine'
import type { Json } from '@plumbline/contract/outcome'
import { createFairSemaphore, type FairSemaphore } from '@plumbline/concurrency/fair-semaphore'
import { createSemaphore, type Semaphore } from '@plumbline/concurrency/semaphore'
import { orOnAbort } from '@plumbline/concurrency/time-out'
import type { Egress } from '@plumbline/net/egress'
import { resolverFor, type DnsCaller, type Resolver } from '@plumbline/net/resolver'
import { createDelegationCache } from './delegation-cache.ts'
import type { DelegationCache } from './delegation-cache.ts'
import { lookUpDns } from './dns-facts.ts'
import type { DnsFacts } from './dns-facts.ts'
import { lookUpMailPolicy } from './mail-policy.ts'
import type { MailPolicy } from './mail-policy.ts'
import type { RegistryCaller } from './registry-rate-limiter.ts'
import { readName } from './name.ts'
import type { DomainName } from './name.ts'
import { NO_DNS, NO_MAIL, badNameOutcome, domainOutcome } from './outcome.ts'
import type { KnownFacts, Stamp } from './outcome.ts'
import { judgeParked, readParkingPage } from './parked.ts'
import type { ParkingLists } from './parked.ts'
import { UNKNOWN } from './registration.ts'
import type { LookupResult, Registration } from './registration.ts'
import type { Registry } from './registry.ts'

/** Dependencies of a run of the engine. */
export interface RunContext {
  readonly registry: Registry
  readonly resolver: Resolver
  readonly egress: Egress
  readonly clock: () => Date
  readonly disposable: { has(domain: string, mxHosts: readonly string[]): boolean }
  readonly parking: ParkingLists
  readonly nameServerPort: number
  readonly readPages: boolean
}

/** Times that a name is postponed because its registry throttles; then its outcome is unknown. */
const MAX_THROTTLES = 10
const LEAST_LATER_MS = 250

/**
 * Names of batches whose DNS is queried concurrently, of one account alone 63; single calls need no
 * permit.
 */
const DNS_CONCURRENCY = 72

/** Names of batches that are begun before other work gets its turn. */
const BEGUN_A_TURN = 32

/**
 * Makes the run: every name of a request is checked once, and every registration queried once,
 * however many of its subdomains are in the request.
 */
export function createRun(
  context: RunContext,
): (request: EngineRequest<'domain'>) => Promise<readonly Answer<'domain'>[]> {
  const work: Work = {
    ...context,
    delegationOf: createDelegationCache(() => performance.now()),
    dnsPermits: createFairSemaphore({ shared: DNS_CONCURRENCY, live: 0 }),
    turns: createSemaphore(1),
  }
  return async (request) => {
    const startedMs = performance.now()
    const stamp = (): Stamp => ({
      now: context.clock(),
      durationMs: Math.round(performance.now() - startedMs),
    })
    const shared: Shared = { registrations: new Map(), told: new Map(), names: new Map() }
    const waits: Wait[] = []
    const answers = await inTurns(work, request, async (index) => {
      const { answer, group } = await answerOne(work, request, index, shared, stamp)
      if (answer.kind === 'later') waits.push({ index, answer, atMs: performance.now() })
      else request.answered?.(index, answer, group)
      return answer
    })
    for (const wait of waits) {
      const answer = fromNow(wait)
      answers[wait.index] = answer
      request.answered?.(wait.index, answer)
    }
    return answers
  }
}

/**
 * Begins all subjects of a request and awaits them. Those of batches are begun a few per turn of
 * the event loop, over all tasks: ten thousand at once would delay a single call by seconds.
 */
async function inTurns<T>(
  { turns }: Work,
  { subjects, lane }: EngineRequest<'domain'>,
  begin: (index: number) => Promise<T>,
): Promise<T[]> {
  const begun: Promise<T>[] = []
  for (const index of subjects.keys()) {
    if (lane === 'bulk' && index % BEGUN_A_TURN === 0) await turns.run(() => nextTurn())
    const answer = begin(index)
    // An error is thrown when all are awaited; until then it must not be unhandled.
    answer.catch(() => undefined)
    begun.push(answer)
  }
  return await Promise.all(begun)
}

interface Wait {
  readonly index: number
  readonly answer: Later
  readonly atMs: number
}

// Waiting names are reported when the rest is done: their delay counts from the end of the run.
function fromNow({ answer, atMs }: Wait): Later {
  const passedMs = performance.now() - atMs
  return { ...answer, afterMs: Math.max(LEAST_LATER_MS, Math.ceil(answer.afterMs - passedMs)) }
}

interface Work extends RunContext {
  readonly delegationOf: DelegationCache
  readonly dnsPermits: FairSemaphore
  /** Order in which batches begin names. */
  readonly turns: Semaphore
}

interface Shared {
  readonly registrations: Map<string, Promise<LookupResult>>
  /** What registries have said of registrations that are still looked up. */
  readonly told: Map<string, LookupResult>
  readonly names: Map<string, Promise<Found>>
}

type Caller = RegistryCaller & DnsCaller

type Found =
  | Extract<LookupResult, { kind: 'later' }>
  | { readonly kind: 'found'; readonly known: KnownFacts }

async function answerOne(
  work: Work,
  request: EngineRequest<'domain'>,
  index: number,
  shared: Shared,
  stamp: () => Stamp,
): Promise<{ readonly answer: Answer<'domain'>; readonly group?: string | undefined }> {
  const subject = request.subjects[index] ?? ''
  const name = readName(subject)
  if (name.kind === 'bad') {
    const { suffix } = name
    const part = suffix && (await orOnAbort(askDns(work, suffix, request), request.signal, NOTHING))
    return { answer: badNameOutcome(subject, name, stamp(), part) }
  }
  const throttles = throttlesOf(request.states?.[index])
  const { lane, account, signal } = request
  const caller: Caller = { lane, account, signal }
  const found = await once(shared.names, name.ascii, () => {
    const registering = registrationInTime(work, name, caller, shared)
    return findOut(work, name, registering, caller, throttles >= MAX_THROTTLES)
  })
  if (found.kind === 'later') return { answer: laterOf(found, throttles) }
  const { known } = found
  return { answer: domainOutcome(subject, known, stamp()), group: groupOf(known) }
}

/** The waiting group of the server that was queried just now; undefined if none was. */
function groupOf({ cached, registration }: KnownFacts): string | undefined {
  const { source, server } = registration
  return cached || source === null || server === null ? undefined : `${source}:${server}`
}

/** The registration of a name, or what its registry has said once the caller's time is over. */
async function registrationInTime(
  { registry }: Work,
  name: DomainName,
  caller: Caller,
  { registrations, told }: Shared,
): Promise<LookupResult> {
  const { registrable } = name
  const registering = once(registrations, registrable, () =>
    registry.lookUp(name, caller, (known) => void told.set(registrable, known)),
  )
  const lookup = await orOnAbort(registering, caller.signal, null)
  return lookup ?? told.get(registrable) ?? TIMED_OUT
}

async function findOut(
  work: Work,
  name: DomainName,
  registering: Promise<LookupResult>,
  caller: Caller,
  isLastTry: boolean,
): Promise<Found> {
  // In a batch, DNS is queried only after the registry: for a name that must wait it would be
  // queried twice.
  const early = caller.lane === 'live' ? askDns(work, name, caller) : null
  let lookup = await registering
  if (lookup.kind === 'later') {
    if (!isLastTry || lookup.reason !== 'registry_throttled') return lookup
    const registration: Registration = { ...UNKNOWN, reason: 'registry_throttled' }
    lookup = { kind: 'registration', registration, cached: false }
  }
  const part = await orOnAbort(early ?? askDns(work, name, caller), caller.signal, NOTHING)
  const { dns, mail, pageSaysSo } = part
  return {
    kind: 'found',
    known: {
      name,
      registration: judged(lookup.registration, dns, caller.signal),
      cached: lookup.cached,
      ...(lookup.atMs === undefined ? {} : { atMs: lookup.atMs }),
      dns,
      mail,
      disposable: work.disposable.has(
        name.ascii,
        dns.mx.map(({ exchange }) => exchange),
      ),
      parked: judgeParked(dns, work.parking, pageSaysSo),
    },
  }
}

interface DnsPart {
  readonly dns: DnsFacts
  readonly mail: MailPolicy
  readonly pageSaysSo: boolean | null
}

const NOTHING: DnsPart = { dns: NO_DNS, mail: NO_MAIL, pageSaysSo: null }

const TIMED_OUT: LookupResult = {
  kind: 'registration',
  registration: { ...UNKNOWN, reason: 'timeout' },
  cached: false,
}

async function askDns(work: Work, name: DomainName, caller: Caller): Promise<DnsPart> {
  const { lane, signal } = caller
  const resolver = resolverFor(work.resolver, caller)
  const ask = async (): Promise<DnsPart> => {
    if (signal.aborted) return NOTHING
    const [dns, mail, pageSaysSo] = await Promise.all([
      lookUpDns(name, { ...work, resolver, caller, signal }),
      lookUpMailPolicy(resolver, name.ascii, signal),
      work.readPages ? readParkingPage(name.ascii, { ...work, resolver }, signal) : null,
    ])
    return { dns, mail, pageSaysSo }
  }
  // A single call never waits behind the names of a batch.
  if (lane === 'live') return await ask()
  const leave = await work.dnsPermits.enter(caller)
  if (leave === null) return NOTHING
  try {
    return await ask()
  } finally {
    leave()
  }
}

// A server that is listed for a parent zone may not know the registry of a zone below it: its
// denial of a name that the DNS delegates does not count.
function judged(registration: Registration, dns: DnsFacts, signal: AbortSignal): Registration {
  if (registration.registered === null) {
    if (signal.aborted) return { ...registration, reason: 'timeout' }
    // Without DNS the registry's server was not found: that is no failure of the registry.
    const isOurs = dns.unavailable && registration.reason === 'registry_failed'
    return isOurs ? { ...registration, reason: 'dns_unavailable' } : registration
  }
  if (registration.reason === 'registration_lapsed') return registration
  // Its name servers are known then, whether or not they reply to us.
  const delegated = dns.delegation.nameServers.length > 0
  if (registration.registered || registration.exact || !delegated) return registration
  const fault = `${registration.server ?? 'a server'} denies a name that is delegated`
  return { ...UNKNOWN, faults: [...registration.faults, fault] }
}

/** How often the name was postponed because its registry throttles. */
function throttlesOf(state: Json | undefined): number {
  if (typeof state !== 'object' || state === null || !('throttles' in state)) return 0
  return Number(state['throttles']) || 0
}

function laterOf(lookup: Extract<LookupResult, { kind: 'later' }>, throttles: number): Later {
  const more = lookup.reason === 'registry_throttled' ? 1 : 0
  return { ...lookup, state: { throttles: throttles + more } }
}

function once<T>(held: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  const made = held.get(key) ?? make()
  held.set(key, made)
  return made
}
