import type { Budget } from '@plumbline/ports/budget'
import type { Limiter } from '@plumbline/ports/limiter'
import type { Memory } from '@plumbline/ports/memory'
import { createPostgresBudget } from '@plumbline/db/budget'
import { openPostgresChannel } from '@plumbline/db/channel'
import { readClockMs } from '@plumbline/db/channel-clock'
import { createPostgresReplyChannel } from '@plumbline/db/channel-replies'
import { openDatabase, type Db } from '@plumbline/db/database'
import { noteInstallationKey } from '@plumbline/db/installation-key'
import { createPostgresLimiter } from '@plumbline/db/limiter'
import { createPostgresMemory } from '@plumbline/db/memory'
import type { QueueBackend } from '@plumbline/queue/backend'
import { openPostgresQueues } from '@plumbline/queue/postgres-queues'
import { createRedisLimiter } from '@plumbline/queue/redis-limiter'
import { createRedisMemory } from '@plumbline/queue/redis-memory'
import { openRedisQueues } from '@plumbline/queue/redis-queues'
import type { InstallationKey } from './installation-key.ts'
import { keyedLimiter, keyedMemory } from './keyed-stores.ts'
import type { Log } from '@plumbline/ports/log'

/** What every program of the service is connected to. */
export interface Connections extends AsyncDisposable {
  readonly db: Db
  readonly queue: QueueBackend
  /** Shared between all processes: on Redis where there is one, else on Postgres. */
  readonly memory: Memory
  /** Facts that cost money to forget: on Postgres always, and there through a crash of it. */
  readonly durable: Memory
  readonly limiter: Limiter
  /** What money may be spent: on Postgres always, and there through a crash of it. */
  readonly budget: Budget
}

/** How often the clock that all processes share is read again: computers' clocks drift apart. */
const ADJUST_MS = 60_000

/**
 * Opens Postgres and the queue: on Redis where `redisUrl` is set, else on the same Postgres.
 * @throws Error where the other processes of the installation use another key
 */
export async function openConnections(options: {
  databaseUrl: string
  redisUrl: string | undefined
  /** Begins every key in Redis: two services on one Redis need two. */
  redisPrefix?: string
  /** Without it, of memory and limiter only what names no subject can be reached. */
  installationKey?: InstallationKey
  poolSize: number
  name: string
  log: Log
}): Promise<Connections> {
  const { databaseUrl, log, installationKey: key = null } = options
  const onError = (error: unknown): void => log.warn({ err: error }, 'connection trouble')
  await using stack = new AsyncDisposableStack()
  const db = stack.use(
    openDatabase({
      url: databaseUrl,
      poolSize: options.poolSize,
      applicationName: options.name,
      onIdleError: onError,
    }),
  )
  const queue = stack.use(await openQueue(db, options, onError, stack))
  if (key !== null && !(await noteInstallationKey(db, key.fingerprint))) throw otherKey()
  const timer = setInterval(() => void queue.clock.adjust().catch(onError), ADJUST_MS)
  timer.unref()
  stack.defer(() => clearInterval(timer))
  const { redis } = queue
  const facts = redis === null ? createPostgresMemory(db) : createRedisMemory(redis)
  const limits = redis === null ? createPostgresLimiter(db) : createRedisLimiter(redis)
  const purchases = createPostgresMemory(db, { durable: true })
  const budget = createPostgresBudget(db)
  const owned = stack.move()
  return {
    db,
    queue,
    memory: keyedMemory(facts, key),
    durable: keyedMemory(purchases, key),
    limiter: keyedLimiter(limits, key),
    budget,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function otherKey(): Error {
  return new Error(
    'the key of this installation is not the one that its database was first used with; ' +
      'give every process the same INSTALLATION_KEY, or the same DATA_DIR',
  )
}

async function openQueue(
  db: Db,
  {
    databaseUrl,
    redisUrl,
    redisPrefix = 'plumbline',
  }: { databaseUrl: string; redisUrl: string | undefined; redisPrefix?: string },
  onError: (error: unknown) => void,
  stack: AsyncDisposableStack,
): Promise<QueueBackend> {
  if (redisUrl !== undefined) {
    return await openRedisQueues({ redisUrl, prefix: redisPrefix, onError })
  }
  const channel = stack.use(openPostgresChannel({ db, url: databaseUrl, onError }))
  return await openPostgresQueues({
    databaseUrl,
    channel,
    replyChannel: createPostgresReplyChannel(db, channel),
    readClockMs: () => readClockMs(db),
    onError,
  })
}
