import type { Db, Tx } from '@plumbline/db/database'
import { retryStatement } from '@plumbline/db/retry'
import { CompiledQuery } from 'kysely'

/** A statement of metering; the name makes it prepared once for each connection. */
export interface Statement {
  readonly name: string
  readonly text: string
  readonly values: unknown[]
}

/** A connection that gives no answer for so long is given up, and the statement tried on another. */
const ANSWER_MS = 10_000

/**
 * Runs a statement that takes effect once however often it runs, with a bound on each try; in a transaction
 * of the caller's it is tried once.
 */
export async function runStatement<Row extends object>(
  db: Db | Tx,
  statement: Statement,
): Promise<readonly Row[]> {
  if (!('pool' in db)) {
    return (await db.executeQuery<Row>(CompiledQuery.raw(statement.text, statement.values))).rows
  }
  const bounded = { ...statement, query_timeout: ANSWER_MS }
  const { rows } = await retryStatement(() => db.pool.query<Row>(bounded))
  return rows
}
