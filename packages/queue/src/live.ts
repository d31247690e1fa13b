import { randomBytes } from 'node:crypto'
import { createBatcher } from '@plumbline/concurrency/batcher'
import type { Outcome } from '@plumbline/contract/outcome'
import { Problem } from '@plumbline/contract/problem'
import { CHECKS, type Check } from '@plumbline/contract/products'
import type { QueueBackend } from './backend.ts'
import { enqueue } from './jobs.ts'
import { outcomeOf, readLetter, writeJob, type Question } from './live-protocol.ts'
import { findLost, type Waiting } from './lost-questions.ts'
import { liveQueueOf } from './names.ts'

/** Asks workers the questions of single calls. */
export interface LiveCaller extends AsyncDisposable {
  /**
   * Resolves with the outcome of a question, however often its job or its answer is lost on the way.
   * Rejects with a `Problem`: `timeout` when its time is up, `unavailable` when too many questions
   * wait already, `internal` when workers failed on it twice.
   */
  ask<C extends Check>(check: C, question: Question, limits?: AskLimits): Promise<Outcome<C>>
}

/** Times of one question, by default those of a call that is answered within 15 s (decision 37). */
export interface AskLimits {
  /** How long its outcome is waited for. It ends up to a quarter of a second later. */
  readonly waitMs?: number
  /** How long workers may take over it. */
  readonly budgetMs?: number
}

/** What asking workers needs. */
export interface LiveCallerOptions {
  /** Questions that may wait at once; 10,000 by default. */
  readonly maxWaiting?: number
  readonly onError: (error: unknown) => void
}

const WAIT_MS = 15_000
const BUDGET_MS = 12_000

/** Questions in a job at most: more would keep one worker busy while others idle. */
const MAX_QUESTIONS = 64

/** With more questions than this on their way, a job waits a moment for company: half as many travel. */
const CROWD = 16
const REST_MS = 1

/** How often the asker looks for what its channel forgot. */
const LOOK_EVERY_MS = 250

/** Opens the box of this process and asks through it until it is disposed of. */
export async function createLiveCaller(
  backend: QueueBackend,
  { maxWaiting = 10_000, onError }: LiveCallerOptions,
): Promise<LiveCaller> {
  const box = `live:${randomBytes(8).toString('hex')}`
  const waiting = new Map<number, Waiting>()
  const couriers = createCouriers(backend, box, waiting)
  const replies = await backend.replyChannel.listen(box, (text) => {
    for (const waiter of read(text, waiting)) void couriers.again(waiter).catch(onError)
  })

  let looking = false
  async function look(): Promise<void> {
    if (looking) return
    looking = true
    try {
      const before = performance.now() - LOOK_EVERY_MS
      const isLate = waiting.values().some(({ askedAtMs }) => askedAtMs < before)
      await (isLate ? replies.fetchMissed() : replies.acknowledge())
      if (!isLate) return
      const lost = await findLost(backend, waiting.values())
      await Promise.all(lost.map((waiter) => couriers.again(waiter)))
    } catch (error) {
      onError(error)
    } finally {
      looking = false
    }
  }
  const timer = setInterval(() => {
    endLate(waiting.values())
    void look()
  }, LOOK_EVERY_MS)
  timer.unref()

  let lastId = 0
  return {
    async ask(check, question, { waitMs = WAIT_MS, budgetMs = BUDGET_MS } = {}) {
      if (waitMs <= 0) throw timedOut()
      if (waiting.size >= maxWaiting) {
        throw new Problem('unavailable', 'The service is at its limit; try again in a second.', {
          retryAfterSeconds: 1,
        })
      }
      const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
      const now = performance.now()
      const id = (lastId += 1)
      const untilMs = backend.clock.nowMs() + budgetMs
      const times = { askedAtMs: now, endsAtMs: now + waitMs, untilMs }
      const waiter = waitingFrom({ id, check, question, ...times, resolve, reject })
      waiting.set(id, waiter)
      couriers.first(waiter).catch(onError)
      try {
        return outcomeOf<typeof check>(await promise)
      } finally {
        waiting.delete(id)
      }
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      for (const { reject } of waiting.values()) {
        reject(new Problem('unavailable', 'The service is stopping; try again.'))
      }
      await replies[Symbol.asyncDispose]()
    },
  }
}

type Asked = Omit<Waiting, 'jobId' | 'heardAtMs' | 'silentSinceMs' | 'hasFailed'>

function waitingFrom(asked: Asked): Waiting {
  const { askedAtMs } = asked
  return { ...asked, heardAtMs: askedAtMs, jobId: null, silentSinceMs: null, hasFailed: false }
}

/** One clock for all: a timer and a signal for each question cost more than its place in a job. */
function endLate(waiting: Iterable<Waiting>): void {
  const now = performance.now()
  for (const { endsAtMs, reject } of waiting) if (endsAtMs < now) reject(timedOut())
}

function timedOut(): Problem {
  return new Problem('timeout', 'The answer took too long; try again.')
}

/** Brings questions into the queue of their check. */
interface Couriers {
  first(waiter: Waiting): Promise<void>
  /** Apart from first ones, whose time it would cut short; one that failed goes alone. */
  again(waiter: Waiting): Promise<void>
}

function createCouriers(
  backend: QueueBackend,
  box: string,
  waiting: ReadonlyMap<number, Waiting>,
): Couriers {
  let lastJob = 0
  async function add(waiters: readonly Waiting[]): Promise<readonly undefined[]> {
    const [first] = waiters
    const questions = waiters.filter(({ id }) => waiting.has(id))
    if (first === undefined || questions.length === 0) return waiters.map(() => undefined)
    lastJob += 1
    const jobId = `${box.replace(':', '-')}-${lastJob}`
    for (const waiter of questions) {
      waiter.heardAtMs = performance.now()
      waiter.silentSinceMs = null
      waiter.jobId = jobId
    }
    const job = {
      box,
      untilMs: Math.min(...questions.map(({ untilMs }) => untilMs)),
      questions: questions.map(({ id, question }) => ({ id, ...question })),
    }
    await enqueue(backend, liveQueueOf(first.check), [{ id: jobId, data: writeJob(job) }])
    return waiters.map(() => undefined)
  }
  const groups = new Map(
    CHECKS.map((check) => [
      check,
      {
        first: createBatcher(add, {
          maxItems: MAX_QUESTIONS,
          restMs: () => (waiting.size > CROWD ? REST_MS : 0),
        }),
        again: createBatcher(add, { maxItems: MAX_QUESTIONS }),
        alone: createBatcher(add, { maxItems: 1, maxRuns: 4 }),
      },
    ]),
  )
  return {
    async first(waiter) {
      await groups.get(waiter.check)?.first(waiter)
    },
    async again(waiter) {
      const group = groups.get(waiter.check)
      waiter.heardAtMs = performance.now()
      await (waiter.hasFailed ? group?.alone(waiter) : group?.again(waiter))
    },
  }
}

/** Settles what a letter answers; what failed for the first time is to be asked again. */
function read(text: string, waiting: ReadonlyMap<number, Waiting>): readonly Waiting[] {
  const letter = readLetter(text)
  if (letter.kind === 'answered') {
    for (const [id, outcome] of letter.answers) waiting.get(id)?.resolve(outcome)
    return []
  }
  const named = letter.ids.flatMap((id) => waiting.get(id) ?? [])
  // A letter may be heard twice: announced, and collected in the same moment.
  const mine =
    letter.kind === 'working' ? named : named.filter(({ jobId }) => jobId === letter.jobId)
  const again: Waiting[] = []
  for (const waiter of mine) {
    waiter.heardAtMs = performance.now()
    waiter.silentSinceMs = null
    if (letter.kind === 'working') continue
    if (waiter.hasFailed) {
      waiter.reject(new Problem('internal', 'The lookup failed; nothing was charged.'))
    } else {
      waiter.hasFailed = true
      waiter.jobId = null
      again.push(waiter)
    }
  }
  return again
}
