import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Channel } from '@plumbline/ports/channel'
import { createBatcher } from '@plumbline/concurrency/batcher'
import { withTimeOut } from '@plumbline/concurrency/time-out'
import pg from 'pg'
import { STATEMENT_MS, type Db } from './database.ts'

/** Options of a pub/sub channel over Postgres. */
export interface PostgresChannelOptions {
  readonly db: Db
  /** Address of the one connection that listens; the same database as `db`. */
  readonly url: string
  /** Called when the connection is lost; it is reopened automatically. */
  readonly onError: (error: unknown) => void
  /** Interval of connection attempts, and the time-out of each, in milliseconds. */
  readonly tryMs?: number
}

/** A channel over one connection, which all listeners of the process share. */
export interface PostgresChannel extends Channel, AsyncDisposable {
  /**
   * Registers a callback for reconnections: messages published while the connection was down are
   * lost.
   */
  onRenewed(renewed: () => void): void
}

/**
 * Pub/sub by Postgres LISTEN and NOTIFY, over one connection for all topics. Equal messages of the
 * same moment may be delivered as one.
 */
export function openPostgresChannel(options: PostgresChannelOptions): PostgresChannel {
  const listener = createListener(options)
  const publish = createBatcher((items: readonly Published[]) => notify(options.db, items), {
    maxItems: 100,
  })
  return {
    async publish(topic, messages) {
      checkTopic(topic)
      await Promise.all(messages.map((message) => publish({ topic, message })))
    },
    async subscribe(topic, onMessage) {
      checkTopic(topic)
      return listener.subscribe(topic, onMessage)
    },
    onRenewed: (renewed) => void listener.renewals.push(renewed),
    [Symbol.asyncDispose]: () => listener.close(),
  }
}

interface Published {
  readonly topic: string
  readonly message: string
}

async function notify(db: Db, items: readonly Published[]): Promise<readonly undefined[]> {
  await db.pool.query({
    name: 'channel-notify',
    text: `select pg_notify(topic, message)
             from unnest($1::text[], $2::text[]) as t (topic, message)`,
    values: [items.map(({ topic }) => topic), items.map(({ message }) => message)],
  })
  return items.map(() => undefined)
}

/** Checks that a topic is a plain identifier: LISTEN takes no parameters. */
function checkTopic(topic: string): void {
  if (/^[a-z0-9:_-]{1,50}$/.test(topic)) return
  throw new RangeError(`a topic is 1 to 50 characters of a-z, 0-9, -, _ and :, got "${topic}"`)
}

interface Listener {
  subscribe(topic: string, onMessage: (message: string) => void): Promise<AsyncDisposable>
  close(): Promise<void>
  readonly renewals: (() => void)[]
}

function createListener({ url, onError, tryMs = TRY_MS }: PostgresChannelOptions): Listener {
  const topics = new Map<string, Set<(message: string) => void>>()
  const closing = new AbortController()
  const renewals: (() => void)[] = []
  let current: Promise<pg.Client> | undefined

  async function connect(): Promise<pg.Client> {
    const make = (): pg.Client => createClient(url, topics, onError, tryMs)
    const client = await connectClient(make, () => topics.keys(), closing, onError)
    client.once('end', () => {
      renew()
      // Rejects only when closed meanwhile.
      current?.then(
        () => renewals.forEach((renewed) => renewed()),
        () => undefined,
      )
    })
    return client
  }

  function renew(): void {
    if (closing.signal.aborted) return
    current = connect()
    // Rejects only when closed meanwhile; the caller that waits for it is rejected too.
    current.catch(() => {})
  }

  function connected(): Promise<pg.Client> {
    if (current === undefined) renew()
    return current ?? Promise.reject(new Error('the channel is closed'))
  }

  async function command(text: string): Promise<void> {
    for (;;) {
      const client = await connected()
      try {
        await client.query(text)
        return
      } catch (error) {
        // So simple a statement fails only if its connection fails; the next connection begins with
        // all topics.
        onError(error)
        await Promise.race([once(client, 'end', closing), endClient(client)])
      }
    }
  }

  return {
    renewals,
    async subscribe(topic, onMessage) {
      const mine = topics.get(topic) ?? new Set()
      topics.set(topic, mine.add(onMessage))
      await command(`listen "${topic}"`)
      return {
        async [Symbol.asyncDispose]() {
          mine.delete(onMessage)
          if (mine.size > 0 || topics.get(topic) !== mine) return
          topics.delete(topic)
          if (closing.signal.aborted) return
          // A server that does not reply sends nothing anyway.
          await withTimeOut(CLOSE_MS, command(`unlisten "${topic}"`)).catch(onError)
        },
      }
    },
    async close() {
      closing.abort()
      const client = await current?.catch(() => undefined)
      if (client !== undefined) await endClient(client)
    },
  }
}

/**
 * Connects and listens for every topic, retrying until it succeeds; rejects once the channel is
 * closed.
 */
async function connectClient(
  make: () => pg.Client,
  topics: () => Iterable<string>,
  closing: AbortController,
  onError: (error: unknown) => void,
): Promise<pg.Client> {
  for (let attempt = 0; ; attempt += 1) {
    closing.signal.throwIfAborted()
    const client = make()
    // A connection that is still being opened would ignore a request to end.
    const stop = (): void => void client.connection.stream.destroy()
    closing.signal.addEventListener('abort', stop, { once: true })
    try {
      await client.connect()
      for (const topic of topics()) await client.query(`listen "${topic}"`)
      return client
    } catch (error) {
      if (!closing.signal.aborted) onError(error)
      await endClient(client)
      await delay(Math.min(100 * 2 ** attempt, MAX_DELAY_MS), undefined, closing)
    } finally {
      closing.signal.removeEventListener('abort', stop)
    }
  }
}

/** How long a server that does not reply can delay closing, in milliseconds. */
export const CLOSE_MS = 1_000

/** Ends a connection; destroys it if the server does not end it in time. */
async function endClient(client: pg.Client): Promise<void> {
  const timer = setTimeout(() => client.connection.stream.destroy(), CLOSE_MS)
  try {
    await client.end()
  } finally {
    clearTimeout(timer)
  }
}

function createClient(
  url: string,
  topics: ReadonlyMap<string, ReadonlySet<(message: string) => void>>,
  onError: (error: unknown) => void,
  tryMs: number,
): pg.Client {
  const client = new pg.Client({
    connectionString: url,
    keepAlive: true,
    query_timeout: tryMs,
    ...CLIENT,
  })
  client.on('error', onError)
  client.on('notification', ({ channel, payload = '' }) => {
    for (const onMessage of topics.get(channel) ?? []) onMessage(payload)
  })
  // A connection that only listens does not notice a network that drops packets without a reset.
  const trying = setInterval(() => {
    client.query('select 1').catch((error: unknown) => {
      onError(error)
      endClient(client).catch(onError)
    })
  }, tryMs)
  trying.unref()
  client.once('end', () => clearInterval(trying))
  return client
}

const MAX_DELAY_MS = 2_000

const TRY_MS = 10_000

const CLIENT = {
  application_name: 'plumbline channel',
  keepAliveInitialDelayMillis: 10_000,
  connectionTimeoutMillis: 10_000,
  // PgBouncer refuses a connection that asks for it: notifications would be lost there without an
  // error.
  statement_timeout: STATEMENT_MS,
} as const
