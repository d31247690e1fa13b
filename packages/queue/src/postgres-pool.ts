import { hash } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import type { Channel } from '@plumbline/ports/channel'
import type { PgPool } from 'bullmq'
import pg from 'pg'
import { QUEUE_NAMES } from './names.ts'

/** The schema that BullMQ's tables are in. */
export const SCHEMA = 'bullmq'

/** The topic by which BullMQ tells consumers that a queue, its message, has a job. Source: bullmq 6.7. */
const JOBS_TOPIC = 'bullmq_jobs'

/**
 * A job is only a wake-up call, so it need not be on disk when it is added: what a crash of the
 * server loses is dispatched again.
 */
const SESSION = { search_path: SCHEMA, synchronous_commit: 'off' }

/** A network that loses what is sent, and resets nothing, would keep whoever dispatches waiting. */
const ANSWER_MS = 30_000

/** A channel that tells when a lost connection is back, and messages may have been missed. */
export interface ListeningChannel extends Channel {
  onRenewed(renewed: () => void): void
}

/** What the pool of the queues needs. */
export interface QueuePoolOptions {
  readonly databaseUrl: string
  /** The address is that of a pooler in transaction mode. */
  readonly pooled: boolean
  readonly poolSize: number
  readonly channel: ListeningChannel
  readonly onError: (error: Error) => void
}

/** Connections that all queues of a process share, and the listener for their errors. */
export interface QueuePool extends AsyncDisposable {
  readonly connection: PgPool
  readonly onError: (error: Error) => void
}

/** Opens a pool whose errors are reported until it is being closed. */
export function openQueuePool({
  databaseUrl,
  pooled,
  poolSize,
  channel,
  onError: report,
}: QueuePoolOptions): QueuePool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: poolSize,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    query_timeout: ANSWER_MS,
    application_name: 'plumbline queue',
    ...(pooled ? {} : { options: optionsOf(SESSION) }),
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

/** Runs one statement; BullMQ sends none that needs another of the same session. */
type Query = (text: string, values?: unknown[]) => Promise<pg.QueryResult>

/**
 * BullMQ asks for the next job again at once where it got none, also where the server is away: the pause keeps
 * a process from doing nothing else. Source: `retryIfFailed` of bullmq 6.7 waits for refused connections alone.
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

/** The same few statements come as text again and again, so each is prepared once for each connection. */
function prepared(pool: pg.Pool): Query {
  const names = new Map<string, string>()
  return (text, values) => {
    if (values === undefined) return pool.query(text)
    const name = names.get(text) ?? `bullmq-${hash('sha1', text)}`
    names.set(text, name)
    return pool.query({ name, text, values })
  }
}

/** Behind a pooler what a session is set to holds for a transaction alone. */
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

function optionsOf(session: Readonly<Record<string, string>>): string {
  return Object.entries(session)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ')
}

/**
 * What BullMQ takes for a pool. A connection that it takes out is none of the server's: it wants one to read
 * the schema's version, and keeps one for each consumer to listen on. Safe: these are all the methods of
 * a pool that BullMQ 6.7 calls.
 */
function asQueuePool(pool: pg.Pool, query: Query, waker: Waker): PgPool {
  return {
    query,
    connect: async () => openSession(query, waker),
    end: () => pool.end(),
    on: pool.on.bind(pool),
    removeAllListeners: pool.removeAllListeners.bind(pool),
    // So that a consumer waits as long as it is told to.
    options: { keepAlive: true },
  } as unknown as PgPool
}

/** Hears of new jobs by the channel, for every consumer of the process. */
interface Waker {
  /** Resolves once jobs that are added from then on are heard of. */
  hear(): Promise<void>
  readonly sessions: Set<EventEmitter>
}

function createWaker(channel: ListeningChannel): Waker {
  const sessions = new Set<EventEmitter>()
  function wake(payload: string): void {
    for (const session of sessions) session.emit('notification', { channel: JOBS_TOPIC, payload })
  }
  let heard: Promise<unknown> | undefined
  // Jobs may have come while nobody listened.
  channel.onRenewed(() => QUEUE_NAMES.forEach(wake))
  return {
    sessions,
    async hear() {
      heard ??= channel.subscribe(JOBS_TOPIC, wake)
      await heard
    },
  }
}

/** What BullMQ takes for a connection of its own; its statements run on any. */
function openSession(query: Query, waker: Waker): EventEmitter {
  const session = new EventEmitter().setMaxListeners(0)
  waker.sessions.add(session)
  return Object.assign(session, {
    async query(text: string, values?: unknown[]) {
      if (LISTENS.test(text)) return await waker.hear()
      // The name that it would show in lists of connections, where it has none.
      if (NAMES_ITSELF.test(text)) return undefined
      return await query(text, values)
    },
    release: () => void waker.sessions.delete(session),
  })
}

const LISTENS = /^listen bullmq_jobs\b/im
const NAMES_ITSELF = /^select set_config\('application_name'/i
