import { createRedisBackend, Queue, type Job } from 'bullmq'
import { QUEUE_NAMES } from './names.ts'
import { redisQueuePrefix } from './redis-queues.ts'
import type { RedisServer } from './redis.ts'

/** Replaces the data of jobs: those of single calls contain subjects in plain text. */
const MASKED = 'not shown: a job may hold what somebody asks about'

/**
 * The queues on Redis for a dashboard: opening them writes nothing, and the data of jobs is masked.
 * They use the connection of the process and need not be closed.
 */
export function openDashboardQueues(
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
  // An error of a handler may name its subject.
  job.failedReason = job.failedReason ? MASKED : job.failedReason
  job.stacktrace = []
  return job
}
