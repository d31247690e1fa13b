import type { QueryConfig, QueryResultRow } from 'pg'
import type { Db } from './database.ts'
import { DISPATCH_TERM_MS } from './duties.ts'

/** A statement that each connection prepares and plans once. */
type PlannedStatement = QueryConfig & { readonly name: string; readonly values: unknown[] }

/** Runs a statement in the transaction with the plan that its connection has cached. */
export type RunPlanned = <Row extends QueryResultRow>(
  statement: PlannedStatement,
) => Promise<readonly Row[]>

/**
 * Runs statements in one transaction with the plans that their connection has cached. By default
 * Postgres plans a statement again if it expects the values to matter; for a large statement that
 * takes longer than running it.
 *
 * The commit is asynchronous. A later commit that builds on these rows waits until they are
 * written; if the server fails before, both are lost. Only for work that is repeated if lost.
 *
 * If the process is suspended or its machine is gone, the server ends the transaction when the duty
 * of dispatching is over, whose row is locked until then. A process that continues later throws a
 * temporary error, and nothing was written.
 *
 * @param replan whether the connection discards its plans first
 */
export async function withCachedPlans<T>(
  db: Db,
  replan: boolean,
  work: (run: RunPlanned) => Promise<T>,
): Promise<T> {
  const client = await db.pool.connect()
  let isWhole = false
  try {
    await client.query(
      `begin; set local synchronous_commit = off; set local plan_cache_mode = force_generic_plan;
       set local idle_in_transaction_session_timeout = ${DISPATCH_TERM_MS}
       ${replan ? '; discard plans' : ''}`,
    )
    const done = await work(
      async <Row extends QueryResultRow>(statement: PlannedStatement) =>
        (await client.query<Row>(statement)).rows,
    )
    await client.query('commit')
    isWhole = true
    return done
  } finally {
    // A connection that is left within the transaction is closed, which ends it.
    client.release(!isWhole)
  }
}
