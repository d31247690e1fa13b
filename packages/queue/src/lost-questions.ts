import type { QueueBackend } from './backend.ts'
import type { Outcome } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import type { Question } from './live-protocol.ts'
import { liveQueueOf } from './names.ts'

/** A question that waits for its outcome. Times are by this process's `performance.now` but for one. */
export interface Waiting {
  readonly id: number
  readonly check: Check
  readonly question: Question
  readonly askedAtMs: number
  /** When the asker gives up. */
  readonly endsAtMs: number
  /** After which no worker begins with it, by the server's clock. */
  readonly untilMs: number
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
  /** The last job that was to carry it, whether or not it could be added; null before the first. */
  jobId: string | null
  /** When a sign of life of its job was last met. */
  heardAtMs: number
  /** When its job was first found with a worker that says nothing; null where it was not. */
  silentSinceMs: number | null
  /** Whether a worker has failed on it once: the second time is the last. */
  hasFailed: boolean
}

/** Without a sign of life for so long, the queue is asked what became of a job. */
const QUIET_MS = 2_000

/** A worker that says nothing for so long after that is dead: it would have told of its work. */
const SILENT_MS = 1_500

/** Jobs looked up in one round. */
const MAX_JOBS = 50

/**
 * Finds the questions to ask again: those that heard nothing for two seconds, and whose job is gone or
 * with a worker that died. A job that still waits its turn is none: that would only lengthen the queue.
 * Looks up 50 jobs at most, and notes what it met in `heardAtMs` and `silentSinceMs`; rejects where the
 * queue does not answer.
 */
export async function findLost(
  backend: QueueBackend,
  waiting: Iterable<Waiting>,
): Promise<readonly Waiting[]> {
  const now = performance.now()
  const serverNow = backend.clock.nowMs()
  const quiet = Iterator.from(waiting).filter(
    ({ heardAtMs, untilMs }) => heardAtMs < now - QUIET_MS && untilMs > serverNow,
  )
  const jobs = Map.groupBy(quiet, ({ jobId }) => jobId)
  const lost = await Promise.all(
    jobs
      .entries()
      .take(MAX_JOBS)
      .map(async ([jobId, waiters]) => {
        const [first] = waiters
        if (jobId === null || first === undefined) return waiters
        const producer = await backend.producer(liveQueueOf(first.check))
        const state = await producer.state(jobId)
        return waiters.filter((waiter) => isLost(waiter, state, jobId))
      }),
  )
  return lost.flat()
}

function isLost(waiter: Waiting, state: 'waiting' | 'active' | 'lost', jobId: string): boolean {
  const now = performance.now()
  if (waiter.jobId !== jobId || waiter.heardAtMs > now - QUIET_MS) return false
  switch (state) {
    case 'lost':
      return true
    case 'waiting':
      waiter.heardAtMs = now
      waiter.silentSinceMs = null
      return false
    case 'active':
      waiter.silentSinceMs ??= now
      return now - waiter.silentSinceMs > SILENT_MS
  }
}
