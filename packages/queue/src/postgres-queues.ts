import type { ReplyChannel } from '@plumbline/ports/channel'
import type { ServerSockets } from '@plumbline/ports/server-sockets'
import { NO_TRACER, type Tracer } from '@plumbline/ports/tracer'
import { assertSchemaCompatibility, createPostgresBackend, runMigrations } from 'bullmq'
import pg from 'pg'
import type { Producer, QueueBackend } from './backend.ts'
import { openConsumer, openProducer } from './bullmq.ts'
import { openServerClock } from './clock.ts'
import { QUEUE_NAMES, type QueueName } from './names.ts'
import { createLazyResources } from './lazy-resources.ts'
import { telemetryOf } from './telemetry.ts'
import { openQueuePool, SCHEMA, type ListeningChannel } from './postgres-pool.ts'

/** Options of `openPostgresQueues`. */
export interface PostgresQueueOptions {
  /** URL of the database that holds the schema `bullmq`. */
  readonly databaseUrl: string
  /** Whether the address is that of a pooler in transaction mode, such as PgBouncer. */
  readonly pooled?: boolean
  /** Maximum number of connections; default 4. */
  readonly poolSize?: number
  /** Makes the sockets of the connections; absent: the driver does, and no bytes are counted. */
  readonly sockets?: ServerSockets
  /** Also used to notify the consumers, so that a process has one listening connection. */
  readonly channel: ListeningChannel
  readonly replyChannel: ReplyChannel
  /** Milliseconds since the Unix epoch by the database's clock. */
  readonly readClockMs: () => Promise<number>
  /** Absent: no tracing. */
  readonly tracer?: Tracer
  readonly onError: (error: Error) => void
}

/** Connections shared by all queues of a process: none is blocked while waiting for a job. */
const POOL_SIZE = 4

/**
 * Migrates BullMQ's own schema and creates the id sequence of each queue, which BullMQ would create
 * with its first job, so that the serving role needs no right to create. Any number of processes
 * may call it at once.
 */
export async function migrateQueue(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'plumbline' })
  await client.connect()
  try {
    await runMigrations(client, SCHEMA)
    const { rows } = await client.query<{ name: string }>(
      `select format('%I.%I', $1::text, ${SCHEMA}.job_id_seq_name(queue)) as name
       from unnest($2::text[]) as queue`,
      [SCHEMA, QUEUE_NAMES],
    )
    for (const { name } of rows) await createSequence(client, name)
  } finally {
    await client.end()
  }
}

/**
 * SQLSTATEs if two processes create a sequence at the same moment, which `if not exists` does not
 * prevent.
 */
const CREATED_MEANWHILE = ['42P07', '23505']

async function createSequence(client: pg.Client, name: string): Promise<void> {
  try {
    await client.query(`create sequence if not exists ${name}`)
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error
    if (!CREATED_MEANWHILE.includes(error.code ?? '')) throw error
  }
}

/**
 * Queues on Postgres: producers and consumers of a process share one small pool, and are notified
 * over its channel.
 *
 * @throws Error if the server does not reply or the schema `bullmq` is missing or outdated
 */
export async function openPostgresQueues(options: PostgresQueueOptions): Promise<QueueBackend> {
  const { databaseUrl, pooled = false, poolSize = POOL_SIZE, channel, onError } = options
  const { sockets, tracer = NO_TRACER } = options
  const telemetry = await telemetryOf(tracer)
  const shared = openQueuePool({ databaseUrl, pooled, poolSize, channel, sockets, onError })
  const link = { connection: shared.connection, factory: createPostgresBackend, ...telemetry }
  const producers = createLazyResources<QueueName, Producer>((name) =>
    openProducer(name, link, shared.onError),
  )
  async function close(): Promise<void> {
    await producers[Symbol.asyncDispose]()
    await shared[Symbol.asyncDispose]()
  }
  try {
    await assertSchemaCompatibility(shared.connection, SCHEMA)
    const clock = await openServerClock(options.readClockMs)
    return {
      kind: 'postgres',
      redis: null,
      channel,
      replyChannel: options.replyChannel,
      clock,
      tracer,
      ...(sockets && { receivedBytes: sockets.receivedBytes }),
      async ping() {
        await options.readClockMs()
      },
      producer: (name) => producers.get(name),
      consumer: (consumer) =>
        openConsumer({ ...consumer, onError: shared.onError }, link, POLL_SECONDS),
      [Symbol.asyncDispose]: close,
    }
  } catch (cause) {
    await close()
    throw new Error('the queue in Postgres (DATABASE_URL) cannot be used', { cause })
  }
}

/**
 * Polling interval in seconds. Consumers are notified of each job, and poll after a reconnection,
 * so polling is only a safeguard. Each poll takes four statements.
 */
const POLL_SECONDS = 60
