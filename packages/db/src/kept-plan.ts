import type { QueryConfig, QueryResultRow } from 'pg'
import type { Db } from './database.ts'

/** A statement that is prepared once for each connection, and planned once. */
interface PlannedStatement extends QueryConfig {
  readonly name: string
  readonly values: unknown[]
  /** Whether its connection makes all of its plans anew: tables have another size by now. */
  readonly replan?: boolean
}

/**
 * Runs a statement, in a transaction of its own, by the plan that its connection keeps. Postgres plans a statement
 * anew each time where it expects the values to matter; for one of many parts that takes longer than running it.
 */
export async function runByKeptPlan<Row extends QueryResultRow>(
  db: Db,
  { replan = false, ...statement }: PlannedStatement,
): Promise<readonly Row[]> {
  const client = await db.pool.connect()
  let isWhole = false
  try {
    await client.query(
      `begin; set local plan_cache_mode = force_generic_plan${replan ? '; discard plans' : ''}`,
    )
    const { rows } = await client.query<Row>(statement)
    await client.query('commit')
    isWhole = true
    return rows
  } finally {
    // A connection that is left within the transaction is closed, which ends it.
    client.release(!isWhole)
  }
}
