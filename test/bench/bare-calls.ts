import { Queue, QueueEvents, Worker } from 'bullmq'
import { outcomeFor } from '@plumbline/testkit/instant-engines'

/** Jobs that the worker of the bare program processes concurrently. */
const CONCURRENCY = 50

/** Single calls by BullMQ alone. */
export interface BareCalls extends AsyncDisposable {
  call(at: number): Promise<void>
}

/**
 * BullMQ with default settings on Redis: adds a job for each call, and waits for the event of its
 * completion; caller and worker in one process, without HTTP.
 */
export async function openBareCalls(redisUrl: string): Promise<BareCalls> {
  const connection = { url: redisUrl, maxRetriesPerRequest: null }
  const queue = new Queue('bare', { connection })
  const events = new QueueEvents('bare', { connection })
  // Each call that waits listens to both.
  events.setMaxListeners(0)
  queue.setMaxListeners(0)
  const worker = new Worker(
    'bare',
    async (job: { data: { email: string } }) => outcomeFor('email', job.data.email),
    { connection, concurrency: CONCURRENCY },
  )
  await Promise.all([queue.waitUntilReady(), events.waitUntilReady(), worker.waitUntilReady()])
  return {
    async call(at) {
      // A job removed at once would be missed by a caller that does not wait for it yet.
      const options = { removeOnComplete: { count: 1_000 } }
      const job = await queue.add('email', { email: `person${at}@example.com` }, options)
      await job.waitUntilFinished(events, 15_000)
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([worker.close(), events.close()])
      await queue.obliterate({ force: true })
      await queue.close()
    },
  }
}
