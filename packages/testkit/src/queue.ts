import { randomBytes } from 'node:crypto'
import type { Limiter } from '@plumbline/ports/limiter'
import type { Memory } from '@plumbline/ports/memory'
import { openPostgresChannel } from '@plumbline/db/channel'
import { readClockMs } from '@plumbline/db/clock'
import { createPostgresReplyChannel } from '@plumbline/db/channel-replies'
import { openDatabase } from '@plumbline/db/database'
import { createPostgresLimiter } from '@plumbline/db/limiter'
import { createPostgresMemory } from '@plumbline/db/memory'
import type { QueueBackend } from '@plumbline/queue/backend'
import { openPostgresQueues } from '@plumbline/queue/postgres-queues'
import { createRedisLimiter } from '@plumbline/queue/redis-limiter'
import { createRedisMemory } from '@plumbline/queue/redis-memory'
import { openRedisQueues } from '@plumbline/queue/redis-queues'

/** One process's connections to the queue, the shared memory and the limiter. */
export interface TestQueue extends AsyncDisposable {
  readonly backend: QueueBackend
  readonly memory: Memory
  readonly limiter: Limiter
  /** Errors of the connections. */
  readonly errors: readonly unknown[]
}

/** Opens a queue on Redis, with a key prefix of its own unless `prefix` names another one's. */
export async function openRedisTestQueue(
  redisUrl: string,
  prefix = `test-${randomBytes(6).toString('hex')}`,
): Promise<TestQueue> {
  const errors: unknown[] = []
  const backend = await openRedisQueues({
    redisUrl,
    prefix,
    onError: (error) => errors.push(error),
  })
  if (backend.redis === null) throw new Error('a queue on Redis has a server')
  return {
    backend,
    memory: createRedisMemory(backend.redis),
    limiter: createRedisLimiter(backend.redis),
    errors,
    [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose](),
  }
}

/** Opens a queue on a copy of the template database, which includes the schema of the queue. */
export async function openPostgresTestQueue(url: string): Promise<TestQueue> {
  const errors: unknown[] = []
  const onError = (error: unknown): void => void errors.push(error)
  const db = openDatabase({ url, poolSize: 8, applicationName: 'test queue', onIdleError: onError })
  const channel = openPostgresChannel({ db, url, onError })
  const backend = await openPostgresQueues({
    databaseUrl: url,
    channel,
    replyChannel: createPostgresReplyChannel(db, channel),
    readClockMs: () => readClockMs(db),
    onError,
  })
  return {
    backend,
    memory: createPostgresMemory(db),
    limiter: createPostgresLimiter(db),
    errors,
    async [Symbol.asyncDispose]() {
      await backend[Symbol.asyncDispose]()
      await channel[Symbol.asyncDispose]()
      await db[Symbol.asyncDispose]()
    },
  }
}
