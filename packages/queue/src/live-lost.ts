import type { QueueBackend } from './backend.ts'
import type { Outcome } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import type { Question } from './live-letter.ts'
import { liveQueueOf } from './names.ts'

/** A question that waits for its outcome. */
export interface Waiting {
  readonly id: number
  readonly check: Check
  readonly question: Question
  readonly askedAtMs: number
  /** By the server's clock. */
  readonly untilMs: number
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
  /** The job that carries it; null while it travels or where adding it failed. */
  jobId: string | null
  /** When a sign of life of its job was last met. */
  heardAtMs: number
  /** When its job was first found with a worker that says nothing. */
  silentSinceMs: number | null
  hasFailed: boolean
}

/** Without a sign of life for so long, the queue is asked what became of a job. */
const QUIET_MS = 2_000

/** A worker that says nothing for so long after that is dead: it would have told of its work. */
const SILENT_MS = 1_500

/** Jobs looked up in one round. */
const MAX_JOBS = 50

/**
 * Finds the questions whose job is gone, or is with a worker that died. A job that still waits its
 * turn is no reason to ask again: that would only lengthen the queue.
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
