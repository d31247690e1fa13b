import { createBatcher } from '@plumbline/concurrency/batcher'
import { settledWithin } from '@plumbline/concurrency/time-out'
import type { Outcome } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import type { Tracer } from '@plumbline/ports/tracer'
import type { QueueBackend } from './backend.ts'
import { work, type QueueWorker } from './jobs.ts'
import {
  packLiveReplies,
  readLiveJob,
  writeFailed,
  writeInterrupted,
  writeOutcome,
  writeRefused,
  writeWorking,
  type LiveJob,
  type NumberedQuestion,
  type Question,
} from './live-protocol.ts'
import {
  createLiveAdmission,
  DEFAULT_LIVE_LIMITS,
  type AdmittedSubject,
  type LiveAdmission,
  type LiveLimits,
} from './live-admission.ts'
import { liveQueueOf } from './names.ts'

/** One question of a single call. */
export interface LiveRequest extends Question {
  /** Ends the run: no caller waits for its outcome any longer. */
  readonly signal: AbortSignal
  /** Records a reply of the server that is queried: the subject does not count as slow. */
  readonly heard: () => void
}

/**
 * Answers a question; `refused` if the server that it is about does not reply and has as many callers
 * waiting as it may, undefined if there is no outcome.
 */
type LiveHandler<C extends Check> = (
  request: LiveRequest,
) => Promise<Outcome<C> | 'refused' | undefined>

/** Options of `serveLive`. */
export interface ServeLiveOptions {
  /** Limits of concurrent subjects; default `DEFAULT_LIVE_LIMITS`. */
  readonly limits?: LiveLimits
  /**
   * Milliseconds that questions in work may continue when the worker is closed; default 10 seconds.
   */
  readonly graceMs?: number
  readonly onError: (error: unknown) => void
  /** Called for each question with the milliseconds that it waited before its run began. */
  readonly onBegin?: (waitedMs: number) => void
}

/** Milliseconds between two messages to the calling process that its questions are in work. */
const WORKING_EVERY_MS = 700

/** Milliseconds between two sweeps of the admission. */
const SWEEP_EVERY_MS = 100

/**
 * Maximum number of active jobs while the last one was in the queue for over `LATE_MS`, else one.
 * Each ends as soon as its questions are recorded, but takes a round trip to the queue's server, so
 * that one at a time is too few where that is far away. If a second is allowed, BullMQ looks for it
 * before it begins the first, which a lone call would wait for.
 */
const MAX_ACTIVE_JOBS = 8
const LATE_MS = 20

/**
 * Number of waiting questions from which on no more jobs are taken: another worker may have
 * capacity.
 */
const MAX_WAITING = 5_000

/** Milliseconds that aborted runs have to end. */
const ENDING_MS = 2_000

/**
 * Answers the single calls of a check. Concurrency is limited by subject and accounts are admitted
 * in turn, see `LiveAdmission`. Questions that the handler leaves unanswered, or throws on, are
 * reported to the calling process, which sends them once more, unless their time was too short.
 * Those that the worker's closing interrupts are reported too, and sent however often that happens.
 * A job ends when the worker has recorded its questions: if the worker then dies, the calling
 * process no longer receives messages that they are in work, and sends them again.
 */
export async function serveLive<C extends Check>(
  backend: QueueBackend,
  check: C,
  handler: LiveHandler<C>,
  { limits = DEFAULT_LIVE_LIMITS, graceMs = 10_000, onError, onBegin }: ServeLiveOptions,
): Promise<QueueWorker> {
  const server: LiveServer<C> = {
    check,
    tracer: backend.tracer,
    handler,
    onError,
    onBegin,
    admission: createLiveAdmission(limits),
    send: createReplySender(backend),
    open: new Set(),
    runs: new Set(),
    swept: null,
  }
  let isLate = false
  const sweeping = setInterval(() => {
    server.admission.sweep()
    server.swept?.resolve()
    server.swept = null
  }, SWEEP_EVERY_MS)
  const heartbeat = setInterval(() => replyWorking(server), WORKING_EVERY_MS)
  const stack = new AsyncDisposableStack()
  stack.defer(() => {
    clearInterval(sweeping)
    clearInterval(heartbeat)
  })
  stack.defer(() => endAll(server, graceMs))
  try {
    stack.use(
      await work(
        backend,
        liveQueueOf(check),
        async ({ id, data }) => {
          const job = readLiveJob(data)
          const nowMs = backend.clock.nowMs()
          const { queuedMs } = job
          const queuedForMs = queuedMs === undefined ? null : Math.max(0, nowMs - queuedMs)
          isLate = queuedForMs !== null && queuedForMs > LATE_MS
          for (const question of job.questions) {
            const leftMs = question.untilMs - nowMs
            if (leftMs > 0) takeOver(server, { ...job, id, queuedForMs }, question, leftMs)
          }
          while (server.admission.waitingCount() > MAX_WAITING) {
            server.swept ??= Promise.withResolvers()
            await server.swept.promise
          }
        },
        { concurrency: () => (isLate ? MAX_ACTIVE_JOBS : 1), graceMs: 0, onError },
      ),
    )
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
  return stack
}

/** State of a worker's single calls of a check. */
interface LiveServer<C extends Check> {
  readonly check: C
  readonly tracer: Tracer
  readonly handler: LiveHandler<C>
  readonly onError: (error: unknown) => void
  readonly onBegin: ((waitedMs: number) => void) | undefined
  readonly admission: LiveAdmission
  readonly send: ReplySender
  /** Questions without an outcome. */
  readonly open: Set<OpenQuestion>
  readonly runs: Set<Promise<void>>
  /** Resolves after the next sweep of the admission; null if no caller waits for it. */
  swept: PromiseWithResolvers<void> | null
}

interface OpenQuestion {
  readonly id: number
  readonly jobId: string
  readonly replyTo: string
  /** See `LiveJob`. */
  readonly canBeRefused: boolean
  readonly takenAtMs: number
  /** Aborts its run. */
  readonly abort: AbortController
}

interface TakenJob extends LiveJob {
  readonly id: string
  /** Milliseconds that it was in the queue; null if the calling process did not report it. */
  readonly queuedForMs: number | null
}

function takeOver<C extends Check>(
  server: LiveServer<C>,
  job: TakenJob,
  question: NumberedQuestion,
  leftMs: number,
): void {
  const { id } = question
  const { id: jobId, replyTo, canBeRefused, queuedForMs } = job
  const takenAtMs = performance.now()
  const abort = new AbortController()
  const open: OpenQuestion = { id, jobId, replyTo, canBeRefused, takenAtMs, abort }
  server.open.add(open)
  server.admission.request({
    account: question.account,
    endsAtMs: takenAtMs + leftMs,
    begin(place) {
      if (queuedForMs !== null) server.onBegin?.(queuedForMs + performance.now() - takenAtMs)
      const run = answer(server, open, question, place).finally(() => {
        server.runs.delete(run)
      })
      server.runs.add(run)
    },
    refuse(cause) {
      if (server.open.delete(open) && canBeRefused) {
        reply(server, { replyTo, text: writeRefused(cause, [id]) })
      }
      open.abort.abort(new Error('no capacity for the subject'))
    },
    // Outcomes that the handler returns before the time is up still count.
    expire: () => open.abort.abort(new Error('time is up')),
  })
}

async function answer<C extends Check>(
  server: LiveServer<C>,
  open: OpenQuestion,
  { subject, depth, account, span }: NumberedQuestion,
  place: AdmittedSubject,
): Promise<void> {
  const { id, jobId, replyTo, canBeRefused } = open
  const { signal } = open.abort
  let outcome: Outcome<C> | 'refused' | undefined
  try {
    const request = { subject, depth, account, signal, heard: place.heard }
    const { check, tracer } = server
    const answering = {
      name: `answer ${check}`,
      kind: 'consumer',
      facts: { check, depth },
    } as const
    outcome = await tracer.within(span, () => tracer.span(answering, () => server.handler(request)))
  } catch (error) {
    server.onError(error)
  } finally {
    place.leave()
  }
  // An interrupted engine answers unknown. The question stays open: `endAll` reports it, so that
  // another worker answers it.
  if (signal.reason === CLOSING && !isKnown(outcome)) return
  if (!server.open.delete(open)) return
  if (outcome === 'refused') {
    if (canBeRefused) reply(server, { replyTo, text: writeRefused('server', [id]) })
  } else if (outcome !== undefined) reply(server, { replyTo, outcome: writeOutcome(id, outcome) })
  // A question that was only late would be late again.
  else if (!signal.aborted) reply(server, { replyTo, text: writeFailed(jobId, [id]) })
}

function isKnown<C extends Check>(outcome: Outcome<C> | 'refused' | undefined): boolean {
  return outcome !== undefined && outcome !== 'refused' && outcome.status !== 'unknown'
}

function reply<C extends Check>({ send, onError }: LiveServer<C>, outgoing: OutgoingReply): void {
  send(outgoing).catch(onError)
}

function replyWorking<C extends Check>(server: LiveServer<C>): void {
  const before = performance.now() - WORKING_EVERY_MS / 2
  const held = [...server.open].filter(({ takenAtMs }) => takenAtMs < before)
  for (const [replyTo, questions] of Map.groupBy(held, (question) => question.replyTo)) {
    reply(server, { replyTo, text: writeWorking(questions.map(({ id }) => id)) })
  }
}

/** Reason of the abort of runs that outlast the grace of a closing worker. */
const CLOSING = new Error('the worker is closing')

/** Waits for questions in work to end, and reports those that do not or are interrupted. */
async function endAll<C extends Check>(server: LiveServer<C>, graceMs: number): Promise<void> {
  const ended = async (): Promise<void> => {
    while (server.runs.size > 0) await Promise.all(server.runs)
  }
  await settledWithin(graceMs, ended())
  for (const { abort } of server.open) abort.abort(CLOSING)
  await settledWithin(ENDING_MS, ended())
  const left = [...server.open]
  server.open.clear()
  const jobs = Map.groupBy(left, ({ jobId, replyTo }) => `${jobId} ${replyTo}`)
  const told = [...jobs.values()].map(async (questions) => {
    const [first] = questions
    if (first === undefined) return
    const ids = questions.map(({ id }) => id)
    await server.send({ replyTo: first.replyTo, text: writeInterrupted(first.jobId, ids) })
  })
  await settledWithin(ENDING_MS, Promise.all(told).catch(server.onError))
}

/**
 * A message to one process: an outcome, which shares a reply with others, or a reply of its own.
 */
type OutgoingReply =
  | { readonly replyTo: string; readonly outcome: string }
  | { readonly replyTo: string; readonly text: string }

type ReplySender = (outgoing: OutgoingReply) => Promise<void>

/** Combines messages to a process at the same moment. */
function createReplySender({ replyChannel, kind }: QueueBackend): ReplySender {
  return createBatcher(
    async (outgoing: readonly OutgoingReply[]) => {
      const processes = Map.groupBy(outgoing, ({ replyTo }) => replyTo)
      await Promise.all(
        [...processes].map(([replyTo, mine]) =>
          replyChannel.send(replyTo, [
            ...packLiveReplies(mine.flatMap((each) => ('outcome' in each ? [each.outcome] : []))),
            ...mine.flatMap((each) => ('text' in each ? [each.text] : [])),
          ]),
        ),
      )
      return outgoing.map(() => undefined)
    },
    // Replies that wait for the one before share a message, and wake the API once. Postgres commits
    // one NOTIFY at a time.
    { maxItems: 500, maxRuns: kind === 'redis' ? 2 : 1 },
  )
}
