import type { EngineRequest } from '@plumbline/ports/engine'
import type { Answer, Json, Later } from '@plumbline/contract/outcome'
import type { Egress } from '@plumbline/net/egress'
import type { Resolver } from '@plumbline/net/resolver'
import { lookUpDns } from './dns-facts.ts'
import type { DnsFacts } from './dns-facts.ts'
import { lookUpMailPolicy } from './mail-policy.ts'
import type { MailPolicy } from './mail-policy.ts'
import type { Turn } from './registry-rate-limiter.ts'
import { readName } from './name.ts'
import type { DomainName } from './name.ts'
import { NO_DNS, NO_MAIL, badNameOutcome, domainOutcome } from './outcome.ts'
import type { DomainFindings, Stamp } from './outcome.ts'
import { judgeParked, readParkingPage } from './parked.ts'
import type { ParkingLists } from './parked.ts'
import { UNKNOWN } from './registration.ts'
import type { Finding, Registration } from './registration.ts'
import type { Registry } from './registry.ts'

/** What a run of the engine works with. */
export interface RunContext {
  readonly registry: Registry
  readonly resolver: Resolver
  readonly egress: Egress
  readonly clock: () => Date
  readonly disposable: { has(domain: string): boolean }
  readonly parking: ParkingLists
  readonly nameServerPort: number
  readonly readPages: boolean
}

/** Times that a name comes back because its registry asked for peace, until it is unknown. */
const MAX_THROTTLES = 10
const LEAST_LATER_MS = 250

/** Names of lists whose DNS is asked at once. */
const DNS_AT_ONCE = 64

/**
 * Makes the run: every name is asked once however often it stands in the request, every registration
 * once however many of its subdomains do.
 */
export function createRun(
  context: RunContext,
): (request: EngineRequest<'domain'>) => Promise<readonly Answer<'domain'>[]> {
  const work: Work = { ...context, gate: createGate(DNS_AT_ONCE) }
  return async (request) => {
    const startedMs = performance.now()
    const stamp = (): Stamp => ({
      now: context.clock(),
      durationMs: Math.round(performance.now() - startedMs),
    })
    const shared: Shared = { registrations: new Map(), names: new Map() }
    const waits: Wait[] = []
    const answers = await Promise.all(
      request.subjects.map(async (_, index) => {
        const answer = await answerOne(work, request, index, shared, stamp)
        if (answer.kind === 'later') waits.push({ index, answer, atMs: performance.now() })
        else request.answered?.(index, answer)
        return answer
      }),
    )
    for (const wait of waits) {
      const answer = fromNow(wait)
      answers[wait.index] = answer
      request.answered?.(wait.index, answer)
    }
    return answers
  }
}

interface Wait {
  readonly index: number
  readonly answer: Later
  readonly atMs: number
}

// What waits is told so when the rest is done: the time is counted from when the run ends.
function fromNow({ answer, atMs }: Wait): Later {
  const passedMs = performance.now() - atMs
  return { ...answer, afterMs: Math.max(LEAST_LATER_MS, Math.ceil(answer.afterMs - passedMs)) }
}

interface Work extends RunContext {
  readonly gate: <T>(task: () => Promise<T>) => Promise<T>
}

interface Shared {
  readonly registrations: Map<string, Promise<Finding>>
  readonly names: Map<string, Promise<Found>>
}

type Found =
  | Extract<Finding, { kind: 'later' }>
  | { readonly kind: 'found'; readonly findings: DomainFindings }

async function answerOne(
  work: Work,
  request: EngineRequest<'domain'>,
  index: number,
  shared: Shared,
  stamp: () => Stamp,
): Promise<Answer<'domain'>> {
  const subject = request.subjects[index] ?? ''
  const name = readName(subject)
  if (name.kind === 'bad') return badNameOutcome(subject, name, stamp())
  const throttles = throttlesOf(request.states?.[index])
  const turn: Turn = { lane: request.lane, signal: request.signal }
  const found = await once(shared.names, name.ascii, () => {
    const lookUp = (): Promise<Finding> => work.registry.lookUp(name, turn, request.tenant)
    const registering = once(shared.registrations, name.registrable, lookUp)
    return findOut(work, name, registering, turn, throttles >= MAX_THROTTLES)
  })
  if (found.kind === 'later') return laterOf(found, throttles)
  return domainOutcome(subject, found.findings, stamp())
}

async function findOut(
  work: Work,
  name: DomainName,
  registering: Promise<Finding>,
  turn: Turn,
  impatient: boolean,
): Promise<Found> {
  // A list asks the DNS only once the registry has spoken: a name answered later would ask it twice.
  const early = turn.lane === 'live' ? askDns(work, name, turn.signal, true) : null
  let finding = await orOnAbort(registering, turn.signal, TIMED_OUT)
  if (finding.kind === 'later') {
    if (!impatient || finding.reason !== 'registry_throttled') return finding
    const registration: Registration = { ...UNKNOWN, reason: 'registry_throttled' }
    finding = { kind: 'registration', registration, cached: false }
  }
  const part = await orOnAbort(early ?? askDns(work, name, turn.signal), turn.signal, NOTHING)
  const { dns, mail, pageSaysSo } = part
  return {
    kind: 'found',
    findings: {
      name,
      registration: judged(finding.registration, dns, turn.signal),
      cached: finding.cached,
      ...(finding.atMs === undefined ? {} : { atMs: finding.atMs }),
      dns,
      mail,
      disposable: work.disposable.has(name.ascii),
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

const TIMED_OUT: Finding = {
  kind: 'registration',
  registration: { ...UNKNOWN, reason: 'timeout' },
  cached: false,
}

function askDns(
  work: Work,
  name: DomainName,
  signal: AbortSignal,
  atOnce = false,
): Promise<DnsPart> {
  const ask = async (): Promise<DnsPart> => {
    if (signal.aborted) return NOTHING
    const [dns, mail, pageSaysSo] = await Promise.all([
      lookUpDns(name, { resolver: work.resolver, signal, nameServerPort: work.nameServerPort }),
      lookUpMailPolicy(work.resolver, name.ascii, signal),
      work.readPages ? readParkingPage(name.ascii, work, signal) : null,
    ])
    return { dns, mail, pageSaysSo }
  }
  // A single call does not stand behind the names of a list.
  return atOnce ? ask() : work.gate(ask)
}

// A server that is listed for a zone further up may not know who runs the zone below it: its denial of
// a name that the DNS delegates is no denial.
function judged(registration: Registration, dns: DnsFacts, signal: AbortSignal): Registration {
  if (registration.registered === null) {
    if (signal.aborted) return { ...registration, reason: 'timeout' }
    // Without names no registry was found: that is no failure of the registry's.
    const isOurs = dns.unavailable && registration.reason === 'registry_failed'
    return isOurs ? { ...registration, reason: 'dns_unavailable' } : registration
  }
  if (registration.reason === 'registration_lapsed') return registration
  const delegated = ['ok', 'partly_lame', 'broken'].includes(dns.delegation.state)
  if (registration.registered || registration.exact || !delegated) return registration
  const fault = `${registration.server ?? 'a server'} denies a name that is delegated`
  return { ...UNKNOWN, faults: [...registration.faults, fault] }
}

/** How often the name came back because its registry asked for peace. */
function throttlesOf(state: Json | undefined): number {
  if (typeof state !== 'object' || state === null || !('throttles' in state)) return 0
  return Number(state['throttles']) || 0
}

function laterOf(finding: Extract<Finding, { kind: 'later' }>, throttles: number): Later {
  const more = finding.reason === 'registry_throttled' ? 1 : 0
  return { ...finding, state: { throttles: throttles + more } }
}

function once<T>(held: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  const made = held.get(key) ?? make()
  held.set(key, made)
  return made
}

async function orOnAbort<T>(promise: Promise<T>, signal: AbortSignal, fallback: T): Promise<T> {
  const { promise: ended, resolve } = Promise.withResolvers<T>()
  const onAbort = (): void => resolve(fallback)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    return await Promise.race([promise, ended])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function createGate(places: number): <T>(task: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let taken = 0
  return async (task) => {
    if (taken < places) taken++
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      if (next === undefined) taken--
      else next()
    }
  }
}
