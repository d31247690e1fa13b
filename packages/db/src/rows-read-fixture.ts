import { sql } from 'kysely'
import type { Db, Tx } from './database.ts'

/**
 * Rows of a table that a connection has read, counting reads of the table itself and not index-only
 * ones; a difference within one transaction is what was read in between. Postgres clears the count
 * at most once a second, and not within a transaction.
 */
export async function rowsRead(tx: Tx, table: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select seq_tup_read + coalesce(idx_tup_fetch, 0) as count
    from pg_stat_xact_user_tables where relname = ${table}`.execute(tx)
  return rows[0]?.count ?? 0
}

/**
 * Rows of these tables that `work` reads with the `pool` that it gets, within a transaction that is
 * rolled back.
 */
export async function rowsReadBy(
  db: Db,
  tables: readonly string[],
  work: (db: Db) => Promise<unknown>,
): Promise<number> {
  const client = await db.pool.connect()
  const count = async (): Promise<number> => {
    const { rows } = await client.query<{ count: number }>(
      `select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::float8 as count
       from pg_stat_xact_user_tables where relname = any($1)`,
      [tables],
    )
    return rows[0]?.count ?? 0
  }
  try {
    await client.query('begin')
    const before = await count()
    // Safe because only `query` is called.
    await work({ ...db, pool: client as unknown as Db['pool'] })
    const read = (await count()) - before
    await client.query('rollback')
    return read
  } finally {
    client.release(true)
  }
}
