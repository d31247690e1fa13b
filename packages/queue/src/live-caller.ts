import { randomBytes } from 'node:crypto'
import { createSilenceWatch, type SilenceWatch } from '@plumbline/concurrency/silence'
import { createBatcher } from '@plumbline/concurrency/batcher'
import { withTimeOut } from '@plumbline/concurrency/time-out'
import type { Outcome } from '@plumbline/contract/outcome'
import { Problem } from '@plumbline/contract/problem'
import { CHECKS, type Check } from '@plumbline/contract/products'
import type { OpenReplyChannel } from '@plumbline/ports/channel'
import { createAbandonedJobs, type AbandonedJobs } from './abandoned-jobs.ts'
import type { QueueBackend } from './backend.ts'
import { createJobRejections, type JobRejections } from './job-rejections.ts'
import { enqueue } from './jobs.ts'
import {
  outcomeOf,
  readLiveReply,
  writeLiveJob,
  type LiveReply,
  type Question,
} from './live-protocol.ts'
import {
  atLimit,
  createHeldBackAccounts,
  queueAway,
  serverShareUsed,
  slowShareUsed,
  type HeldBackAccounts,
} from './live-refusals.ts'
import { findLost, type PendingQuestion } from './lost-questions.ts'
import { liveQueueOf } from './names.ts'

/** Sends the questions of single calls to workers, and waits for the outcomes. */
export interface LiveCaller extends AsyncDisposable {
  /**
   * Resolves with the outcome of a question, however often its job or reply is lost. Rejects with a
   * `Problem`: `timeout` when its time is up, `too_many_requests` if its account has used its share
   * of slow subjects, or the server asked about it does not reply and has its share of callers waiting,
   * `unavailable` if too many questions wait, or the queue's server is down or rejects their jobs,
   * `internal` if workers failed on it twice.
   */
  ask<C extends Check>(check: C, question: Question, limits: AskLimits): Promise<Outcome<C>>
  /** The refusal that questions of the account would get now; null if none is known. */
  refusal(account: string, checks: readonly Check[]): Problem | null
}

/** Times of one question. */
export interface AskLimits {
  /**
   * Milliseconds that the outcome is awaited; the question ends up to a quarter of a second later.
   */
  readonly waitMs: number
  /** Milliseconds that workers may take. */
  readonly budgetMs: number
}

/** Options of `createLiveCaller`. */
export interface LiveCallerOptions {
  /** Maximum number of waiting questions; default 10,000. */
  readonly maxWaiting?: number
  readonly onError: (error: unknown) => void
}

/** Maximum number of questions in a job: more would keep one worker busy while others idle. */
const MAX_QUESTIONS = 64

/**
 * With more pending questions than this, the next job is delayed a little to collect more: half as
 * many jobs.
 */
const BUSY_COUNT = 8
const BUSY_DELAY_MS = 1

/** Milliseconds between two checks for missed replies, lost questions and time-outs. */
const SWEEP_EVERY_MS = 250

/**
 * Milliseconds for which the queue's server may be silent before calls are refused. With Postgres
 * the debit waits for the same server, so a call is refused within two seconds instead of one.
 */
const AWAY_MS = { redis: 600, postgres: 1_000 } as const

/** Milliseconds that the removal of jobs may delay the end of a process. */
const REMOVE_MS = 1_000

/** Opens the reply channel of this process and asks questions until it is disposed of. */
export async function createLiveCaller(
  backend: QueueBackend,
  { maxWaiting = 10_000, onError }: LiveCallerOptions,
): Promise<LiveCaller> {
  const replyTo = `live:${randomBytes(8).toString('hex')}`
  const pending = new Map<number, PendingQuestion>()
  const heldBack = createHeldBackAccounts()
  const server = createSilenceWatch(AWAY_MS[backend.kind], backend.receivedBytes)
  const abandoned = createAbandonedJobs(backend, pending)
  const rejections = createJobRejections(AWAY_MS[backend.kind])
  const state: CallerState = { server, rejections, replyTo, pending, abandoned }
  const batcher = createQuestionBatcher(backend, state)
  const replies = await backend.replyChannel.listen(replyTo, (text) => {
    for (const question of settle(readLiveReply(text), pending, heldBack)) {
      void batcher.askAgain(question).catch(onError)
    }
  })

  const refuseWhileAway = (): void => {
    if (server.isSilent()) giveUp(state, pending.values(), queueAway)
  }
  const sweep = createSweep(backend, state, replies, batcher)
  const timer = setInterval(() => {
    giveUp(state, late(pending), timedOut)
    refuseWhileAway()
    if (!server.isSilent()) abandoned.remove().catch(onError)
    sweep().catch(onError).finally(refuseWhileAway)
  }, SWEEP_EVERY_MS)
  timer.unref()

  let lastId = 0
  return {
    async ask(check, question, { waitMs, budgetMs }) {
      if (waitMs <= 0) throw timedOut()
      const refused = refusalOf([check], state, maxWaiting)
      if (refused !== null) throw refused
      const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
      const now = performance.now()
      const id = (lastId += 1)
      const untilMs = backend.clock.nowMs() + budgetMs
      const times = { askedAtMs: now, endsAtMs: now + waitMs, untilMs }
      const facts = { check, depth: question.depth }
      return await backend.tracer.span(
        { name: `ask ${check}`, kind: 'client', facts },
        async () => {
          const span = backend.tracer.current()
          const asked = pendingFrom({ ...question, id, span, check, ...times, resolve, reject })
          pending.set(id, asked)
          batcher.ask(asked).catch((error: unknown) => {
            onError(error)
            refuseWhileAway()
          })
          try {
            return outcomeOf<typeof check>(await promise)
          } finally {
            pending.delete(id)
          }
        },
      )
    },
    refusal(account, checks) {
      const refused = refusalOf(checks, state, maxWaiting)
      return refused ?? (heldBack.has(account) ? slowShareUsed() : null)
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      giveUp(state, pending.values(), stopping)
      if (!server.isSilent()) await withTimeOut(REMOVE_MS, abandoned.remove()).catch(onError)
      await replies[Symbol.asyncDispose]()
    },
  }
}

/** State of the questions of a process. */
interface CallerState {
  readonly server: SilenceWatch
  readonly rejections: JobRejections
  readonly replyTo: string
  readonly pending: Map<number, PendingQuestion>
  readonly abandoned: AbandonedJobs
}

/** The refusal that questions of any account would get now; null if none is known. */
function refusalOf(
  checks: readonly Check[],
  { server, rejections, pending }: CallerState,
  maxWaiting: number,
): Problem | null {
  if (server.isSilent() || checks.some(rejections.isRejecting)) return queueAway()
  return pending.size >= maxWaiting ? atLimit() : null
}

/** Makes the sweep that fetches missed replies and repeats lost questions; runs do not overlap. */
function createSweep(
  backend: QueueBackend,
  { server, pending }: CallerState,
  replies: OpenReplyChannel,
  batcher: QuestionBatcher,
): () => Promise<void> {
  let isSweeping = false
  return async () => {
    if (isSweeping) return
    isSweeping = true
    try {
      const before = performance.now() - SWEEP_EVERY_MS
      const isLate = pending.values().some(({ askedAtMs }) => askedAtMs < before)
      // A server that is down is polled until it replies again.
      if (!isLate && !server.isSilent()) return await replies.acknowledge()
      await server.watch(replies.fetchMissed())
      const lost = await server.watch(findLost(backend, pending.values()))
      await Promise.all(lost.map((question) => batcher.askAgain(question)))
    } finally {
      isSweeping = false
    }
  }
}

type Asked = Omit<PendingQuestion, 'jobId' | 'heardAtMs' | 'silentSinceMs' | 'hasFailed'>

function pendingFrom(asked: Asked): PendingQuestion {
  const { askedAtMs } = asked
  return { ...asked, heardAtMs: askedAtMs, jobId: null, silentSinceMs: null, hasFailed: false }
}

/** Ends questions without an outcome; their jobs are no longer wanted. */
function giveUp(
  { pending, abandoned }: CallerState,
  questions: Iterable<PendingQuestion>,
  problem: () => Problem,
): void {
  for (const { id, check, jobId, reject } of questions) {
    pending.delete(id)
    if (jobId !== null) abandoned.add(check, jobId)
    reject(problem())
  }
}

/**
 * Questions whose time is over. One timer serves all: a timer and a signal for each question would
 * cost more than its share of a job.
 */
function late(pending: ReadonlyMap<number, PendingQuestion>): Iterable<PendingQuestion> {
  const now = performance.now()
  return pending.values().filter(({ endsAtMs }) => endsAtMs < now)
}

function stopping(): Problem {
  return new Problem('unavailable', 'The service is stopping; try again.')
}

function timedOut(): Problem {
  return new Problem('timeout', 'The answer took too long; try again.')
}

/** Adds questions to the queue of their check, many to a job. */
interface QuestionBatcher {
  ask(question: PendingQuestion): Promise<void>
  /**
   * Sends a question again, in a job without new ones, which would be lost with it if it ends its
   * worker; a failed question is sent alone.
   */
  askAgain(question: PendingQuestion): Promise<void>
}

function createQuestionBatcher(backend: QueueBackend, state: CallerState): QuestionBatcher {
  const { server, rejections, replyTo, pending, abandoned } = state
  let lastJob = 0
  async function add(batch: readonly PendingQuestion[]): Promise<readonly undefined[]> {
    const questions = batch.filter(({ id }) => pending.has(id))
    const [first] = questions
    if (first !== undefined) {
      lastJob += 1
      const jobId = `${replyTo.replace(':', '-')}-${lastJob}`
      for (const question of questions) {
        question.heardAtMs = performance.now()
        question.silentSinceMs = null
        question.jobId = jobId
      }
      const data = writeLiveJob({ replyTo, queuedMs: backend.clock.nowMs(), questions })
      try {
        const queue = liveQueueOf(first.check)
        // The job belongs to the first question's trace, whichever call this code runs for.
        await server.watch(
          backend.tracer.within(first.span, () => enqueue(backend, queue, [{ id: jobId, data }])),
        )
        rejections.accepted(first.check)
      } catch (error) {
        // Whether the job was added is not known: the next sweep sends its questions again.
        abandoned.add(first.check, jobId)
        for (const question of questions) {
          if (question.jobId === jobId) question.jobId = null
          question.heardAtMs = Number.NEGATIVE_INFINITY
        }
        rejections.failed(first.check, error)
        // A server that rejects jobs would reject them until the time of their callers is up.
        if (rejections.isRejecting(first.check)) {
          const unsent = questions.filter((question) => question.jobId === null)
          giveUp(state, unsent, queueAway)
        }
        throw error
      }
    }
    return batch.map(() => undefined)
  }
  const batchers = new Map(
    CHECKS.map((check) => [
      check,
      {
        first: createBatcher(add, {
          maxItems: MAX_QUESTIONS,
          delayMs: () => (pending.size > BUSY_COUNT ? BUSY_DELAY_MS : 0),
        }),
        again: createBatcher(add, { maxItems: MAX_QUESTIONS }),
        alone: createBatcher(add, { maxItems: 1, maxRuns: 4 }),
      },
    ]),
  )
  return {
    async ask(question) {
      await batchers.get(question.check)?.first(question)
    },
    async askAgain(question) {
      const batcher = batchers.get(question.check)
      question.heardAtMs = performance.now()
      await (question.hasFailed ? batcher?.alone(question) : batcher?.again(question))
    },
  }
}

const REFUSALS = { account: slowShareUsed, server: serverShareUsed, room: atLimit } as const

/**
 * Settles the questions that a reply answers; returns those that failed for the first time or were
 * interrupted, to be sent again.
 */
function settle(
  reply: LiveReply,
  pending: ReadonlyMap<number, PendingQuestion>,
  heldBack: HeldBackAccounts,
): readonly PendingQuestion[] {
  if (reply.kind === 'outcomes') {
    for (const [id, outcome] of reply.outcomes) pending.get(id)?.resolve(outcome)
    return []
  }
  const named = reply.ids.flatMap((id) => pending.get(id) ?? [])
  if (reply.kind === 'refused') {
    for (const { account, reject } of named) {
      if (reply.cause === 'account') heldBack.add(account)
      reject(REFUSALS[reply.cause]())
    }
    return []
  }
  // A reply may be received twice: announced, and fetched in the same moment.
  const mine = reply.kind === 'working' ? named : named.filter(({ jobId }) => jobId === reply.jobId)
  const again: PendingQuestion[] = []
  for (const question of mine) {
    question.heardAtMs = performance.now()
    question.silentSinceMs = null
    if (reply.kind === 'working') continue
    if (question.hasFailed && !reply.interrupted) {
      question.reject(new Problem('internal', 'The lookup failed; nothing was charged.'))
    } else {
      // A closing worker says nothing about the question, whose time bounds how often it is sent.
      if (!reply.interrupted) question.hasFailed = true
      question.jobId = null
      again.push(question)
    }
  }
  return again
}
