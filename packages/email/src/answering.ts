import type { EngineRequest } from '@plumbline/ports/engine'
import type { Answer } from '@plumbline/contract/outcome'
import type { Egress } from '@plumbline/net/egress'
import type { Resolver } from '@plumbline/net/resolver'
import type { Finding } from './finding.ts'
import type { Flights, Listener, Wanted } from './in-flight-probes.ts'
import type { Knowledge } from './verdict-cache.ts'
import type { WaitState } from './later.ts'
import type { EmailLimits } from './limits.ts'
import { mailboxOutcome } from './outcome.ts'
import type { Circumstances } from './outcome.ts'
import type { Sharing } from '@plumbline/ports/sharing'
import { evidenceAt } from './probe-target.ts'
import type { Place, PlaceTools } from './probe-target.ts'
import type { Ticket } from './queue.ts'
import type { Scheduler } from './scheduler.ts'
import type { WayOut } from './port-25-health.ts'

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
