import { Kysely, PostgresDialect, type PostgresPool, type Transaction } from 'kysely'
import pg from 'pg'
import type { Tables } from './tables.ts'

/** A transaction of the caller's: what must be atomic takes one and cannot open its own. */
export type Tx = Transaction<Tables>

/** One pool of connections, with kysely for composed statements and `pool` for named ones. */
export interface Db extends AsyncDisposable {
  readonly kysely: Kysely<Tables>
  readonly pool: pg.Pool
}

/** One connection of the pool, taken for several statements. */
export type Session = pg.PoolClient

/** What composes statements: in the transaction where one is given, else on a connection of the pool. */
export function queriesOf(db: Db | Tx): Kysely<Tables> {
  return 'pool' in db ? db.kysely : db
}

/** Runs work that must be atomic in the caller's transaction, or in one of its own if there is none. */
export async function inTransaction<T>(db: Db | Tx, work: (tx: Tx) => Promise<T>): Promise<T> {
  return await ('pool' in db ? db.kysely.transaction().execute(work) : work(db))
}

/** Which database, and by how many connections. */
export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string
  /** Connections at most; each may run one statement at a time. */
  readonly poolSize: number
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string
  /** Told of connections that broke while idle; the pool replaces them by itself. */
  readonly onIdleError?: (error: Error) => void
  /** What a statement may take; default a minute. */
  readonly statementMs?: number
  /**
   * The address is that of a pooler in transaction mode, such as PgBouncer: each transaction may meet another
   * session of the server, so nothing is kept in one. Statements have no names, and time-outs are those that
   * the role has, see `limitSessions`; the driver's own stays.
   */
  readonly pooled?: boolean
}

/** What a statement, and an open transaction in which nothing happens, may take. */
export const STATEMENT_MS = 60_000

/** What a server that ends a statement late is given before it is taken for hung. */
const SILENCE_MS = 5_000

/**
 * Opens a pool; connects with the first statement.
 *
 * `bigint` arrives as a number and throws beyond 2^53 - 1, `date` as `YYYY-MM-DD`, both by the
 * pool's own parsers: the parsers of the driver are shared with every other user of it.
 * A transaction left idle for a minute is ended by the server, so that a stuck process cannot
 * keep rows locked. A statement is ended by the server after `statementMs`; a server that does not even
 * do that loses the connection five seconds later.
 */
export function openDatabase(options: DatabaseOptions): Db {
  const statementMs = options.statementMs ?? STATEMENT_MS
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    application_name: options.applicationName,
    types: { getTypeParser },
    connectionTimeoutMillis: 10_000,
    // PgBouncer refuses a connection that begins with settings it does not know.
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
  const kysely = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: droppingHung(pool) }) })
  return {
    kysely,
    pool,
    [Symbol.asyncDispose]: async () => {
      await kysely.destroy()
      // Kysely ends the pool only where it has used it.
      if (!pool.ending) await pool.end()
    },
  }
}

/**
 * Takes the names from a connection's statements: one prepared by name stays in the session that a
 * transaction has met, and the next transaction may meet another.
 */
function dropNames(client: pg.PoolClient): void {
  const query: unknown = client.query
  const unnamed = (first: unknown, ...rest: readonly unknown[]): unknown => {
    const nameless = isNamed(first) ? { ...first, name: undefined } : first
    return typeof query === 'function'
      ? Reflect.apply(query, client, [nameless, ...rest])
      : undefined
  }
  // Safe because it is the same function but for the name, which changes no result.
  client.query = unnamed as pg.PoolClient['query']
}

/** Settings of a statement as plain data; a query object of the driver's has its own life. */
function isNamed(statement: unknown): statement is { readonly name: string } {
  return (
    typeof statement === 'object' &&
    statement !== null &&
    Object.getPrototypeOf(statement) === Object.prototype &&
    'name' in statement
  )
}

/**
 * Connections for kysely, which would give one that hangs back to the pool: after a statement without an
 * answer nothing more is asked on it, not even a rollback, and it is closed.
 */
function droppingHung(pool: pg.Pool): PostgresPool {
  return {
    options: pool.options,
    connect: async () => {
      const client = await pool.connect()
      let hung: Error | undefined
      const query = async (text: string, values: readonly unknown[]): Promise<pg.QueryResult> => {
        if (hung !== undefined) throw hung
        try {
          return await client.query(text, [...values])
        } catch (error) {
          if (isUnanswered(error)) hung = error
          throw error
        }
      }
      return asPoolClient({
        query,
        release: (destroy?: boolean) => client.release(destroy === true || hung !== undefined),
      })
    },
    end: () => pool.end(),
  }
}

/** Kysely's type also has cursors, which are asked for only where its dialect is given their class. */
function asPoolClient(client: object): Awaited<ReturnType<PostgresPool['connect']>> {
  return client as Awaited<ReturnType<PostgresPool['connect']>>
}

/** The driver's own word for `query_timeout`; it has no code. Source: pg 8.23, lib/client.js. */
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
