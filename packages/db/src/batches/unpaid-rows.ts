import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'
import type { StageFence } from './stages.ts'

/** Result of counting unpaid rows. */
export type UnpaidRowsTaken = 'taken' | 'over' | 'lost'

/**
 * Adds rows of a batch that cost nothing to its account's count of the day; `count` is the number
 * counted for this batch so far, so that a batch that is read again counts once. `over` if the
 * account's daily limit is reached, after counting up to it; `lost` if the fencing number does not
 * own the batch any more.
 */
export async function takeUnpaidRows(
  db: Db | Tx,
  stage: StageFence,
  rows: { count: number; mostPerDay: number },
): Promise<UnpaidRowsTaken> {
  const found = await sql<{ taken: UnpaidRowsTaken }>`
    select take_unpaid_rows(${stage.batchId}, ${stage.lease}, ${rows.count}, ${rows.mostPerDay}) as taken
  `.execute(queriesOf(db))
  return found.rows[0]?.taken ?? 'lost'
}

/**
 * Unpaid rows of an account on this UTC day, and how long that day lasts, by the database's clock.
 */
export async function readUnpaidRows(
  db: Db | Tx,
  accountId: string,
): Promise<{ readonly count: number; readonly dayLeftSeconds: number }> {
  const { rows } = await sql<{ count: number; left: number }>`
    select coalesce((select row_count from unpaid_rows
        where account_id = ${accountId} and day = (clock_timestamp() at time zone 'utc')::date), 0)::float8 as count,
      ceil(extract(epoch from date_trunc('day', clock_timestamp() at time zone 'utc')
        + interval '1 day' - (clock_timestamp() at time zone 'utc')))::int as left
  `.execute(queriesOf(db))
  return { count: rows[0]?.count ?? 0, dayLeftSeconds: rows[0]?.left ?? 1 }
}
