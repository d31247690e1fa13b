import { sql } from 'kysely'
import type { Tx } from './database.ts'

/** Rows that a transaction has read of a table so far, from the table itself and not from an index alone. */
export async function rowsRead(tx: Tx, table: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select seq_tup_read + coalesce(idx_tup_fetch, 0) as count
    from pg_stat_xact_user_tables where relname = ${table}`.execute(tx)
  return rows[0]?.count ?? 0
}
