import type { EngineRequest } from '@plumbline/contract/engine'
import type { Answer } from '@plumbline/contract/outcome'
import type { Egress } from '../net/egress.ts'
import type { Resolver } from '../net/resolver.ts'
import type { EmailMetrics } from './engine.ts'
import { unknownFinding } from './finding.ts'
import type { Finding, Verdict } from './finding.ts'
import type { Flights, Listener, Wanted } from './flights.ts'
import { findingKey } from './knowledge.ts'
import type { Knowledge } from './knowledge.ts'
import { laterOf, overdue, waitStateOf } from './later.ts'
import type { WaitState } from './later.ts'
import type { EmailLimits } from './limits.ts'
import { findAddresses } from './mx.ts'
import { mailboxOutcome, syntaxOutcome } from './outcome.ts'
import { evidenceAt, placeOf } from './place.ts'
import type { Place, PlaceTools } from './place.ts'
import type { HostsRoute, Ticket } from './queue.ts'
import type { Scheduler } from './scheduler.ts'
import { parseMailbox } from './syntax.ts'
import { suggestDomain } from './typo.ts'
import type { WayOut } from './way-out.ts'

/** What runs work with. */
export interface RunTools extends PlaceTools {
  readonly resolver: Resolver
  readonly egress: Egress
  readonly knowledge: Knowledge
  readonly flights: Flights
  readonly scheduler: Scheduler
  readonly way: WayOut
  readonly limits: EmailLimits
  readonly scheduleSeconds: readonly number[]
  readonly metrics: EmailMetrics | undefined
  readonly now: () => number
}

/** One request in work. */
interface Run {
  readonly tools: RunTools
  readonly request: EngineRequest<'email'>
  readonly answers: (Answer<'email'> | undefined)[]
  /** Subjects begun and not answered. */
  readonly open: Map<number, Subject>
  /** Domains that subjects are asked about, for the life of the run. */
  readonly places: Map<string, Place>
  readonly done: PromiseWithResolvers<void>
  /** Wakes the reader of subjects when there is room again. */
  wake: (() => void) | null
  /** The last moment that was written out. */
  clock: { readonly atMs: number; readonly iso: string }
  left: number
}

/** A mailbox on its way to an answer. */
interface Subject extends Wanted {
  readonly index: number
  readonly text: string
  readonly state: WaitState
  readonly beganMs: number
  /** Where it is asked about; null before that is known. */
  place: Place | null
  hosts: readonly string[]
  /** The ticket it waits for, and what listens to it. */
  waits: { readonly ticket: Ticket; readonly listener: Listener } | null
}

/** Subjects looked up in memory at once. */
const LOOKUP_COUNT = 250

/** How long a dictionary guard keeps a subject back. */
const GUARD_MS = 15 * 60_000

/** Answers the subjects of one request, at most `limits.window` of them in work at once. */
export async function runRequest(
  tools: RunTools,
  request: EngineRequest<'email'>,
): Promise<readonly Answer<'email'>[]> {
  const run: Run = {
    tools,
    request,
    answers: Array.from({ length: request.subjects.length }),
    open: new Map(),
    places: new Map(),
    done: Promise.withResolvers(),
    wake: null,
    clock: { atMs: Number.NaN, iso: '' },
    left: request.subjects.length,
  }
  if (run.left === 0) return []
  const onAbort = (): void => expire(run)
  request.signal.addEventListener('abort', onAbort, { once: true })
  if (request.signal.aborted) onAbort()
  try {
    await readSubjects(run)
    await run.done.promise
  } finally {
    request.signal.removeEventListener('abort', onAbort)
    leaveAll(run)
  }
  return run.answers.filter((answer) => answer !== undefined)
}

async function readSubjects(run: Run): Promise<void> {
  const { tools, request } = run
  for (let from = 0; from < request.subjects.length && run.left > 0; from += LOOKUP_COUNT) {
    const batch: Subject[] = []
    request.subjects.slice(from, from + LOOKUP_COUNT).forEach((text, offset) => {
      const subject =
        run.answers[from + offset] === undefined ? begin(run, from + offset, text) : null
      if (subject !== null) batch.push(subject)
    })
    const known = await tools.knowledge.findings(batch.map(({ memoryKey }) => memoryKey))
    batch.forEach((subject, at) => start(run, subject, known[at]))
    while (run.open.size >= tools.limits.window && run.left > 0) {
      const room = Promise.withResolvers<void>()
      run.wake = room.resolve
      await Promise.race([room.promise, run.done.promise])
      run.wake = null
    }
  }
}

/** Parses a text; one that is no mailbox is answered at once. */
function begin(run: Run, index: number, text: string): Subject | null {
  const beganMs = run.tools.now()
  const mailbox = parseMailbox(text)
  const state = waitStateOf(run.request.states?.[index])
  if (!mailbox.ok) {
    const when = circumstances(run, { beganMs, state }, false)
    put(run, index, syntaxOutcome(text, mailbox, suggestDomain(text), when))
    return null
  }
  const address = `${mailbox.local}@${mailbox.domain}`
  const subject: Subject = {
    index,
    text,
    mailbox,
    address,
    memoryKey: findingKey(address),
    state,
    beganMs,
    place: null,
    hosts: [],
    waits: null,
  }
  run.open.set(index, subject)
  return subject
}

function put(run: Run, index: number, answer: Answer<'email'>): void {
  if (run.answers[index] !== undefined) return
  run.answers[index] = answer
  run.open.delete(index)
  run.request.answered?.(index, answer)
  run.left--
  if (run.open.size < run.tools.limits.window / 2) run.wake?.()
  if (run.left === 0) run.done.resolve()
}

/** Time is up: what is open, or was not even begun, is unknown. */
function expire(run: Run): void {
  leaveAll(run)
  run.request.subjects.forEach((text, index) => {
    if (run.answers[index] !== undefined) return
    const subject = run.open.get(index) ?? begin(run, index, text)
    if (subject !== null) conclude(run, subject, unknownFinding('timeout'), false)
  })
}

function leaveAll(run: Run): void {
  for (const { waits } of run.open.values()) {
    if (waits !== null) run.tools.flights.leave(waits.ticket, waits.listener)
  }
}

function conclude(run: Run, subject: Subject, finding: Finding, cached: boolean): void {
  const { tools } = run
  const isShut = finding.reason === 'connect_failed' && tools.way.isShut()
  const told = isShut ? { ...finding, reason: 'smtp_unavailable' as const } : finding
  const evidence = evidenceAt(subject.place, finding)
  const flags = tools.directory.flags(subject.mailbox, subject.hosts)
  const when = circumstances(run, subject, cached)
  const provider = evidence['provider']
  tools.metrics?.verdict(typeof provider === 'string' ? provider : 'none', told.status, told.reason)
  const { index, text, mailbox } = subject
  put(run, index, mailboxOutcome(text, mailbox, { ...told, evidence }, flags, when))
}

function circumstances(run: Run, of: Pick<Subject, 'beganMs' | 'state'>, cached: boolean) {
  const atMs = run.tools.now()
  return {
    cached,
    checkedAt: isoOf(run, atMs),
    durationMs: Math.max(0, atMs - of.beganMs),
    tries: of.state.tries,
  }
}

/** Many subjects end in the same millisecond. */
function isoOf(run: Run, atMs: number): string {
  if (run.clock.atMs !== atMs) run.clock = { atMs, iso: new Date(atMs).toISOString() }
  return run.clock.iso
}

/** Without a promise where nothing is to be waited for, as for all but the first of a domain. */
function start(run: Run, subject: Subject, known: Finding | undefined): void {
  if (run.answers[subject.index] !== undefined) return
  const place = run.places.get(subject.mailbox.domain)
  const isOpen = place !== undefined && place.off === null && known === undefined
  if (isOpen && !run.tools.way.isShut() && run.tools.dictionary.stops(place.pair) === false) {
    settleIn(subject, place)
    join(run, subject, place)
    return
  }
  startSlowly(run, subject, known).catch((error: unknown) => run.done.reject(error))
}

async function startSlowly(run: Run, subject: Subject, known: Finding | undefined): Promise<void> {
  const { tools, request } = run
  const { domain, literal } = subject.mailbox
  if (known !== undefined) {
    const acceptAll = await tools.knowledge.acceptAll(domain)
    if (isEnough(known, request, acceptAll)) {
      const host = known.evidence['mx_host']
      subject.hosts = typeof host === 'string' ? [host] : []
      conclude(run, subject, withAcceptAll(known, acceptAll), true)
      return
    }
  }
  if (literal) {
    conclude(run, subject, unknownFinding('domain_literal'), false)
    return
  }
  const route = await tools.directory.route(domain)
  if (run.answers[subject.index] !== undefined) return
  if (route.kind === 'hosts') await askHosts(run, subject, heldPlace(run, domain, route))
  else conclude(run, subject, routeFinding(route.kind), false)
}

function heldPlace(run: Run, domain: string, route: HostsRoute): Place {
  let place = run.places.get(domain)
  if (place === undefined) {
    place = placeOf(run.tools, run.request.tenant, domain, route)
    run.places.set(domain, place)
  }
  return place
}

function settleIn(subject: Subject, place: Place): void {
  subject.place = place
  subject.hosts = place.route.exchanges
}

async function askHosts(run: Run, subject: Subject, place: Place): Promise<void> {
  const { tools } = run
  settleIn(subject, place)
  const end = (finding: Finding): void => conclude(run, subject, finding, false)
  if (place.off === 'opted_out') return end(unknownFinding('opted_out'))
  if (place.off === 'probing_off') return end(await namesFinding(tools, place.route))
  if (tools.way.isShut()) return end(unknownFinding('smtp_unavailable'))
  const stops = tools.dictionary.stops(place.pair)
  if (stops === true || (stops !== false && (await stops))) {
    takeVerdict(run, subject, place, {
      kind: 'wait',
      cause: 'guard',
      afterMs: GUARD_MS,
      finding: unknownFinding('probe_limit'),
    })
    return
  }
  if (run.answers[subject.index] === undefined) join(run, subject, place)
}

/** Waits for the ticket of the subject's address. */
function join(run: Run, subject: Subject, place: Place): void {
  const { tools, request } = run
  const listener = (verdict: Verdict): void => takeVerdict(run, subject, place, verdict)
  const { ticket, isNew } = tools.flights.join(subject, request, listener)
  subject.waits = { ticket, listener }
  if (isNew) tools.scheduler.submit(ticket, place.to)
}

function takeVerdict(run: Run, subject: Subject, place: Place, verdict: Verdict): void {
  const { tools, request } = run
  const { domain } = subject.mailbox
  const { finding } = verdict
  if (finding.mailbox !== 'unknown') {
    tools.dictionary.note(place.pair, finding.mailbox === 'missing')
  }
  if (verdict.kind === 'finding') {
    conclude(run, subject, finding, false)
    return
  }
  const { limits, scheduleSeconds } = tools
  const { state } = subject
  const { lane } = request
  const waiting = {
    verdict,
    state,
    domain,
    group: place.to.group,
    lane,
    scheduleSeconds,
    limits,
    nowMs: tools.now(),
  }
  const later = laterOf(waiting)
  if (later === null) conclude(run, subject, overdue(waiting), false)
  else put(run, subject.index, later)
}

/** Whether what is remembered answers this request without another question. */
function isEnough(
  known: Finding,
  request: EngineRequest<'email'>,
  acceptAll: string | undefined,
): boolean {
  if (request.depth === 'basic' || known.mailbox !== 'accepted') return true
  return known.catchAll !== null || acceptAll !== undefined
}

/** A remembered acceptance in the light of what is known of the domain by now. */
function withAcceptAll(known: Finding, acceptAll: string | undefined): Finding {
  if (known.mailbox !== 'accepted' || acceptAll === undefined || acceptAll === 'unknown')
    return known
  if (acceptAll === 'yes') {
    return { ...known, status: 'risky', reason: 'accept_all', catchAll: true, confidence: 'low' }
  }
  return known.catchAll === null && known.reason === 'accepted'
    ? { ...known, catchAll: false, confidence: 'high' }
    : known
}

function routeFinding(kind: 'null_mx' | 'no_domain' | 'no_mail_host' | 'failed'): Finding {
  if (kind === 'failed') return unknownFinding('dns_failed')
  return { ...unknownFinding(kind), status: 'undeliverable', smtpValid: false, confidence: 'high' }
}

/** Without probing the names alone answer: whether any mail host exists. */
async function namesFinding(tools: RunTools, route: HostsRoute): Promise<Finding> {
  for (const host of route.hosts) {
    const found = await findAddresses(tools.resolver, tools.egress.permits, host)
    if (found.kind !== 'none') return unknownFinding('probing_off')
  }
  return routeFinding('no_mail_host')
}
