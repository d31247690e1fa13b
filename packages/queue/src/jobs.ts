import { settledWithin } from '@plumbline/concurrency/time-out'
import type { ConsumerOptions, Job, JobState, NewJob, QueueBackend, QueueDepth } from './backend.ts'
import type { QueueName } from './names.ts'

/** Options of `work`. */
export interface WorkOptions {
  /** See `ConsumerOptions`. */
  readonly concurrency: ConsumerOptions['concurrency']
  /** Milliseconds without a renewal after which a job's lock expires; default 30 seconds. */
  readonly lockMs?: number
  /**
   * Milliseconds between two searches for jobs with an expired lock, which another worker then
   * takes: a killed worker holds its jobs for the two times together at most, and a little longer
   * if it was the one that searched. Default the time of a lock.
   */
  readonly stalledMs?: number
  /** Milliseconds that active jobs may continue when the worker is closed; default 10 seconds. */
  readonly graceMs?: number
  /** Called for lost connections, lost locks and errors of the handler. */
  readonly onError: (error: unknown) => void
}

/** Takes jobs from a queue and processes them until it is disposed of. */
export type QueueWorker = AsyncDisposable

/** Milliseconds that closing waits for aborted jobs, and for an unreachable server. */
const ENDING_MS = 2_000

/** Adds jobs in one step; a job whose id is still in the queue is not added again. */
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
 * Starts a worker. Delivery is at least once: a job is delivered again if its worker dies. An error
 * of the handler goes to `onError` and ends the job.
 */
export async function work(
  backend: QueueBackend,
  name: QueueName,
  handler: (job: Job) => Promise<void>,
  { concurrency, lockMs = 30_000, stalledMs = lockMs, graceMs = 10_000, onError }: WorkOptions,
): Promise<QueueWorker> {
  const consumer = await backend.consumer({
    name,
    concurrency,
    lockMs,
    stalledMs,
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
      const grace = setTimeout(() => consumer.abort('the worker is closing'), graceMs)
      try {
        await settledWithin(graceMs + ENDING_MS, consumer.close())
      } finally {
        clearTimeout(grace)
      }
    },
  }
}

/**
 * The state of a job; with `remove` a waiting one is removed from the queue, and reported as lost
 * from then on.
 */
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

/** The number of waiting and active jobs of a queue. */
export async function depth(backend: QueueBackend, name: QueueName): Promise<QueueDepth> {
  const producer = await backend.producer(name)
  return producer.depth()
}
