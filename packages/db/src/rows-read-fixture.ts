import { sql } from 'kysely'
import type { Tx } from './database.ts'

/**
 * Rows of a table that a transaction has read so far, counting reads of the table itself and not
 * index-only ones.
 */
export async function rowsRead(tx: Tx, table: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select seq_tup_read + coalesce(idx_tup_fetch, 0) as count
    from pg_stat_xact_user_tables where relname = ${table}`.execute(tx)
  return rows[0]?.count ?? 0
}
