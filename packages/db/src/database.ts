import { Kysely, PostgresDialect, type Transaction } from 'kysely'
import pg from 'pg'
import type { Tables } from './tables.ts'

/** A transaction of the caller's: what must be atomic takes one and cannot open its own. */
export type Tx = Transaction<Tables>

/** One pool of connections, with kysely for composed statements and `pool` for named ones. */
export interface Db extends AsyncDisposable {
  readonly kysely: Kysely<Tables>
  readonly pool: pg.Pool
}

export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string
  /** Connections at most; each may run one statement at a time. */
  readonly poolSize: number
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string
  /** Told of connections that broke while idle; the pool replaces them by itself. */
  readonly onIdleError?: (error: Error) => void
}

/**
 * Opens a pool; connects with the first statement.
 *
 * `bigint` arrives as a number and throws beyond 2^53 - 1, `date` as `YYYY-MM-DD`, both by the
 * pool's own parsers: the parsers of the driver are shared with every other user of it.
 * A transaction left idle for a minute is ended by the server, so that a stuck process cannot
 * keep rows locked.
 */
export function openDatabase(options: DatabaseOptions): Db {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    application_name: options.applicationName,
    types: { getTypeParser },
    connectionTimeoutMillis: 10_000,
    idle_in_transaction_session_timeout: 60_000,
    keepAlive: true,
  })
  pool.on('error', (error) => options.onIdleError?.(error))
  // The pool listens to idle connections only; one that breaks between two statements of a
  // transaction would end the process.
  pool.on('connect', (client) => client.on('error', (error) => options.onIdleError?.(error)))
  const kysely = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
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
