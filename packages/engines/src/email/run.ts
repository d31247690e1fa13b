import type { EngineRequest } from '@plumbline/contract/engine'
import type { Answer, Json } from '@plumbline/contract/outcome'
import { judgeDomain } from './disposable.ts'
import type { EmailEngineOptions, EmailLists, WayOut } from './engine.ts'
import { unknownFinding } from './finding.ts'
import type { Finding, Verdict } from './finding.ts'
import type { DictionaryGuard } from './guard.ts'
import type { Knowledge } from './knowledge.ts'
import type { EmailLimits } from './limits.ts'
import { findAddresses, findRoute } from './mx.ts'
import type { MailRoute } from './mx.ts'
import { mailboxOutcome, syntaxOutcome } from './outcome.ts'
import type { Circumstances, Flags } from './outcome.ts'
import { providerOf } from './providers.ts'
import type { HostsRoute, Ticket } from './queue.ts'
import type { Destination, Scheduler } from './scheduler.ts'
import { parseMailbox } from './syntax.ts'
import type { ParsedMailbox } from './syntax.ts'
import type { EntryList, TrapMatcher } from './traps.ts'
import { suggestDomain, suggestFor } from './typo.ts'

/** What a run works with. */
export interface RunnerOptions extends Omit<EmailEngineOptions, 'lists' | 'limits'> {
  readonly lists: () => EmailLists
  readonly limits: EmailLimits
  readonly knowledge: Knowledge
  readonly scheduler: Scheduler
  readonly dictionary: DictionaryGuard
  readonly way: WayOut
  readonly now: () => number
  readonly random: () => number
  readonly compileTraps: (list: EntryList) => TrapMatcher
  readonly groupOf: (host: string) => string
}

/** Answers the subjects of one request. */
export interface Runner {
  run(request: EngineRequest<'email'>): Promise<readonly Answer<'email'>[]>
}

/** A subject on its way to an answer. */
interface Subject {
  readonly index: number
  readonly text: string
  readonly mailbox: ParsedMailbox
  readonly state: WaitState
  readonly beganMs: number
}

/** What a subject that came back carries. */
interface WaitState {
  /** Retries after temporary refusals. */
  readonly tries: number
  /** Since when it waits at all, by our clock; 0 for not yet. */
  readonly sinceMs: number
}

/** A ticket shared by all who ask the same at the same time. */
interface Flight {
  readonly ticket: Ticket
  readonly listeners: Set<(verdict: Verdict) => void>
}

/** Subjects looked up in memory at once. */
const LOOKUP_COUNT = 250

/** Domains whose route is held in this process, and for how long; the resolver keeps its own. */
const ROUTES_MAX = 20_000
const ROUTE_MS = 60_000

type DomainFlags = Pick<Flags, 'judgement' | 'didYouMean' | 'listVersion'>

/** Makes the runner of one engine. */
export function createRunner(options: RunnerOptions): Runner {
  const { limits, knowledge, scheduler, now } = options
  const flights = new Map<string, Flight>()
  const routes = new Map<string, { readonly route: Promise<MailRoute>; readonly untilMs: number }>()
  const traps = new WeakMap<EntryList, TrapMatcher>()

  const destinations = new WeakMap<HostsRoute, Destination>()
  const destinationOf = (domain: string, route: HostsRoute): Destination => {
    let to = destinations.get(route)
    if (to === undefined) {
      const first = route.hosts[0] ?? domain
      const provider = providerOf(first)
      const sources = options.smtp.sourceAddresses ?? []
      to = {
        route,
        provider,
        group: provider.id === 'other' ? options.groupOf(first) : provider.id,
        // Greylisting knows a sender by its address, so a domain always sees the same one.
        source: sources.length === 0 ? undefined : sources[spread(domain) % sources.length],
      }
      destinations.set(route, to)
    }
    return to
  }

  const routeOf = (domain: string, signal: AbortSignal): Promise<MailRoute> => {
    const held = routes.get(domain)
    if (held !== undefined && held.untilMs > now()) return held.route
    const route = findRoute(options.resolver, domain, options.random)
    holdNewest(routes, domain, { route, untilMs: now() + ROUTE_MS }, ROUTES_MAX)
    void route.then((met) => {
      if (met.kind === 'failed') routes.delete(domain)
    })
    return signal.aborted ? Promise.resolve({ kind: 'failed' }) : route
  }

  const trapsOf = (list: EntryList): TrapMatcher => {
    let matcher = traps.get(list)
    if (matcher === undefined) {
      matcher = options.compileTraps(list)
      traps.set(list, matcher)
    }
    return matcher
  }

  const domainFlags = new Map<string, DomainFlags>()
  let flaggedBy: EmailLists | null = null
  const domainFlagsOf = (
    domain: string,
    hosts: readonly string[],
    lists: EmailLists,
  ): DomainFlags => {
    if (flaggedBy !== lists) {
      flaggedBy = lists
      domainFlags.clear()
    }
    const key = `${domain} ${hosts[0] ?? ''}`
    let flags = domainFlags.get(key)
    if (flags === undefined) {
      const judgement = judgeDomain(domain, hosts, lists)
      const known = judgement.free || judgement.disposable || judgement.relay
      flags = {
        judgement,
        didYouMean: known ? null : suggestFor(domain),
        listVersion: lists.disposable.date,
      }
      holdNewest(domainFlags, key, flags, ROUTES_MAX)
    }
    return flags
  }
  const flagsOf = (mailbox: ParsedMailbox, hosts: readonly string[]): Flags => {
    const lists = options.lists()
    return {
      ...domainFlagsOf(mailbox.domain, hosts, lists),
      role: lists.role.exact(untagged(mailbox.local)),
      trap: trapsOf(lists.spamTrap).match(mailbox.local, mailbox.domain),
    }
  }

  const run = async (request: EngineRequest<'email'>): Promise<readonly Answer<'email'>[]> => {
    const answers: (Answer<'email'> | undefined)[] = Array.from({ length: request.subjects.length })
    const open = new Map<number, Subject>()
    const leavers = new Set<() => void>()
    let room: (() => void) | null = null
    const done = Promise.withResolvers<void>()
    let left = request.subjects.length
    if (left === 0) return []

    const put = (index: number, answer: Answer<'email'>): void => {
      if (answers[index] !== undefined) return
      answers[index] = answer
      open.delete(index)
      request.answered?.(index, answer)
      left--
      if (open.size < limits.window / 2) room?.()
      if (left === 0) done.resolve()
    }
    const when = (
      subject: { beganMs: number; state: WaitState },
      cached: boolean,
    ): Circumstances => {
      const atMs = now()
      return {
        cached,
        checkedAt: new Date(atMs).toISOString(),
        durationMs: Math.max(0, atMs - subject.beganMs),
        tries: subject.state.tries,
      }
    }
    const conclude = (
      subject: Subject,
      finding: Finding,
      cached: boolean,
      hosts: readonly string[],
    ): void => {
      const shut = finding.reason === 'connect_failed' && options.way.isShut()
      const told = shut ? { ...finding, reason: 'smtp_unavailable' as const } : finding
      const flags = flagsOf(subject.mailbox, hosts)
      const outcome = mailboxOutcome(
        subject.text,
        subject.mailbox,
        told,
        flags,
        when(subject, cached),
      )
      const provider = told.evidence['provider']
      options.metrics?.verdict(
        typeof provider === 'string' ? provider : 'none',
        told.status,
        told.reason,
      )
      put(subject.index, outcome)
    }

    const expire = (): void => {
      for (const leave of leavers) leave()
      request.subjects.forEach((text, index) => {
        if (answers[index] !== undefined) return
        const subject = open.get(index) ?? begin(text, index, request, now())
        if ('mailbox' in subject && subject.mailbox.ok) {
          conclude(subject as Subject, unknownFinding('timeout'), false, [])
        } else put(index, syntaxAnswer(text, now(), when))
      })
    }

    const start = async (subject: Subject, known: Finding | undefined): Promise<void> => {
      const { mailbox } = subject
      if (
        known !== undefined &&
        isEnough(known, request, await knowledge.acceptAll(mailbox.domain))
      ) {
        const host = known.evidence['mx_host']
        const finding = withAcceptAll(known, await knowledge.acceptAll(mailbox.domain))
        conclude(subject, finding, true, typeof host === 'string' ? [host] : [])
        return
      }
      if (mailbox.literal) {
        conclude(subject, unknownFinding('domain_literal'), false, [])
        return
      }
      const route = await routeOf(mailbox.domain, request.signal)
      if (answers[subject.index] !== undefined) return
      if (route.kind !== 'hosts') {
        conclude(subject, routeFinding(route.kind), false, [])
        return
      }
      await askHosts(subject, route)
    }

    const askHosts = async (subject: Subject, route: HostsRoute): Promise<void> => {
      const { mailbox } = subject
      const to = destinationOf(mailbox.domain, route)
      const { provider, group } = to
      const base = {
        mx_host: route.hosts[0] ?? mailbox.domain,
        provider: provider.id,
        ...(route.implicit ? { implicit_mx: true } : {}),
      }
      const end = (finding: Finding): void =>
        conclude(
          subject,
          { ...finding, evidence: { ...base, ...finding.evidence } },
          false,
          route.exchanges,
        )
      if (options.lists().optOut.has(mailbox.domain)) return end(unknownFinding('opted_out'))
      const off = options.probingOff ?? []
      if (options.probing === 'dns_only' || off.includes(provider.id) || off.includes(group)) {
        return end(await hostlessFinding(options, route))
      }
      if (options.way.isShut()) return end(unknownFinding('smtp_unavailable'))
      const take = (verdict: Verdict): void => {
        if (verdict.kind === 'finding') return settle(verdict.finding)
        const answer = laterOf(subject, verdict, group, request, options)
        if (answer === null) settle(overdue(verdict, options, subject, request))
        else put(subject.index, answer)
      }
      const settle = (finding: Finding): void => {
        if (finding.smtpValid !== null || finding.mailbox !== 'unknown') {
          options.dictionary.note(request.tenant, mailbox.domain, finding.mailbox === 'missing')
        }
        end(finding)
      }
      if (await options.dictionary.stops(request.tenant, mailbox.domain)) {
        take({
          kind: 'wait',
          cause: 'guard',
          afterMs: 15 * 60_000,
          finding: unknownFinding('probe_limit'),
        })
        return
      }
      if (answers[subject.index] === undefined) join(subject, to, take)
    }

    const join = (subject: Subject, to: Destination, take: (verdict: Verdict) => void): void => {
      const { mailbox } = subject
      const address = `${mailbox.local}@${mailbox.domain}`
      const key = `${request.lane} ${request.depth} ${address}`
      let flight = flights.get(key)
      const isNew = flight === undefined
      flight ??= newFlight(key, address, mailbox, request, flights, now())
      const current = flight
      const leave = (): void => {
        leavers.delete(leave)
        current.listeners.delete(listen)
        if (current.listeners.size === 0 && !current.ticket.settled) {
          current.ticket.settled = true
          if (flights.get(key) === current) flights.delete(key)
        }
      }
      const listen = (verdict: Verdict): void => {
        leavers.delete(leave)
        take(verdict)
      }
      leavers.add(leave)
      current.listeners.add(listen)
      if (!isNew) return
      scheduler.submit(current.ticket, to)
    }

    const onAbort = (): void => expire()
    request.signal.addEventListener('abort', onAbort, { once: true })
    if (request.signal.aborted) onAbort()
    try {
      for (let from = 0; from < request.subjects.length && left > 0; from += LOOKUP_COUNT) {
        const slice = request.subjects.slice(from, from + LOOKUP_COUNT)
        const batch: Subject[] = []
        slice.forEach((text, offset) => {
          const index = from + offset
          if (answers[index] !== undefined) return
          const subject = begin(text, index, request, now())
          if (!subject.mailbox.ok) put(index, syntaxAnswer(text, subject.beganMs, when))
          else {
            const good = subject as Subject
            open.set(index, good)
            batch.push(good)
          }
        })
        const known = await knowledge.findings(
          batch.map(({ mailbox }) => `${mailbox.local}@${mailbox.domain}`),
        )
        batch.forEach((subject, at) => {
          start(subject, known[at]).catch((error: unknown) => done.reject(error))
        })
        while (open.size >= limits.window && left > 0) {
          const free = Promise.withResolvers<void>()
          room = free.resolve
          await Promise.race([free.promise, done.promise])
          room = null
        }
      }
      await done.promise
    } finally {
      request.signal.removeEventListener('abort', onAbort)
      for (const leave of leavers) leave()
    }
    return answers.filter((answer) => answer !== undefined)
  }
  return { run }
}

function begin(text: string, index: number, request: EngineRequest<'email'>, atMs: number) {
  return {
    index,
    text,
    mailbox: parseMailbox(text),
    state: stateOf(request.states?.[index]),
    beganMs: atMs,
  }
}

function syntaxAnswer(
  text: string,
  beganMs: number,
  when: (subject: { beganMs: number; state: WaitState }, cached: boolean) => Circumstances,
): Answer<'email'> {
  const mailbox = parseMailbox(text)
  const fault = mailbox.ok ? { ok: false as const, why: 'empty' as const } : mailbox
  const circumstances = when({ beganMs, state: { tries: 0, sinceMs: 0 } }, false)
  return syntaxOutcome(text, fault, suggestDomain(text), circumstances)
}

function newFlight(
  key: string,
  address: string,
  mailbox: ParsedMailbox,
  request: EngineRequest<'email'>,
  flights: Map<string, Flight>,
  atMs: number,
): Flight {
  const listeners = new Set<(verdict: Verdict) => void>()
  const flight: Flight = {
    listeners,
    ticket: {
      address,
      local: mailbox.local,
      domain: mailbox.domain,
      utf8: mailbox.utf8,
      lane: request.lane,
      depth: request.depth,
      queuedMs: atMs,
      attempts: 0,
      settled: false,
      settle(verdict) {
        if (this.settled) return
        this.settled = true
        flights.delete(key)
        for (const listen of listeners) listen(verdict)
        listeners.clear()
      },
    },
  }
  flights.set(key, flight)
  return flight
}

/** Whether what is remembered answers this request without another question. */
function isEnough(
  known: Finding,
  request: EngineRequest<'email'>,
  acceptAll: string | undefined,
): boolean {
  if (request.depth === 'basic' || known.mailbox !== 'accepted') return true
  return (
    known.catchAll !== null || known.reason === 'accept_means_nothing' || acceptAll !== undefined
  )
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
async function hostlessFinding(options: RunnerOptions, route: HostsRoute): Promise<Finding> {
  for (const host of route.hosts) {
    const found = await findAddresses(options.resolver, options.egress.permits, host)
    if (found.kind !== 'none') return unknownFinding('probing_off')
  }
  return { ...unknownFinding('no_mail_host'), status: 'undeliverable', confidence: 'high' }
}

/** The later answer of a verdict that waits; null where it may not wait, or not any more. */
function laterOf(
  subject: Subject,
  verdict: Verdict & { readonly kind: 'wait' },
  group: string,
  request: EngineRequest<'email'>,
  options: RunnerOptions,
): Answer<'email'> | null {
  if (request.lane === 'live') return null
  const { limits, now } = options
  const { tries } = subject.state
  const sinceMs = subject.state.sinceMs === 0 ? now() : subject.state.sinceMs
  const waitedMs = now() - sinceMs
  const domain = subject.mailbox.domain
  switch (verdict.cause) {
    case 'greylist': {
      const seconds = options.greylistScheduleSeconds[tries]
      if (seconds === undefined) return null
      const afterMs = verdict.afterMs > 0 ? verdict.afterMs : seconds * 1000
      const state: Json = { tries: tries + 1, since_ms: sinceMs }
      return {
        kind: 'later',
        afterMs,
        group: `greylist:${domain}`,
        reason: verdict.finding.reason,
        state,
      }
    }
    case 'room':
      if (waitedMs > limits.rateWaitMs) return null
      break
    case 'breaker':
    case 'guard':
      if (waitedMs > limits.guardWaitMs) return null
      break
  }
  const state: Json = { tries, since_ms: sinceMs }
  const waitsFor = verdict.cause === 'guard' ? `guard:${domain}` : `mx:${group}`
  const afterMs = Math.max(1, verdict.afterMs === 0 ? limits.soonMs : verdict.afterMs)
  return { kind: 'later', afterMs, group: waitsFor, reason: verdict.finding.reason, state }
}

/** What a subject that waits no more ends with: unknown, and when another try may succeed. */
function overdue(
  verdict: Verdict & { readonly kind: 'wait' },
  options: RunnerOptions,
  subject: Subject,
  request: EngineRequest<'email'>,
): Finding {
  const firstMs = (options.greylistScheduleSeconds[0] ?? 300) * 1000
  const afterMs = verdict.afterMs > 0 ? verdict.afterMs : firstMs
  const tells = request.lane === 'live' || subject.state.tries === 0
  return {
    ...verdict.finding,
    evidence: {
      ...verdict.finding.evidence,
      ...(tells ? { retry_after: Math.ceil(afterMs / 1000) } : {}),
    },
  }
}

function stateOf(value: Json | undefined): WaitState {
  if (typeof value !== 'object' || value === null || !('tries' in value))
    return { tries: 0, sinceMs: 0 }
  const { tries, since_ms: sinceMs } = value as { readonly [key: string]: Json }
  return {
    tries: typeof tries === 'number' ? tries : 0,
    sinceMs: typeof sinceMs === 'number' ? sinceMs : 0,
  }
}

function holdNewest<V>(held: Map<string, V>, key: string, value: V, most: number): void {
  held.delete(key)
  held.set(key, value)
  if (held.size <= most) return
  const oldest = held.keys().next()
  if (oldest.done !== true) held.delete(oldest.value)
}

/** The local part in lower case without a tag. */
function untagged(local: string): string {
  const lower = local.toLowerCase()
  const plus = lower.indexOf('+')
  return plus > 0 ? lower.slice(0, plus) : lower
}

/** A number that a name always gives (FNV-1a). */
function spread(name: string): number {
  let sum = 0x811c9dc5
  for (let at = 0; at < name.length; at++)
    sum = Math.imul(sum ^ name.charCodeAt(at), 0x01000193) >>> 0
  return sum
}
