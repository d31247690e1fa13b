import type { Job, JobState, NewJob, QueueBackend, QueueDepth } from './backend.ts'
import type { QueueName } from './names.ts'

/** How jobs are worked on. */
export interface WorkOptions {
  /** Jobs under way together. */
  readonly concurrency: number
  /** After so long without a renewal another worker takes the job; 30 seconds by default. */
  readonly lockMs?: number
  /** How long jobs under way may go on when the worker is closed; 10 seconds by default. */
  readonly graceMs?: number
  /** Called with lost connections, lost locks and what a handler threw. */
  readonly onError: (error: unknown) => void
}

/** Takes jobs from a queue and works on them until it is disposed of. */
export type QueueWorker = AsyncDisposable

/** How long aborted jobs have to end, and a server that is away to answer, before closing goes on. */
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
 * Starts a worker. A job is delivered at least once, and again when its worker dies; what a
 * handler throws goes to `onError` and ends the job.
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
    async process(job) {
      try {
        await handler(job)
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

/** Where a job is; with `remove` one that waits is taken out of the queue, and lost by that. */
export async function recall(
  backend: QueueBackend,
  name: QueueName,
  id: string,
  remove: boolean,
): Promise<JobState> {
  const producer = await backend.producer(name)
  if (remove) await producer.remove(id)
  return await producer.state(id)
}

/** How many jobs of a queue wait and how many are under way. */
export async function depth(backend: QueueBackend, name: QueueName): Promise<QueueDepth> {
  const producer = await backend.producer(name)
  return producer.depth()
}
