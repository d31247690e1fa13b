import type { Db } from './database.ts'

/** How many rows one statement changes; the signal stops between two statements. */
export interface Steps {
  readonly signal?: AbortSignal | undefined
  readonly atOnce?: number | undefined
}

/** Rows that one statement changes: some 20 ms, for which writers of other rows may wait. */
const ROWS_AT_ONCE = 2_000

/** SQL for `inSteps`: deletes rows of a table that meet a condition; locked ones are left. */
export function deleteSome(table: string, condition: string): string {
  return `delete from ${table} where ${isSome(table, condition)}`
}

/** SQL for `inSteps`: changes rows of a table that meet a condition; locked ones are left. */
export function updateSome(table: string, change: string, condition: string): string {
  return `update ${table} set ${change} where ${isSome(table, condition)}`
}

function isSome(table: string, condition: string): string {
  return `ctid = any(array(select ctid from ${table}
    where ${condition} limit $1 for update skip locked))`
}

/**
 * Runs a statement that changes `$1` rows at most until none are left for it.
 *
 * @param values those of `$2` and the following
 * @returns false if the signal has aborted: another call goes on
 */
export async function inSteps(
  db: Db,
  statement: string,
  values: readonly unknown[],
  { signal, atOnce = ROWS_AT_ONCE }: Steps,
): Promise<boolean> {
  for (;;) {
    if (signal?.aborted === true) return false
    const { rowCount } = await db.pool.query(statement, [atOnce, ...values])
    if (rowCount !== atOnce) return true
  }
}
