import type { JobData, QueueBackend, QueueDepth } from './backend.ts'
import type { QueueName } from './names.ts'

/** A job by its id: letters, digits and `-`, not digits alone. */
export interface NewJob {
  readonly id: string
  readonly data: JobData
}

/** A job in hand. */
export interface Job extends NewJob {
  /** Aborted when the lock was lost, so another may have the job, and when the worker must end. */
  readonly signal: AbortSignal
}

/** How jobs are worked on. */
export interface WorkOptions {
  /** Jobs under way together. */
  readonly concurrency: number
  /** After so long without a renewal another worker takes the job; 30 seconds by default. */
  readonly lockMs?: number
  /** How long jobs under way may go on when the worker is closed; 10 seconds by default. */
  readonly graceMs?: number
  /** Told of lost connections, lost locks and of what a handler threw. */
  readonly onError: (error: unknown) => void
}

/** Works on the jobs of a queue until it is disposed of. */
export type QueueWorker = AsyncDisposable

/** How long jobs have to end once they were told to; a queue whose server is away says nothing either. */
const ENDING_MS = 2_000

/** Adds jobs in one step; one whose id is still in the queue is not added twice. */
export async function enqueue(
  backend: QueueBackend,
  name: QueueName,
  jobs: readonly NewJob[],
): Promise<void> {
  if (jobs.length === 0) return
  const producer = await backend.producer(name)
  await producer.add(jobs)
}

/**
 * Starts a worker. A job is handed out at least once, and again when its worker dies; what a
 * handler throws only ends the job.
 */
export async function work(
  backend: QueueBackend,
  name: QueueName,
  handler: (job: Job) => Promise<void>,
  { concurrency, lockMs = 30_000, graceMs = 10_000, onError }: WorkOptions,
): Promise<QueueWorker> {
  const consumer = await backend.consumer({
    name,
    concurrency,
    lockMs,
    onError,
    async process(id, data, signal) {
      try {
        await handler({ id, data, signal })
      } catch (error) {
        onError(error)
      }
    },
  })
  return {
    async [Symbol.asyncDispose]() {
      const ended = Promise.withResolvers<void>()
      const grace = setTimeout(() => consumer.abort('the worker is closing'), graceMs)
      const late = setTimeout(ended.resolve, graceMs + ENDING_MS)
      await Promise.race([consumer.close(), ended.promise])
      clearTimeout(grace)
      clearTimeout(late)
    },
  }
}

/** How many jobs wait in a queue and how many are under way. */
export async function depth(backend: QueueBackend, name: QueueName): Promise<QueueDepth> {
  const producer = await backend.producer(name)
  return producer.depth()
}
