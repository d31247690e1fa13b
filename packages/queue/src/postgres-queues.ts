import { hash } from 'node:crypto'
import type { Channel, ReplyChannel } from '@plumbline/ports/channel'
import {
  assertSchemaCompatibility,
  createPostgresBackend,
  runMigrations,
  type PgPool,
} from 'bullmq'
import pg from 'pg'
import type { Consumer, ConsumerOptions, Producer, QueueBackend } from './backend.ts'
import { openConsumer, openProducer } from './bullmq.ts'
import { openServerClock } from './clock.ts'
import { QUEUE_NAMES, type QueueName } from './names.ts'
import { createLazyResources } from './lazy-resources.ts'

/** What queues on Postgres need. */
export interface PostgresQueueOptions {
  /** The database that holds the schema `bullmq`. */
  readonly databaseUrl: string
  readonly channel: Channel
  readonly replyChannel: ReplyChannel
  /** Milliseconds of the epoch by the database's clock. */
  readonly readClockMs: () => Promise<number>
  readonly onError: (error: Error) => void
}

const SCHEMA = 'bullmq'

/**
 * A job is only a wake-up call, so it need not be on disk when it is added: what a crash of the
 * server loses is dispatched again.
 */
const UNSYNCED = '-c synchronous_commit=off'

/**
 * Migrates BullMQ's own schema, and makes the sequence of ids of each queue, which BullMQ would make with
 * its first job: so the role that adds jobs needs no right to create. Any number of processes may call it at
 * once.
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

/** SQLSTATEs of two processes that create a sequence at the same moment, which `if not exists` does not prevent. */
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
 * Queues on Postgres: one pool adds; each consumer has a small one of its own and listens.
 * @throws Error when the server does not answer or the schema `bullmq` is missing or old
 */
export async function openPostgresQueues(options: PostgresQueueOptions): Promise<QueueBackend> {
  const { databaseUrl } = options
  const { pool, onError } = openPool(databaseUrl, 4, options.onError)
  const producers = createLazyResources<QueueName, Producer>((name) =>
    openProducer(name, { connection: asQueuePool(pool), factory: createPostgresBackend }, onError),
  )
  async function close(): Promise<void> {
    await producers[Symbol.asyncDispose]()
    await pool.end()
  }
  try {
    await assertSchemaCompatibility(pool, SCHEMA)
    const clock = await openServerClock(options.readClockMs)
    return {
      kind: 'postgres',
      redis: null,
      channel: options.channel,
      replyChannel: options.replyChannel,
      clock,
      async ping() {
        await options.readClockMs()
      },
      producer: (name) => producers.get(name),
      consumer: (consumer) => openPostgresConsumer(databaseUrl, consumer),
      [Symbol.asyncDispose]: close,
    }
  } catch (cause) {
    await close()
    throw new Error('the queue in Postgres cannot be used', { cause })
  }
}

/** A consumer has a pool of its own: one connection listens, the others fetch and finish. */
async function openPostgresConsumer(
  databaseUrl: string,
  options: ConsumerOptions,
): Promise<Consumer> {
  const { pool, onError } = openPool(databaseUrl, 4, options.onError)
  const connection = asQueuePool(pool)
  try {
    const consumer = await openConsumer(
      { ...options, onError },
      { connection, factory: createPostgresBackend },
    )
    return {
      abort: consumer.abort,
      async close() {
        await consumer.close()
        await pool.end()
      },
    }
  } catch (error) {
    await pool.end()
    throw error
  }
}

/** A pool, and the listener for errors of its connections. */
interface QueuePool {
  readonly pool: pg.Pool
  readonly onError: (error: Error) => void
}

/** Opens a pool whose errors are reported until it is being closed. */
function openPool(databaseUrl: string, max: number, report: (error: Error) => void): QueuePool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    application_name: 'plumbline queue',
    options: `${UNSYNCED} -c search_path=${SCHEMA}`,
  })
  const onError = (error: Error): void => {
    if (!pool.ending) report(error)
  }
  // Every queue listens to the errors of the pool.
  pool.setMaxListeners(0)
  pool.on('error', onError)
  // The pool listens to idle connections only.
  pool.on('connect', (client) => client.on('error', onError))
  return { pool, onError }
}

/**
 * The pool as BullMQ uses it. The same few statements come as text again and again, so each is
 * prepared once for each connection. Safe: a pool of the driver is what BullMQ documents here; the
 * types differ in overloads alone.
 */
function asQueuePool(pool: pg.Pool): PgPool {
  const names = new Map<string, string>()
  const query = (text: string, values?: unknown[]): Promise<pg.QueryResult> => {
    if (values === undefined) return pool.query(text)
    const name = names.get(text) ?? `bullmq-${hash('sha1', text)}`
    names.set(text, name)
    return pool.query({ name, text, values })
  }
  return {
    query,
    connect: () => pool.connect(),
    end: () => pool.end(),
    on: pool.on.bind(pool),
    removeAllListeners: pool.removeAllListeners.bind(pool),
  } as unknown as PgPool
}
