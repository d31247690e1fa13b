import { sql } from 'kysely'
import type { Db } from './database.ts'

/** How rows are deleted: `atOnce` by one statement; the signal stops between two. */
export interface Steps {
  readonly signal?: AbortSignal | undefined
  readonly atOnce?: number | undefined
}

/** Rows that one statement deletes: some 20 ms, for which writers of other rows may wait. */
const ROWS_AT_ONCE = 2_000

/**
 * Deletes the rows of a table whose column has this value, in bounded statements; locked ones are
 * left.
 *
 * @returns false if the signal has aborted: another call goes on
 */
export async function deleteInSteps(
  db: Db,
  {
    table,
    column,
    value,
  }: { readonly table: string; readonly column: string; readonly value: string },
  { signal, atOnce = ROWS_AT_ONCE }: Steps,
): Promise<boolean> {
  const of = sql.table(table)
  for (;;) {
    if (signal?.aborted === true) return false
    const { numAffectedRows } = await sql`delete from ${of} where ctid = any(array(
      select ctid from ${of} where ${sql.ref(column)} = ${value}
      limit ${atOnce} for update skip locked))`.execute(db.kysely)
    if (numAffectedRows !== BigInt(atOnce)) return true
  }
}
