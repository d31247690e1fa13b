import type { Outcome } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import type { JobState, QueueBackend } from './backend.ts'
import type { NumberedQuestion } from './live-protocol.ts'
import { liveQueueOf } from './names.ts'

/** A question whose outcome has not come yet. Times are by this process's `performance.now` but for one. */
export interface PendingQuestion extends NumberedQuestion {
  readonly check: Check
  readonly askedAtMs: number
  /** When its caller is answered with a time-out. */
  readonly endsAtMs: number
  /** After which no worker begins with it, by the server's clock. */
  readonly untilMs: number
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
  /** The last job that was to carry it, whether or not it could be added; null before the first. */
  jobId: string | null
  /** When a sign of life of its job was last met. */
  heardAtMs: number
  /** When its job was first found gone or with a worker that says nothing; null if it was not. */
  silentSinceMs: number | null
  /** Whether a worker has failed on it once: the second time is the last. */
  hasFailed: boolean
}

/** Without a sign of life for so long, the queue is asked for the state of a job. */
const QUIET_MS = 2_000

/**
 * A worker that says nothing for so long after that is dead: a live one says every 700 ms what it works on.
 * A job that is gone is looked at as long, since its worker ends it before the work is done.
 */
const SILENT_MS = 1_500

/** Jobs looked up in one round. */
const MAX_JOBS = 50

/**
 * Finds the questions to ask again: those that heard nothing for two seconds, and whose job is gone or
 * with a worker that died. A job that still waits its turn is not lost: another would only lengthen the
 * queue. Looks up 50 jobs at most, and notes what it finds in `heardAtMs` and `silentSinceMs`; rejects
 * where the queue does not answer.
 */
export async function findLost(
  backend: QueueBackend,
  pending: Iterable<PendingQuestion>,
): Promise<readonly PendingQuestion[]> {
  const now = performance.now()
  const serverNow = backend.clock.nowMs()
  const quiet = Iterator.from(pending).filter(
    ({ heardAtMs, untilMs }) => heardAtMs < now - QUIET_MS && untilMs > serverNow,
  )
  const jobs = Map.groupBy(quiet, ({ jobId }) => jobId)
  const lost = await Promise.all(
    jobs
      .entries()
      .take(MAX_JOBS)
      .map(async ([jobId, questions]) => {
        const [first] = questions
        if (jobId === null || first === undefined) return questions
        const producer = await backend.producer(liveQueueOf(first.check))
        const state = await producer.state(jobId)
        return questions.filter((question) => isLost(question, state, jobId))
      }),
  )
  return lost.flat()
}

function isLost(question: PendingQuestion, state: JobState, jobId: string): boolean {
  const now = performance.now()
  if (question.jobId !== jobId || question.heardAtMs > now - QUIET_MS) return false
  switch (state) {
    case 'waiting':
      question.heardAtMs = now
      question.silentSinceMs = null
      return false
    case 'lost':
    case 'active':
      question.silentSinceMs ??= now
      return now - question.silentSinceMs > SILENT_MS
  }
}
