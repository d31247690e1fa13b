import type { Db } from '@plumbline/db/database'

/**
 * Writes rows without the state triggers, and updates the planner's statistics.
 *
 * @param values parameters of each statement
 */
export async function fillTables(
  db: Db,
  statements: readonly string[],
  values: readonly string[] = [],
): Promise<void> {
  const client = await db.pool.connect()
  try {
    await client.query('set session_replication_role = replica')
    for (const statement of statements) await client.query(statement, [...values])
    await client.query('reset session_replication_role')
    await client.query('analyze tasks, task_groups, batches, chunks')
  } finally {
    client.release()
  }
}
