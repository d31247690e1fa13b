import { sql } from 'kysely'
import type { Db, Tx } from '../database.ts'

/** Result of counting unpaid rows. */
export type UnpaidRowsTaken = 'taken' | 'over' | 'lost'

/**
 * Adds rows of a batch that cost nothing to its account's count of the day; `count` is the number
 * counted for this batch so far, so that a batch that is read again counts once. `over` if the
 * account's daily limit is reached, after counting up to it; `lost` if the fencing number does not
 * own the batch any more.
 */
export async function takeUnpaidRows(
  db: Db,
  stage: { batchId: string; lease: number },
  rows: { count: number; mostPerDay: number },
): Promise<UnpaidRowsTaken> {
  const found = await db.pool.query<{ taken: UnpaidRowsTaken }>({
    name: 'unpaid-rows.take',
    text: 'select take_unpaid_rows($1, $2, $3, $4) as taken',
    values: [stage.batchId, stage.lease, rows.count, rows.mostPerDay],
  })
  return found.rows[0]?.taken ?? 'lost'
}

/** Adds the row of a lookup that costs nothing to its account's count of the day. */
export async function addUnpaidRow(tx: Tx, accountId: string): Promise<void> {
  await sql`
    insert into unpaid_rows (account_id, day, row_count)
    values (${accountId}, (clock_timestamp() at time zone 'utc')::date, 1)
    on conflict (account_id) do update set day = excluded.day,
      row_count = case when unpaid_rows.day = excluded.day then unpaid_rows.row_count + 1 else 1 end
  `.execute(tx)
}

/**
 * Unpaid rows of an account on this UTC day, and how long that day lasts, by the database's clock.
 */
export async function readUnpaidRows(
  db: Db,
  accountId: string,
): Promise<{ readonly count: number; readonly dayLeftSeconds: number }> {
  const { rows } = await db.pool.query<{ count: number; left: number }>({
    name: 'unpaid-rows.today',
    text: `
      select coalesce((select row_count from unpaid_rows
          where account_id = $1 and day = (clock_timestamp() at time zone 'utc')::date), 0)::float8 as count,
        ceil(extract(epoch from date_trunc('day', clock_timestamp() at time zone 'utc')
          + interval '1 day' - (clock_timestamp() at time zone 'utc')))::int as left`,
    values: [accountId],
  })
  return { count: rows[0]?.count ?? 0, dayLeftSeconds: rows[0]?.left ?? 1 }
}
