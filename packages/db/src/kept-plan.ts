import type { QueryConfig, QueryResultRow } from 'pg'
import type { Db } from './database.ts'

/** A statement that is prepared once for each connection, and planned once. */
type PlannedStatement = QueryConfig & { readonly name: string; readonly values: unknown[] }

/** Runs a statement of a transaction by the plan that its connection keeps. */
export type RunPlanned = <Row extends QueryResultRow>(
  statement: PlannedStatement,
) => Promise<readonly Row[]>

/**
 * Runs statements in one transaction, by the plans that their connection keeps. Postgres plans a statement anew
 * each time where it expects the values to matter; for one of many parts that takes longer than running it.
 *
 * The commit is not waited for on the disk. Whatever builds on these rows commits later, and its own wait takes
 * in what was written before it; a server that fails between the two has neither. So this is for what is simply
 * done again where it is lost.
 * @param replan whether the connection makes all of its plans anew
 */
export async function byKeptPlans<T>(
  db: Db,
  replan: boolean,
  work: (run: RunPlanned) => Promise<T>,
): Promise<T> {
  const client = await db.pool.connect()
  let isWhole = false
  try {
    await client.query(
      `begin; set local synchronous_commit = off; set local plan_cache_mode = force_generic_plan
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
