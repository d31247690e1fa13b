import { hash } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import type { Channel } from '@plumbline/ports/channel'
import type { ServerSockets } from '@plumbline/ports/server-sockets'
import type { PgPool } from 'bullmq'
import pg from 'pg'
import { QUEUE_NAMES } from './names.ts'

/** The schema that BullMQ's tables are in. */
export const SCHEMA = 'bullmq'

/**
 * The topic on which BullMQ notifies consumers of a job; the message names the queue. Source: bullmq
 * 6.7.
 */
const JOBS_TOPIC = 'bullmq_jobs'

/**
 * A job is only a wake-up call, so adding it need not be durable: a job that a crash of the server
 * loses is dispatched again.
 */
const SESSION = { search_path: SCHEMA, synchronous_commit: 'off' }

/** Time-out in milliseconds, for a network that drops packets without resetting connections. */
const QUERY_MS = 30_000

/**
 * A channel that reports when a lost connection is open again and messages may have been missed.
 */
export interface ListeningChannel extends Channel {
  onRenewed(renewed: () => void): void
}

/** Options of `openQueuePool`. */
export interface QueuePoolOptions {
  readonly databaseUrl: string
  /** Whether the address is that of a pooler in transaction mode. */
  readonly pooled: boolean
  readonly poolSize: number
  readonly channel: ListeningChannel
  /** Makes the sockets of the connections; absent: the driver does. */
  readonly sockets?: ServerSockets | undefined
  readonly onError: (error: Error) => void
}

/** Connections that all queues of a process share, and the handler of their errors. */
export interface QueuePool extends AsyncDisposable {
  readonly connection: PgPool
  readonly onError: (error: Error) => void
}

/** Opens a pool; errors are reported until it is being closed. */
export function openQueuePool({
  databaseUrl,
  pooled,
  poolSize,
  channel,
  sockets,
  onError: report,
}: QueuePoolOptions): QueuePool {
  const pool = new pg.Pool({
    connectionString: pooled ? databaseUrl : withOptions(databaseUrl, optionsOf(SESSION)),
    max: poolSize,
    // On a busy machine a new connection takes longer than calls wait for the server.
    min: 1,
    ...(sockets && { stream: sockets.open }),
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    query_timeout: QUERY_MS,
    application_name: 'plumbline queue',
  })
  const onError = (error: Error): void => {
    if (!pool.ending) report(error)
  }
  // Every queue listens to the errors of the pool.
  pool.setMaxListeners(0)
  pool.on('error', onError)
  // The pool listens to idle connections only.
  pool.on('connect', (client) => client.on('error', onError))
  const query = unhurried(pooled ? inTransactions(pool) : prepared(pool))
  return {
    connection: asQueuePool(pool, query, createWaker(channel)),
    onError,
    [Symbol.asyncDispose]: () => pool.end(),
  }
}

/** Runs one statement; BullMQ never needs two in the same session. */
type Query = (text: string, values?: unknown[]) => Promise<pg.QueryResult>

/**
 * Milliseconds of delay after a failed poll. BullMQ polls again at once, even if the server is
 * down, which would keep the process busy. Source: `retryIfFailed` of bullmq 6.7 delays only after
 * refused connections.
 */
const FAILED_PAUSE_MS = 250

function unhurried(query: Query): Query {
  return async (text, values) => {
    try {
      return await query(text, values)
    } catch (error) {
      await wait(FAILED_PAUSE_MS)
      throw error
    }
  }
}

/** Prepares each statement once per connection, as the same few statements are repeated. */
function prepared(pool: pg.Pool): Query {
  const names = new Map<string, string>()
  return (text, values) => {
    if (values === undefined) return pool.query(text)
    const name = names.get(text) ?? `bullmq-${hash('sha1', text)}`
    names.set(text, name)
    return pool.query({ name, text, values })
  }
}

/** Behind a pooler session settings apply to a transaction only. */
function inTransactions(pool: pg.Pool): Query {
  const settings = Object.entries(SESSION).map(([name, value]) => `set local ${name} to ${value}`)
  const begin = ['begin', ...settings].join('; ')
  return async (text, values) => {
    const client = await pool.connect()
    try {
      await client.query(begin)
      const result = await client.query(text, values)
      await client.query('commit')
      client.release()
      return result
    } catch (error) {
      await client.query('rollback').then(
        () => client.release(),
        () => client.release(true),
      )
      throw error
    }
  }
}

/**
 * Adds options of the session to those of an address. Given beside it they would have no effect: of
 * two values the driver takes that of the address.
 */
function withOptions(url: string, options: string): string {
  const at = url.indexOf('?')
  const own = at === -1 ? [] : new URLSearchParams(url.slice(at)).getAll('options').slice(-1)
  return `${url}${at === -1 ? '?' : '&'}options=${encodeURIComponent([...own, options].join(' '))}`
}

function optionsOf(session: Readonly<Record<string, string>>): string {
  return Object.entries(session)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ')
}

/**
 * The pool that BullMQ is given. A connection that BullMQ checks out is not a real one: it uses one
 * to read the schema's version, and one per consumer to listen. Safe: BullMQ 6.7 calls no other
 * methods.
 */
function asQueuePool(pool: pg.Pool, query: Query, waker: Waker): PgPool {
  return {
    query,
    connect: async () => openSession(query, waker),
    end: () => pool.end(),
    on: pool.on.bind(pool),
    removeAllListeners: pool.removeAllListeners.bind(pool),
    // So that a consumer blocks for as long as it should.
    options: { keepAlive: true },
  } as unknown as PgPool
}

/** Receives notifications of new jobs over the channel, for every consumer of the process. */
interface Waker {
  /** Resolves once jobs added from then on are notified. */
  hear(): Promise<void>
  readonly sessions: Set<EventEmitter>
}

function createWaker(channel: ListeningChannel): Waker {
  const sessions = new Set<EventEmitter>()
  function wake(payload: string): void {
    for (const session of sessions) session.emit('notification', { channel: JOBS_TOPIC, payload })
  }
  let heard: Promise<unknown> | undefined
  // Jobs may have been added while the connection was down.
  channel.onRenewed(() => QUEUE_NAMES.forEach(wake))
  return {
    sessions,
    async hear() {
      heard ??= channel.subscribe(JOBS_TOPIC, wake)
      await heard
    },
  }
}

/** The connection that BullMQ is given; its statements run on any connection of the pool. */
function openSession(query: Query, waker: Waker): EventEmitter {
  const session = new EventEmitter().setMaxListeners(0)
  waker.sessions.add(session)
  return Object.assign(session, {
    async query(text: string, values?: unknown[]) {
      if (LISTENS.test(text)) return await waker.hear()
      // The name for lists of connections, if the connection has none.
      if (NAMES_ITSELF.test(text)) return undefined
      return await query(text, values)
    },
    release: () => void waker.sessions.delete(session),
  })
}

const LISTENS = /^listen bullmq_jobs\b/im
const NAMES_ITSELF = /^select set_config\('application_name'/i
