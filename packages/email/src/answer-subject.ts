import type { Answer, EngineRequest } from '@plumbline/ports/engine'
import type { Egress } from '@plumbline/net/egress'
import { resolverFor, type Resolver } from '@plumbline/net/resolver'
import type { Sharing } from '@plumbline/ports/sharing'
import { afterRecheck, needsRecheck, noHostResult } from './probe-result.ts'
import { withOlderFact, unknownResult } from './probe-result.ts'
import type { AcceptAllFact, ProbeResult, ProbeWait } from './probe-result.ts'
import type { InFlightProbes, Listener, ProbeRequest } from './in-flight-probes.ts'
import { laterOf, overdue, waitingGroupOf, withRecheckTime } from './later.ts'
import type { Waiting, WaitState } from './later.ts'
import type { EmailLimits } from './limits.ts'
import { findAddresses, hasOtherHosts } from './mx.ts'
import type { OutageWatch, OurPart } from './outage.ts'
import { mailboxOutcome } from './outcome.ts'
import type { Circumstances } from './outcome.ts'
import type { Port25Health } from './port-25-health.ts'
import { evidenceAt, probeTargetOf } from './probe-target.ts'
import type { ProbeTarget, TargetTools } from './probe-target.ts'
import type { HostsRoute, Probe } from './probe-queue.ts'
import type { ConnectionPool } from './connection-pool.ts'
import type { ProbeCache } from './probe-cache.ts'

/** The parts of the engine that a run uses. */
export interface RunTools extends TargetTools, Sharing {
  readonly resolver: Resolver
  readonly egress: Egress
  readonly cache: ProbeCache
  readonly inFlight: InFlightProbes
  readonly pool: ConnectionPool
  readonly port25: Port25Health
  readonly outage: OutageWatch
  readonly limits: EmailLimits
  readonly scheduleSeconds: readonly number[]
  readonly now: () => number
}

/** State of one request while it runs. */
export interface Run {
  readonly tools: RunTools
  readonly request: EngineRequest<'email'>
  readonly answers: (Answer<'email'> | undefined)[]
  /** Subjects that were begun and have no outcome yet, by index. */
  readonly open: Map<number, Subject>
  /** Probe targets by domain, for the life of the run. */
  readonly targets: Map<string, ProbeTarget>
  readonly done: PromiseWithResolvers<void>
  /** Lets the run begin more subjects when fewer than half of the window are open. */
  wake: (() => void) | null
  /** Cache of the last formatted time: many subjects end in the same millisecond. */
  clock: { readonly atMs: number; readonly iso: string }
  left: number
}

/** A mailbox that is being checked. */
export interface Subject extends ProbeRequest {
  readonly index: number
  readonly text: string
  readonly state: WaitState
  readonly beganMs: number
  /** The probe target of its domain; null until it is known. */
  target: ProbeTarget | null
  hosts: readonly string[]
  /** The probe that the subject waits for, and the listener for its result. */
  waits: { readonly probe: Probe; readonly listener: Listener } | null
}

/** Milliseconds by which the dictionary-attack guard delays a subject. */
const GUARD_MS = 15 * 60_000

/**
 * Finds the outcome of a subject: from the cache (`known`), from DNS alone, or by a probe. Creates
 * no promise unless something must be awaited, which for most subjects of a domain is not the case.
 */
export function answerSubject(run: Run, subject: Subject, known: ProbeResult | undefined): void {
  if (run.answers[subject.index] !== undefined) return
  const target = run.targets.get(subject.mailbox.domain)
  const isOpen = target !== undefined && target.off === null && known === undefined
  if (
    isOpen &&
    !run.tools.port25.isBlocked() &&
    run.tools.dictionary.stops(target.pair) === false
  ) {
    setTarget(subject, target)
    join(run, subject, target)
    return
  }
  lookUpFirst(run, subject, known).catch((error: unknown) => run.done.reject(error))
}

async function lookUpFirst(
  run: Run,
  subject: Subject,
  known: ProbeResult | undefined,
): Promise<void> {
  const { tools } = run
  const { domain, literal } = subject.mailbox
  if (known !== undefined) {
    const acceptAll = await tools.cache.acceptAll(domain)
    if (isEnough(known, run, acceptAll)) {
      const host = known.evidence['mx_host']
      subject.hosts = typeof host === 'string' ? [host, ...(known.otherHosts ?? [])] : []
      answerWith(run, subject, withAcceptAll(known, run, acceptAll), true)
      return
    }
  }
  if (literal) {
    answerWith(run, subject, unknownResult('domain_literal'), false)
    return
  }
  const route = await tools.domains.route(domain, run.request)
  if (run.answers[subject.index] !== undefined) return
  if (route.kind === 'hosts') await askHosts(run, subject, targetFor(run, domain, route), known)
  else if (route.kind === 'failed') {
    const wait = { cause: 'no_reply', afterMs: 0 } as const
    takeResult(run, subject, domain, { ...unknownResult(route.why), wait })
  } else answerWith(run, subject, noHostResult(route.kind), false)
}

function targetFor(run: Run, domain: string, route: HostsRoute): ProbeTarget {
  let target = run.targets.get(domain)
  if (target === undefined) {
    target = probeTargetOf(run.tools, run.request.account, domain, route)
    run.targets.set(domain, target)
  }
  return target
}

function setTarget(subject: Subject, target: ProbeTarget): void {
  subject.target = target
  subject.hosts = target.route.exchanges
}

async function askHosts(
  run: Run,
  subject: Subject,
  target: ProbeTarget,
  known: ProbeResult | undefined,
): Promise<void> {
  const { tools } = run
  setTarget(subject, target)
  const end = (result: ProbeResult): void => answerWith(run, subject, result, false)
  if (target.off === 'opted_out') return end(unknownResult('opted_out'))
  if (target.off === 'probing_off') return end(await resultOfNames(run, target.route, target.off))
  if (known !== undefined && needsRecheck(known) && subject.state.first === null) {
    // A refusal that another account just got counts as the first try.
    const wait = { cause: 'recheck', afterMs: 0 } as const
    return takeResult(run, subject, target.to.group, { ...known, wait })
  }
  if (tools.port25.isBlocked()) {
    const result = await resultOfNames(run, target.route, 'smtp_unavailable')
    return end(afterRecheck(subject.state.first, result))
  }
  const stops = tools.dictionary.stops(target.pair)
  if (stops === true || (stops !== false && (await stops))) {
    const wait = { cause: 'guard', afterMs: GUARD_MS } as const
    return takeResult(run, subject, target.to.group, { ...unknownResult('probe_limit'), wait })
  }
  if (run.answers[subject.index] === undefined) join(run, subject, target)
}

/** Waits for the probe of the subject's address, and submits one unless it is in flight. */
function join(run: Run, subject: Subject, target: ProbeTarget): void {
  const { tools, request } = run
  const listener = (result: ProbeResult): void => {
    const { mailbox } = result
    // A recheck does not count as another name.
    const isNew = subject.state.first === null && mailbox !== 'unknown'
    if (isNew) tools.dictionary.note(target.pair, mailbox === 'missing')
    takeResult(run, subject, target.to.group, result)
  }
  const heard = (): void => request.heard?.(subject.index)
  const { probe, isNew } = tools.inFlight.join(subject, request, listener, heard)
  subject.waits = { probe, listener }
  if (!isNew) {
    if (probe.account !== subject.account) tools.pool.joined(probe, target.to, subject.account)
    return
  }
  const avoid = subject.state.first?.evidence['mx_address']
  const { to } = target
  const route = typeof avoid === 'string' ? { ...to.route, avoid } : to.route
  tools.pool.submit(probe, { ...to, route })
}

/**
 * Turns a final probe result into the answer; a result that must wait becomes `later` if the lane
 * allows that.
 */
function takeResult(run: Run, subject: Subject, group: string, result: ProbeResult): void {
  const { tools, request } = run
  const { first } = subject.state
  const { wait } = result
  if (wait === undefined) {
    answerWith(run, subject, afterRecheck(first, result), false)
    return
  }
  const mayBeOurs = request.lane === 'bulk' || result.reason === 'dns_failed'
  if (wait.cause !== 'no_reply' || !mayBeOurs) {
    takeWait(run, subject, group, { result, wait, failedPart: null })
    return
  }
  const { outage } = tools
  const isCall = request.lane === 'live'
  const silence = isCall ? outage.failedPartOfCall(result) : outage.failedPart(result)
  silence.then(
    (failedPart) => {
      // A failed lookup says nothing about the domain.
      const attributed =
        failedPart === 'resolver' ? { ...result, reason: 'dns_unavailable' as const } : result
      takeWait(run, subject, group, { result: attributed, wait, failedPart })
    },
    (error: unknown) => run.done.reject(error),
  )
}

function takeWait(
  run: Run,
  subject: Subject,
  group: string,
  {
    result,
    wait,
    failedPart,
  }: { result: ProbeResult; wait: ProbeWait; failedPart: OurPart | null },
): void {
  const { tools, request } = run
  const { first } = subject.state
  const waiting: Waiting = {
    result,
    wait,
    failedPart,
    state: subject.state,
    domain: subject.mailbox.domain,
    group,
    lane: request.lane,
    scheduleSeconds: tools.scheduleSeconds,
    limits: tools.limits,
    nowMs: tools.now(),
  }
  if (wait.cause === 'recheck') {
    const { memoryKey: key, account: by } = subject
    tools.cache.remember({ results: [{ key, result: afterRecheck(first, result), by }] })
  }
  const later = laterOf(waiting)
  if (later !== null) setAnswer(run, subject.index, later)
  else answerWith(run, subject, afterRecheck(first, overdue(waiting)), false)
}

/** Whether a cached result answers this request without another probe. */
function isEnough(known: ProbeResult, run: Run, acceptAll: AcceptAllFact | undefined): boolean {
  const { depth, lane } = run.request
  if (needsRecheck(known)) return lane === 'live' || run.tools.limits.recheckMs === 0
  if (depth === 'basic' || known.mailbox !== 'accepted') return true
  return known.catchAll !== null || acceptAll !== undefined
}

/** A cached result with the current accept-all fact of the domain. */
function withAcceptAll(
  known: ProbeResult,
  run: Run,
  acceptAll: AcceptAllFact | undefined,
): ProbeResult {
  if (needsRecheck(known)) return withRecheckTime(known, run.tools.limits)
  if (known.mailbox !== 'accepted' || acceptAll === undefined || acceptAll.value === 'unknown')
    return known
  if (acceptAll.value === 'yes') {
    const both = withOlderFact(known, acceptAll, run.request.account)
    return { ...both, status: 'risky', reason: 'accept_all', catchAll: true, confidence: 'low' }
  }
  return known.catchAll === null && known.reason === 'accepted'
    ? {
        ...withOlderFact(known, acceptAll, run.request.account),
        catchAll: false,
        confidence: 'high',
      }
    : known
}

/** The result from DNS alone, if no host is asked for this reason: whether any mail host exists. */
async function resultOfNames(
  { tools, request }: Run,
  route: HostsRoute,
  reason: 'probing_off' | 'smtp_unavailable',
): Promise<ProbeResult> {
  const resolver = resolverFor(tools.resolver, request)
  for (const host of route.hosts) {
    const found = await findAddresses(resolver, tools.egress.permits, host, request.signal)
    if (found.kind !== 'none') return unknownResult(reason)
  }
  return hasOtherHosts(route) ? unknownResult(reason) : noHostResult('no_mail_host')
}

/** Answers a subject with a result, unless it is answered already. */
export function answerWith(run: Run, subject: Subject, result: ProbeResult, cached: boolean): void {
  const { tools } = run
  const isBlocked = result.reason === 'connect_failed' && tools.port25.isBlocked()
  const shown = isBlocked ? { ...result, reason: 'smtp_unavailable' as const } : result
  const evidence = evidenceAt(subject.target, result)
  const flags = tools.domains.flags(subject.mailbox, subject.hosts)
  const when = circumstances(run, subject, cached, result.atMs)
  const { index, text, mailbox } = subject
  const answer = mailboxOutcome(text, mailbox, { ...shown, evidence }, flags, when)
  const asked = cached || subject.waits === null ? null : subject.target
  setAnswer(run, index, answer, asked === null ? undefined : waitingGroupOf(asked.to.group))
}

/**
 * Sets the answer of one subject; a second one is ignored.
 *
 * @param group the provider group under whose limit a host was asked
 */
export function setAnswer(run: Run, index: number, answer: Answer<'email'>, group?: string): void {
  if (run.answers[index] !== undefined) return
  run.answers[index] = answer
  run.open.delete(index)
  run.request.answered?.(index, answer, group)
  run.left--
  if (run.open.size < run.tools.limits.window / 2) run.wake?.()
  if (run.left === 0) run.done.resolve()
}

/** The times of an answer that is given now; `foundMs`: when it was found out, if earlier. */
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

function isoOf(run: Run, atMs: number): string {
  if (run.clock.atMs !== atMs) run.clock = { atMs, iso: new Date(atMs).toISOString() }
  return run.clock.iso
}
