import type { Answer } from '@plumbline/contract/outcome'
import type { Egress } from '@plumbline/net/egress'
import type { Resolver } from '@plumbline/net/resolver'
import type { EngineRequest } from '@plumbline/ports/engine'
import type { Sharing } from '@plumbline/ports/sharing'
import { afterTwoLooks, isDoubtful, restingOn, unknownFinding } from './finding.ts'
import type { AcceptAllFact, Finding, Verdict } from './finding.ts'
import type { Flights, Listener, Wanted } from './in-flight-probes.ts'
import { laterOf, overdue, withSecondLook } from './later.ts'
import type { Waiting, WaitState } from './later.ts'
import type { EmailLimits } from './limits.ts'
import { findAddresses } from './mx.ts'
import { mailboxOutcome } from './outcome.ts'
import type { Circumstances } from './outcome.ts'
import type { WayOut } from './port-25-health.ts'
import { evidenceAt, placeOf } from './probe-target.ts'
import type { Place, PlaceTools } from './probe-target.ts'
import type { HostsRoute, Ticket } from './queue.ts'
import type { Scheduler } from './scheduler.ts'
import type { Knowledge } from './verdict-cache.ts'

/** What runs work with. */
export interface RunTools extends PlaceTools, Sharing {
  readonly resolver: Resolver
  readonly egress: Egress
  readonly knowledge: Knowledge
  readonly flights: Flights
  readonly scheduler: Scheduler
  readonly way: WayOut
  readonly limits: EmailLimits
  readonly scheduleSeconds: readonly number[]
  readonly now: () => number
}

/** One request in work. */
export interface Run {
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
export interface Subject extends Wanted {
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

/** How long a dictionary guard keeps a subject back. */
const GUARD_MS = 15 * 60_000

/**
 * Finds out about a subject, by memory (`known`), by the names alone or by asking. Without a promise
 * where nothing is to be waited for, as for all but the first of a domain.
 */
export function start(run: Run, subject: Subject, known: Finding | undefined): void {
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
  const { tools } = run
  const { domain, literal } = subject.mailbox
  if (known !== undefined) {
    const acceptAll = await tools.knowledge.acceptAll(domain)
    if (isEnough(known, run, acceptAll)) {
      const host = known.evidence['mx_host']
      subject.hosts = typeof host === 'string' ? [host] : []
      conclude(run, subject, inTheLightOf(known, run, acceptAll), true)
      return
    }
  }
  if (literal) {
    conclude(run, subject, unknownFinding('domain_literal'), false)
    return
  }
  const route = await tools.directory.route(domain)
  if (run.answers[subject.index] !== undefined) return
  if (route.kind === 'hosts') await askHosts(run, subject, heldPlace(run, domain, route), known)
  else if (route.kind === 'failed') {
    const finding = unknownFinding(route.why)
    takeVerdict(run, subject, domain, { kind: 'wait', cause: 'silence', afterMs: 0, finding })
  } else conclude(run, subject, routeFinding(route.kind), false)
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

async function askHosts(
  run: Run,
  subject: Subject,
  place: Place,
  known: Finding | undefined,
): Promise<void> {
  const { tools } = run
  settleIn(subject, place)
  const end = (finding: Finding): void => conclude(run, subject, finding, false)
  if (place.off === 'opted_out') return end(unknownFinding('opted_out'))
  if (place.off === 'probing_off') return end(await namesFinding(tools, place.route))
  if (known !== undefined && isDoubtful(known) && subject.state.first === null) {
    // What another asker met a moment ago is a first look as good as any.
    return takeVerdict(run, subject, place.to.group, doubtOf(known))
  }
  if (tools.way.isShut()) {
    return end(afterTwoLooks(subject.state.first, unknownFinding('smtp_unavailable')))
  }
  const stops = tools.dictionary.stops(place.pair)
  if (stops === true || (stops !== false && (await stops))) {
    const finding = unknownFinding('probe_limit')
    return takeVerdict(run, subject, place.to.group, {
      kind: 'wait',
      cause: 'guard',
      afterMs: GUARD_MS,
      finding,
    })
  }
  if (run.answers[subject.index] === undefined) join(run, subject, place)
}

/** Waits for the ticket of the subject's address. */
function join(run: Run, subject: Subject, place: Place): void {
  const { tools, request } = run
  const listener = (verdict: Verdict): void => {
    const { mailbox } = verdict.finding
    // A second look is no second name that was tried.
    const isNew = subject.state.first === null && mailbox !== 'unknown'
    if (isNew) tools.dictionary.note(place.pair, mailbox === 'missing')
    takeVerdict(run, subject, place.to.group, verdict)
  }
  const { ticket, isNew } = tools.flights.join(subject, request, listener)
  subject.waits = { ticket, listener }
  if (!isNew) return
  const met = subject.state.first?.evidence['mx_address']
  const route = typeof met === 'string' ? { ...place.route, avoid: met } : place.route
  tools.scheduler.submit(ticket, { ...place.to, route })
}

function takeVerdict(run: Run, subject: Subject, group: string, verdict: Verdict): void {
  const { tools, request } = run
  const { first } = subject.state
  if (verdict.kind === 'finding') {
    conclude(run, subject, afterTwoLooks(first, verdict.finding), false)
    return
  }
  const waiting: Waiting = {
    verdict,
    state: subject.state,
    domain: subject.mailbox.domain,
    group,
    lane: request.lane,
    scheduleSeconds: tools.scheduleSeconds,
    limits: tools.limits,
    nowMs: tools.now(),
  }
  if (verdict.cause === 'doubt') {
    const finding = afterTwoLooks(first, verdict.finding)
    const { memoryKey: key, account: by } = subject
    tools.knowledge.learn({ findings: [{ key, finding, by }] })
  }
  const later = laterOf(waiting)
  if (later !== null) put(run, subject.index, later)
  else conclude(run, subject, afterTwoLooks(first, overdue(waiting)), false)
}

function doubtOf(finding: Finding): Verdict {
  return { kind: 'wait', cause: 'doubt', afterMs: 0, finding }
}

/** Whether what is remembered answers this request without another question. */
function isEnough(known: Finding, run: Run, acceptAll: AcceptAllFact | undefined): boolean {
  const { depth, lane } = run.request
  if (isDoubtful(known)) return lane === 'live' || run.tools.limits.secondLookMs === 0
  if (depth === 'basic' || known.mailbox !== 'accepted') return true
  return known.catchAll !== null || acceptAll !== undefined
}

/** What is remembered, with what is known of the domain by now. */
function inTheLightOf(known: Finding, run: Run, acceptAll: AcceptAllFact | undefined): Finding {
  if (isDoubtful(known)) return withSecondLook(known, run.tools.limits)
  if (known.mailbox !== 'accepted' || acceptAll === undefined || acceptAll.value === 'unknown')
    return known
  if (acceptAll.value === 'yes') {
    const both = restingOn(known, acceptAll, run.request.tenant)
    return { ...both, status: 'risky', reason: 'accept_all', catchAll: true, confidence: 'low' }
  }
  return known.catchAll === null && known.reason === 'accepted'
    ? { ...restingOn(known, acceptAll, run.request.tenant), catchAll: false, confidence: 'high' }
    : known
}

/** The finding of a domain that has no mail host to be asked. */
export function routeFinding(kind: 'null_mx' | 'no_domain' | 'no_mail_host'): Finding {
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

/** Answers a subject with what was found, unless it has its answer already. */
export function conclude(run: Run, subject: Subject, finding: Finding, cached: boolean): void {
  const { tools } = run
  const isShut = finding.reason === 'connect_failed' && tools.way.isShut()
  const told = isShut ? { ...finding, reason: 'smtp_unavailable' as const } : finding
  const evidence = evidenceAt(subject.place, finding)
  const flags = tools.directory.flags(subject.mailbox, subject.hosts)
  const when = circumstances(run, subject, cached, finding.atMs)
  const { index, text, mailbox } = subject
  put(run, index, mailboxOutcome(text, mailbox, { ...told, evidence }, flags, when))
}

/** Gives the answer of one subject; a second one is dropped. */
export function put(run: Run, index: number, answer: Answer<'email'>): void {
  if (run.answers[index] !== undefined) return
  run.answers[index] = answer
  run.open.delete(index)
  run.request.answered?.(index, answer)
  run.left--
  if (run.open.size < run.tools.limits.window / 2) run.wake?.()
  if (run.left === 0) run.done.resolve()
}

/** When and how an answer that is given now came; `foundMs`: when it was found out, where not just now. */
export function circumstances(
  run: Run,
  of: Pick<Subject, 'beganMs' | 'state'>,
  cached: boolean,
  foundMs?: number,
): Circumstances {
  const atMs = run.tools.now()
  return {
    cached,
    checkedAt: foundMs === undefined ? isoOf(run, atMs) : new Date(foundMs).toISOString(),
    durationMs: Math.max(0, atMs - of.beganMs),
    tries: of.state.tries,
  }
}

/** Many subjects end in the same millisecond. */
function isoOf(run: Run, atMs: number): string {
  if (run.clock.atMs !== atMs) run.clock = { atMs, iso: new Date(atMs).toISOString() }
  return run.clock.iso
}
