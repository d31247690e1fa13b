import type { ServerSockets } from '@plumbline/ports/server-sockets'
import {
  Kysely,
  PostgresDialect,
  sql,
  type PostgresPool,
  type RawBuilder,
  type Transaction,
} from 'kysely'
import pg from 'pg'
import { hasState, SQLSTATE } from './sqlstate.ts'
import type { Tables } from './tables.ts'

/**
 * A transaction that the caller opened. A function that must be atomic takes one and cannot open
 * its own.
 */
export type Tx = Transaction<Tables>

/** A connection pool, with kysely for composed statements and `pool` for named ones. */
export interface Db extends AsyncDisposable {
  readonly kysely: Kysely<Tables>
  readonly pool: pg.Pool
}

/** One connection of the pool, checked out for several statements. */
export type DbSession = pg.PoolClient

/** The query builder: in the transaction if one is given, else on a connection of the pool. */
export function queriesOf(db: Db | Tx): Kysely<Tables> {
  return 'pool' in db ? db.kysely : db
}

/** Runs work that must be atomic in the caller's transaction, or in a new one if there is none. */
export async function inTransaction<T>(db: Db | Tx, work: (tx: Tx) => Promise<T>): Promise<T> {
  return await ('pool' in db ? db.kysely.transaction().execute(work) : work(db))
}

/**
 * Begins a statement that each connection prepares once, for those that run with every task:
 * parsing and planning one of many parts takes longer than running it. A name always has the same
 * text, which names the columns that it returns: a statement that returns `*` fails once a
 * migration has added one.
 */
export function preparedAs(name: string): RawBuilder<unknown> {
  return sql.raw(`/* prepared as ${name} */`)
}

const PREPARED_AS = /^\s*\/\* prepared as ([\w.-]+) \*\//

/** Options of `openDatabase`. */
export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string
  /** Maximum number of connections; each runs one statement at a time. */
  readonly poolSize: number
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string
  /** Called for connections that broke while idle; the pool replaces them automatically. */
  readonly onIdleError?: (error: Error) => void
  /** Time-out of a statement in milliseconds; default one minute. */
  readonly statementMs?: number
  /**
   * Whether the address is that of a pooler in transaction mode, such as PgBouncer. Each
   * transaction may then run in another server session, so no session state is used: statements
   * have no names, and time-outs are those of the role, see `limitSessions`. The driver's own
   * time-out stays.
   */
  readonly pooled?: boolean
  /** Makes the sockets of the connections; absent: the driver does. */
  readonly sockets?: ServerSockets
}

/** Time-out of a statement, and of a transaction that is idle, in milliseconds. */
export const STATEMENT_MS = 60_000

/**
 * Milliseconds that the driver waits beyond the statement time-out before it counts the server as
 * hung.
 */
const SILENCE_MS = 5_000

/** Milliseconds that a statement waits for a connection. */
export const CONNECT_MS = 10_000

/**
 * Milliseconds without a reply after which the connection of a statement that a call waits for is
 * closed: it may be dead while the server replies on all others.
 */
const CALL_STATEMENT_MS = 3_000

/**
 * Runs a statement once, and closes its connection if there is no reply for `answerMs`.
 *
 * @throws Error, temporary, without a reply; the statement may have taken effect
 */
export async function queryWithin<Row extends object>(
  db: Db,
  statement: pg.QueryConfig,
  answerMs: number,
): Promise<readonly Row[]> {
  const bounded = { ...statement, query_timeout: answerMs }
  return (await db.pool.query<Row>(bounded)).rows
}

/** Runs a short statement that a call waits for, as `queryWithin` with three seconds. */
export async function queryForCall<Row extends object>(
  db: Db,
  statement: pg.QueryConfig,
): Promise<readonly Row[]> {
  return await queryWithin(db, statement, CALL_STATEMENT_MS)
}

/**
 * Opens a pool; connects with the first statement, and keeps one connection when idle.
 *
 * `bigint` is read as a number and throws beyond 2^53 - 1, `date` as `YYYY-MM-DD`; the parsers are
 * set for this pool alone, since those of the driver are shared by all its users. A transaction
 * that is idle for a minute is ended by the server, so that a stuck process cannot keep rows
 * locked. The server ends a statement after `statementMs`; if it does not, the connection is closed
 * five seconds later.
 */
export function openDatabase(options: DatabaseOptions): Db {
  const statementMs = options.statementMs ?? STATEMENT_MS
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    // On a busy machine a new connection takes longer than calls wait for the server.
    min: 1,
    ...(options.sockets && { stream: options.sockets.open }),
    application_name: options.applicationName,
    types: { getTypeParser },
    connectionTimeoutMillis: CONNECT_MS,
    // PgBouncer refuses a connection that begins with unknown settings.
    ...(options.pooled === true
      ? {}
      : { idle_in_transaction_session_timeout: STATEMENT_MS, statement_timeout: statementMs }),
    query_timeout: statementMs + SILENCE_MS,
    keepAlive: true,
  })
  if (options.pooled === true) pool.on('connect', dropNames)
  pool.on('error', (error) => options.onIdleError?.(error))
  // The pool listens to idle connections only; one that breaks between two statements of a
  // transaction would end the process.
  pool.on('connect', (client) => client.on('error', (error) => options.onIdleError?.(error)))
  const kysely = queriesOver(pool)
  return {
    kysely,
    pool,
    [Symbol.asyncDispose]: async () => {
      await kysely.destroy()
      // Kysely ends the pool only if it has used it.
      if (!pool.ending) await pool.end()
    },
  }
}

/** The part of a pool that kysely uses. */
type QueryPool = Pick<pg.Pool, 'options' | 'connect' | 'end'>

/** The query builder over a pool. */
export function queriesOver(pool: QueryPool): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: droppingHung(pool) }) })
}

/**
 * Removes the names of a connection's statements: a prepared statement stays in the server session,
 * and behind a pooler the next transaction may run in another.
 */
function dropNames(client: pg.PoolClient): void {
  const query: unknown = client.query
  const unnamed = (first: unknown, ...rest: readonly unknown[]): unknown => {
    const nameless = isNamed(first) ? { ...first, name: undefined } : first
    return typeof query === 'function'
      ? Reflect.apply(query, client, [nameless, ...rest])
      : undefined
  }
  // Safe because it is the same function under another name, which does not change its result.
  client.query = unnamed as pg.PoolClient['query']
}

/** Whether a statement is plain data with a name; the driver's own query objects are left alone. */
function isNamed(statement: unknown): statement is { readonly name: string } {
  return (
    typeof statement === 'object' &&
    statement !== null &&
    Object.getPrototypeOf(statement) === Object.prototype &&
    'name' in statement
  )
}

/**
 * A pool for kysely that closes hung connections, and those to a standby, whose address may lead to
 * the primary by then. Kysely itself would return them to the pool; after a statement without a reply
 * nothing more is sent on the connection, not even a rollback.
 */
function droppingHung(pool: QueryPool): PostgresPool {
  return {
    options: pool.options,
    connect: async () => {
      const client = await pool.connect()
      let hung: Error | undefined
      let isStandby = false
      const query = async (text: string, values: readonly unknown[]): Promise<pg.QueryResult> => {
        if (hung !== undefined) throw hung
        try {
          const [, name] = PREPARED_AS.exec(text) ?? []
          return await client.query({
            ...(name === undefined ? {} : { name }),
            text,
            values: [...values],
          })
        } catch (error) {
          if (isUnanswered(error)) hung = error
          isStandby ||= hasState(error, SQLSTATE.readOnlyTransaction)
          throw error
        }
      }
      return asPoolClient({
        query,
        release: (destroy?: boolean) =>
          client.release(destroy === true || hung !== undefined || isStandby),
      })
    },
    end: () => pool.end(),
  }
}

/** Safe because kysely uses cursors only if its dialect is given a cursor class. */
function asPoolClient(client: object): Awaited<ReturnType<PostgresPool['connect']>> {
  return client as Awaited<ReturnType<PostgresPool['connect']>>
}

/** The driver's own message for `query_timeout`; it has no code. Source: pg 8.23, lib/client.js. */
function isUnanswered(error: unknown): error is Error {
  return error instanceof Error && error.message === 'Query read timeout'
}

const INT8 = 20
const INT8_ARRAY = 1016
const DATE = 1082

const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') => {
  const base: (value: string) => unknown = pg.types.getTypeParser(oid, format ?? 'text')
  if (format === 'binary') return base
  if (oid === INT8) return safeInteger
  if (oid === INT8_ARRAY) return (value: string) => integersIn(base(value))
  if (oid === DATE) return (value: string) => value
  return base
}

function integersIn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(integersIn)
  return typeof value === 'string' ? safeInteger(value) : value
}

function safeInteger(text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value)) return value
  throw new RangeError(`bigint ${text} from the database is beyond 2^53 - 1`)
}
