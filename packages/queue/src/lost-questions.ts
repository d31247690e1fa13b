import type { Outcome } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import type { JobState, QueueBackend } from './backend.ts'
import type { NumberedQuestion } from './live-protocol.ts'
import { liveQueueOf } from './names.ts'

/**
 * A question without an outcome. Times are by this process's `performance.now`, except `untilMs`.
 */
export interface PendingQuestion extends NumberedQuestion {
  readonly check: Check
  readonly askedAtMs: number
  /** When its caller gets a time-out. */
  readonly endsAtMs: number
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
  /** Its last job, whether or not it could be added; null before the first. */
  jobId: string | null
  /** When its worker last sent a message about it. */
  heardAtMs: number
  /** When its job was first found gone or with a silent worker; null if it was not. */
  silentSinceMs: number | null
  /** Whether a worker has failed on it once: the second failure is final. */
  hasFailed: boolean
}

/** Milliseconds without a message after which the state of a job is looked up. */
const QUIET_MS = 2_000

/**
 * Further milliseconds after which a silent worker counts as dead: a live one sends a message every
 * 700 ms. The same applies to a missing job, since its worker ends it before the work is done.
 */
const SILENT_MS = 1_500

/** Maximum number of jobs looked up in one round. */
const MAX_JOBS = 50

/**
 * Finds the questions to send again: those without a message for two seconds whose job is gone or
 * whose worker died. A waiting job is not lost: another one would only lengthen the queue. Looks up
 * 50 jobs at most, and records the result in `heardAtMs` and `silentSinceMs`; rejects if the queue
 * does not reply.
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
