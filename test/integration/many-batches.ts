import type { Db } from '@plumbline/db/database'

// An account with very many batches.

/** Number of the account's batches. */
const BATCHES = 10_000

/** Number of batches inserted by one statement, so that none is long on a slow disk. */
const COPIES_AT_ONCE = 1000

/** Rows of its largest batch. */
export const ROWS = 5_000_000

/** Name of the largest batch, of the maximum length. */
export const LONG_NAME = 'x'.repeat(500)

/** Name of another batch, written from right to left. */
export const RIGHT_TO_LEFT = 'قائمة العملاء الكبيرة جدا لشهر نوفمبر (نسخة ٢) – רשימת לקוחות.csv'

/** Makes copies of a batch, some of them with extreme values, without running them. */
export async function addManyBatches(db: Db, done: string, accountId: string): Promise<void> {
  // They are inserted directly in states that other batches reach step by step.
  await db.pool.query('alter table batches disable trigger known_start')
  // Written as a join, the record is made once for each row; as `(f(…)).*` it is made for each column.
  const copies = `
    insert into batches
    select copy.*
    from batches b, generate_series($1::int, $2::int) n,
    jsonb_populate_record(b, jsonb_build_object(
      'id', case n when 1 then 'bat_rtl' when 2 then 'bat_long' else 'bat_copy' || n end,
      'name', case n when 1 then $4::text when 2 then $5::text else 'one of many ' || n end,
      'file_name', case n when 1 then $4::text when 2 then $5::text else b.file_name end,
      'rows_total', case n when 2 then $6::int else b.rows_total end,
      'rows_billable', case n when 2 then $6::int else b.rows_billable end,
      'created_at', b.created_at - n * interval '1 minute')) copy
    where b.id = $3`
  for (let first = 1; first <= BATCHES; first += COPIES_AT_ONCE) {
    const last = first + COPIES_AT_ONCE - 1
    await db.pool.query(copies, [first, last, done, RIGHT_TO_LEFT, LONG_NAME, ROWS])
  }
  await db.pool.query('update accounts set name = $2 where id = $1', [
    accountId,
    // The longest name that an account may have.
    LONG_NAME.slice(0, 200),
  ])
}
