import type { Budget } from '@plumbline/ports/budget'
import { NO_TRACER, type Tracer } from '@plumbline/ports/tracer'
import type { Limiter } from '@plumbline/ports/limiter'
import type { Memory } from '@plumbline/ports/memory'
import type { ServerSockets } from '@plumbline/ports/server-sockets'
import { createPostgresBudget } from '@plumbline/db/budget'
import { openPostgresChannel } from '@plumbline/db/channel'
import { readClockMs } from '@plumbline/db/clock'
import { createPostgresReplyChannel } from '@plumbline/db/channel-replies'
import { openDatabase, type Db } from '@plumbline/db/database'
import { noteInstallationKey } from '@plumbline/db/installation-key'
import { limitConnections } from '@plumbline/db/limit-connections'
import { createPostgresLimiter } from '@plumbline/db/limiter'
import { createPostgresMemory } from '@plumbline/db/memory'
import { createServerSockets } from '@plumbline/db/server-sockets'
import type { QueueBackend } from '@plumbline/queue/backend'
import { openPostgresQueues } from '@plumbline/queue/postgres-queues'
import { createRedisLimiter } from '@plumbline/queue/redis-limiter'
import { createRedisMemory } from '@plumbline/queue/redis-memory'
import { openRedisQueues } from '@plumbline/queue/redis-queues'
import type { InstallationKey } from './installation-key.ts'
import { keyedLimiter, keyedMemory } from './keyed-stores.ts'
import type { Log } from '@plumbline/ports/log'

/** The connections that every program of the service has. */
export interface Connections extends AsyncDisposable {
  readonly db: Db
  /**
   * The same pool with the connections that `db` leaves free, for the short statements that single
   * calls wait for.
   */
  readonly callDb: Db
  /** Bytes received from Postgres by these pools, that of the queue included. */
  readonly receivedBytes: () => number
  readonly queue: QueueBackend
  /** Shared by all processes: on Redis if there is one, else on Postgres. */
  readonly memory: Memory
  /** Facts that cost money to find out: always in Postgres, in a table that survives a crash. */
  readonly durable: Memory
  readonly limiter: Limiter
  /** Budgets of money: always in Postgres, in a table that survives a crash. */
  readonly budget: Budget
}

/** Milliseconds between two readings of the shared clock: the clocks of machines drift apart. */
const ADJUST_MS = 60_000

/**
 * Opens Postgres and the queue: on Redis if `redisUrl` is set, else on the same Postgres.
 *
 * @throws Error if the other processes of the installation use another key
 */
export async function openConnections(options: ConnectionOptions): Promise<Connections> {
  try {
    return await open(options)
  } catch (error) {
    throw mentions(error, REFUSED_BY_POOLER) ? undeclaredPooler(error) : error
  }
}

/** PgBouncer's error for a connection that sends session settings at its start. */
const REFUSED_BY_POOLER = 'unsupported startup parameter'

function mentions(error: unknown, words: string): boolean {
  return error instanceof Error && (error.message.includes(words) || mentions(error.cause, words))
}

function undeclaredPooler(cause: unknown): Error {
  return new Error(
    'a database address leads to a pooler where the server itself is expected; ' +
      'set DATABASE_URL to the pooler and DATABASE_DIRECT_URL to the server behind it',
    { cause },
  )
}

/** Options of `openConnections`. */
export interface ConnectionOptions {
  databaseUrl: string
  /** URL of the server itself, if `databaseUrl` is that of a pooler in transaction mode. */
  databaseDirectUrl?: string | undefined
  redisUrl: string | undefined
  /** Prefix of every key in Redis: two installations on one Redis need two. */
  redisPrefix?: string
  /** Absent: only entries of memory and limiter whose names hold no subject can be used. */
  installationKey?: InstallationKey
  /**
   * Maximum number of connections to Postgres, in all; by default 6, and 12 if the queue is on
   * Postgres too.
   */
  poolSize?: number | undefined
  /** Connections that `db` leaves free for `callDb`, of all but one; by default none. */
  reserved?: number
  name: string
  log: Log
  /** Absent: no tracing. */
  tracer?: Tracer
}

async function open(options: ConnectionOptions): Promise<Connections> {
  const { databaseUrl, databaseDirectUrl, redisUrl, log, installationKey: key = null } = options
  const sizes = poolSizes(redisUrl !== undefined, options.poolSize)
  const onError = (error: unknown): void => log.warn({ err: error }, 'connection error')
  const sockets = createServerSockets()
  await using stack = new AsyncDisposableStack()
  const callDb = stack.use(
    openDatabase({
      url: databaseUrl,
      pooled: databaseDirectUrl !== undefined,
      poolSize: sizes.statements,
      applicationName: options.name,
      sockets,
      onIdleError: onError,
    }),
  )
  const { reserved = 0 } = options
  const most = Math.max(1, sizes.statements - reserved)
  const db = reserved === 0 ? callDb : limitConnections(callDb, most)
  const queue = stack.use(
    await openQueue(callDb, options, { poolSize: sizes.queue, sockets, onError, stack }),
  )
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
    callDb,
    receivedBytes: sockets.receivedBytes,
    queue,
    memory: keyedMemory(facts, key),
    durable: keyedMemory(purchases, key),
    limiter: keyedLimiter(limits, key),
    budget,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Default number of connections to Postgres, with the queue on Redis and without. */
const CONNECTIONS = { redis: 6, postgres: 12 }

/**
 * Sizes of the pools. Without Redis one connection listens, and a third of the others is the
 * queue's.
 */
function poolSizes(
  onRedis: boolean,
  total = onRedis ? CONNECTIONS.redis : CONNECTIONS.postgres,
): { readonly statements: number; readonly queue: number } {
  if (onRedis) return { statements: total, queue: 0 }
  const queue = Math.max(1, Math.ceil((total - 1) / 3))
  return { statements: Math.max(1, total - 1 - queue), queue }
}

function otherKey(): Error {
  return new Error(
    'the key of this installation is not the one that its database was first used with; ' +
      'give every process the same INSTALLATION_KEY, or the same DATA_DIR',
  )
}

/** What the queue of a process shares with its other connections. */
interface QueueResources {
  readonly poolSize: number
  readonly sockets: ServerSockets
  readonly onError: (error: unknown) => void
  readonly stack: AsyncDisposableStack
}

async function openQueue(
  db: Db,
  { tracer = NO_TRACER, ...options }: ConnectionOptions,
  { poolSize, sockets, onError, stack }: QueueResources,
): Promise<QueueBackend> {
  const { databaseUrl, databaseDirectUrl, redisUrl, redisPrefix = 'plumbline' } = options
  if (redisUrl !== undefined) {
    return await openRedisQueues({ redisUrl, prefix: redisPrefix, tracer, onError })
  }
  const channel = stack.use(
    openPostgresChannel({ db, url: databaseDirectUrl ?? databaseUrl, onError }),
  )
  return await openPostgresQueues({
    databaseUrl,
    pooled: databaseDirectUrl !== undefined,
    poolSize,
    sockets,
    channel,
    replyChannel: createPostgresReplyChannel(db, channel),
    readClockMs: () => readClockMs(db),
    tracer,
    onError,
  })
}
