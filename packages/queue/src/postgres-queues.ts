import type { Channel, Mailbox } from '@plumbline/contract/channel'
import {
  assertSchemaCompatibility,
  createPostgresBackend,
  runMigrations,
  type PgPool,
} from 'bullmq'
import pg from 'pg'
import type { Producer, QueueBackend } from './backend.ts'
import { openConsumer, openProducer } from './bullmq.ts'
import { openServerClock } from './clock.ts'
import type { QueueName } from './names.ts'
import { createShelf } from './shelf.ts'

export interface PostgresQueueOptions {
  /** The database that holds the schema `bullmq`. */
  readonly databaseUrl: string
  readonly channel: Channel
  readonly mailbox: Mailbox
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

/** Brings BullMQ's own schema to its newest form; any number of processes may call it at once. */
export async function migrateQueue(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'plumbline' })
  await client.connect()
  try {
    await runMigrations(client, SCHEMA)
  } finally {
    await client.end()
  }
}

/** Queues on Postgres: one pool adds; each worker has a small one of its own and listens. */
export async function openPostgresQueues(options: PostgresQueueOptions): Promise<QueueBackend> {
  const { databaseUrl, onError } = options
  const pool = new pg.Pool({
    ...poolSettings(databaseUrl, 4),
    options: `${UNSYNCED} -c search_path=${SCHEMA}`,
  })
  // Every queue listens to the errors of the pool.
  pool.setMaxListeners(0)
  pool.on('error', onError)
  // The pool listens to idle connections only.
  pool.on('connect', (client) => client.on('error', onError))
  const producers = createShelf<QueueName, Producer>((name) =>
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
      mailbox: options.mailbox,
      clock,
      async ping() {
        await options.readClockMs()
      },
      producer: (name) => producers.get(name),
      consumer: (consumer) =>
        openConsumer(consumer, {
          connection: { ...poolSettings(databaseUrl, 3), options: UNSYNCED, schema: SCHEMA },
          factory: createPostgresBackend,
        }),
      [Symbol.asyncDispose]: close,
    }
  } catch (cause) {
    await close()
    throw new Error('the queue in Postgres cannot be used', { cause })
  }
}

/** Safe: a pool of the driver is what BullMQ documents here; its type differs in overloads alone. */
function asQueuePool(pool: pg.Pool): PgPool {
  return pool as unknown as PgPool
}

function poolSettings(databaseUrl: string, max: number) {
  return {
    connectionString: databaseUrl,
    max,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    application_name: 'plumbline queue',
  }
}
