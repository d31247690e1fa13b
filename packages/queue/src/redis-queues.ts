import { withTimeOut } from '@plumbline/concurrency/time-out'
import { NO_TRACER, type Tracer } from '@plumbline/ports/tracer'
import { createRedisBackend } from 'bullmq'
import type { Producer, QueueBackend } from './backend.ts'
import { openConsumer, openProducer } from './bullmq.ts'
import { openServerClock } from './clock.ts'
import type { QueueName } from './names.ts'
import { createRedisChannel } from './redis-channel.ts'
import { createRedisReplyChannel } from './redis-reply-channel.ts'
import { closeRedis, CLOSE_MS, openRedis, POLL_SECONDS, type RedisServer } from './redis.ts'
import { createLazyResources } from './lazy-resources.ts'
import { telemetryOf } from './telemetry.ts'

/** Options of `openRedisQueues`. */
export interface RedisQueueOptions {
  /** See `openRedis`. */
  readonly redisUrl: string
  /** Prefix of every key; default `plumbline`. */
  readonly prefix?: string
  readonly onError: (error: Error) => void
  /** See `openRedis`. */
  readonly commandMs?: number
  /** Absent: no tracing. */
  readonly tracer?: Tracer
}

/**
 * Queues on Redis or Valkey; each has a hash tag of its own, so that a cluster can distribute them.
 *
 * @throws Error if the server does not reply
 */
export async function openRedisQueues({
  redisUrl,
  prefix = 'plumbline',
  onError,
  commandMs,
  tracer = NO_TRACER,
}: RedisQueueOptions): Promise<QueueBackend> {
  const telemetry = await telemetryOf(tracer)
  const server = openRedis({ url: redisUrl, prefix, onError, commandMs })
  const channel = createRedisChannel(server)
  const adding = server.connect('add')
  const fetching = server.connect('fetch')
  const link = (name: QueueName, connection: typeof adding) => ({
    connection,
    prefix: redisQueuePrefix(prefix, name),
    factory: createRedisBackend,
    ...telemetry,
  })
  const producers = createLazyResources<QueueName, Producer>((name) =>
    openProducer(name, link(name, adding), onError),
  )
  async function close(): Promise<void> {
    // A producer that was being opened when the server stopped would wait without end.
    await withTimeOut(CLOSE_MS, producers[Symbol.asyncDispose]()).catch(onError)
    await channel[Symbol.asyncDispose]()
    await Promise.all([closeRedis(adding), closeRedis(fetching)])
    await server[Symbol.asyncDispose]()
  }
  try {
    const readMs = (): Promise<number> => withTimeOut(server.commandMs, readClockMs(server))
    await refuseLoneNode(server)
    const clock = await openServerClock(readMs)
    return {
      kind: 'redis',
      redis: server,
      channel,
      replyChannel: createRedisReplyChannel(server, channel),
      clock,
      tracer,
      async ping() {
        await readMs()
      },
      // Opened at its first use, which while the server is down would wait for as long as that.
      producer: (name) => withTimeOut(server.commandMs, producers.get(name)),
      consumer: (options) => openConsumer(options, link(options.name, fetching), POLL_SECONDS),
      [Symbol.asyncDispose]: close,
    }
  } catch (cause) {
    await close()
    throw new Error('the queue on Redis (REDIS_URL) cannot be used', { cause })
  }
}

/** Prefix of a queue's keys: its hash tag. */
export function redisQueuePrefix(prefix: string, name: QueueName): string {
  return `{${prefix}:${name}}`
}

/**
 * Refuses a single node of a cluster: it serves its own keys only, so most commands would fail, and
 * only once there is work.
 */
async function refuseLoneNode({ commands, commandMs }: RedisServer): Promise<void> {
  if (commands.isCluster) return
  const facts = await withTimeOut(commandMs, commands.info('cluster'))
  if (!facts.includes('cluster_enabled:1')) return
  throw new Error(
    'REDIS_URL names one server, which is a node of a Redis Cluster; ' +
      'write redis-cluster:// (rediss-cluster:// with TLS) and name its nodes with commas',
  )
}

async function readClockMs({ commands }: RedisServer): Promise<number> {
  const [seconds, microseconds] = await commands.time()
  return Number(seconds) * 1_000 + Number(microseconds) / 1_000
}
