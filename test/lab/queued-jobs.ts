import { openRedis } from '@plumbline/queue/redis'
import type { LabTarget } from './scenario.ts'

/** A job in a queue, whatever its state. */
export interface QueuedJob {
  readonly queue: string
  readonly id: string
}

/** Lists the jobs of all queues. */
export interface JobReader extends AsyncDisposable {
  read(): Promise<readonly QueuedJob[]>
}

/** The Redis key of a job: of all keys of a queue, only those of jobs end with a number. */
const JOB_KEY = /^\{plumbline:([a-z-]+)\}:\1:([^:]*-\d+)$/

/** Opens a reader of a service's queues, which are in Redis or in Postgres. */
export function openJobReader({ redis, service }: LabTarget): JobReader {
  if (redis === undefined) {
    const statement = 'select queue, id from bullmq.job'
    return {
      read: async () => (await service.db.pool.query<QueuedJob>(statement)).rows,
      [Symbol.asyncDispose]: async () => undefined,
    }
  }
  const server = openRedis({ url: redis.url, prefix: 'plumbline', onError: () => undefined })
  return {
    read: async () => {
      const keys = await server.commands.keys('{plumbline:*')
      return keys.flatMap((key) => {
        const [, queue, id] = JOB_KEY.exec(key) ?? []
        return queue === undefined || id === undefined ? [] : [{ queue, id }]
      })
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
