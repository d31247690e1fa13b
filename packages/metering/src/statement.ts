import { queryWithin, type Db, type Tx } from '@plumbline/db/database'
import { retryStatement } from '@plumbline/db/retry'
import { CompiledQuery } from 'kysely'

/** A named statement, which each connection prepares once. */
export interface Statement {
  readonly name: string
  readonly text: string
  readonly values: unknown[]
}

/**
 * Milliseconds without a reply after which a connection is abandoned, and the statement tried on
 * another.
 */
const ANSWER_MS = 10_000

/**
 * Runs an idempotent statement with retries and a time-out of each attempt; in the caller's
 * transaction it is tried once.
 */
export async function runStatement<Row extends object>(
  db: Db | Tx,
  statement: Statement,
): Promise<readonly Row[]> {
  if (!('pool' in db)) {
    return (await db.executeQuery<Row>(CompiledQuery.raw(statement.text, statement.values))).rows
  }
  return await retryStatement(() => queryWithin<Row>(db, statement, ANSWER_MS))
}
