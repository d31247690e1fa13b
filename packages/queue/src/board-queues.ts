import { createRedisBackend, Queue, type Job } from 'bullmq'
import { QUEUE_NAMES } from './names.ts'
import { redisQueuePrefix } from './redis-queues.ts'
import type { RedisServer } from './redis.ts'

/** What stands where a job holds data: those of single calls are subjects, in clear. */
export const MASKED = 'not shown: a job may hold what somebody asks about'

/**
 * The queues on Redis for a board that shows them: nothing is written by opening one, and no job shows what it
 * holds. They use the connection of the process and need no closing.
 */
export function openBoardQueues(
  { commands, prefix }: RedisServer,
  onError: (error: Error) => void,
): readonly Queue[] {
  return QUEUE_NAMES.map((name) => {
    const link = { connection: commands, prefix: redisQueuePrefix(prefix, name) }
    const queue = new MaskedQueue(name, { ...link, skipMetasUpdate: true }, createRedisBackend)
    queue.on('error', onError)
    return queue
  })
}

class MaskedQueue extends Queue {
  override async getJob(id: string): Promise<Job | undefined> {
    const job = await super.getJob(id)
    return job === undefined ? undefined : masked(job)
  }

  override async getJobs(...which: Parameters<Queue['getJobs']>): Promise<Job[]> {
    const jobs = await super.getJobs(...which)
    return jobs.map(masked)
  }
}

function masked(job: Job): Job {
  job.data = MASKED
  job.returnvalue = null
  // What a handler threw may name what it worked on.
  job.failedReason = job.failedReason ? MASKED : job.failedReason
  job.stacktrace = []
  return job
}
