import type { Check } from '@plumbline/contract/products'
import type { Producer } from './backend.ts'
import type { PendingQuestion } from './lost-questions.ts'
import { liveQueueOf, type QueueName } from './names.ts'

/** Jobs of single calls that have ended: no caller waits for them. */
export interface AbandonedJobs {
  add(check: Check, jobId: string): void
  /**
   * Removes those that no worker has taken, except where a pending question shares the job. While
   * no worker runs, the queue would grow with every call. Those that could not be removed are
   * kept for the next time; throws the first error then.
   */
  remove(): Promise<void>
}

/** The part of a backend that removes jobs. */
interface Removing {
  producer(name: QueueName): Promise<Pick<Producer, 'remove'>>
}

/** Collects jobs until they are removed, for example when the queue's server replies again. */
export function createAbandonedJobs(
  backend: Removing,
  pending: ReadonlyMap<number, PendingQuestion>,
): AbandonedJobs {
  let jobs = new Map<string, Check>()
  return {
    add: (check, jobId) => void jobs.set(jobId, check),
    async remove() {
      if (jobs.size === 0) return
      const removing = jobs
      jobs = new Map()
      for (const { jobId } of pending.values()) if (jobId !== null) removing.delete(jobId)
      const removed = await Promise.allSettled(
        removing.entries().map(async ([jobId, check]) => {
          const producer = await backend.producer(liveQueueOf(check))
          await producer.remove(jobId)
          removing.delete(jobId)
        }),
      )
      for (const [jobId, check] of removing) jobs.set(jobId, check)
      const failed = removed.find(({ status }) => status === 'rejected')
      if (failed?.status === 'rejected') throw failed.reason
    },
  }
}
