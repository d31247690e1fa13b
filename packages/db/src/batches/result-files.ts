import { sql } from 'kysely'
import { queriesOf, type Db } from '../database.ts'
import { MOST_FILES } from './reconcile.ts'
import type { BatchRow } from './rows.ts'

/** An ended batch and the storage key of its result file. */
export interface StoredResult {
  readonly id: string
  readonly key: string
}

/** A page of ended batches that have a result file, ordered by id. */
export async function pageOfResults(
  db: Db,
  afterId: string,
  most: number,
): Promise<readonly StoredResult[]> {
  return await results(db).where('id', '>', afterId).orderBy('id').limit(most).execute()
}

/** Ended batches whose result file was missing at a download. */
export async function missingResults(db: Db): Promise<readonly StoredResult[]> {
  return await results(db)
    .where(
      sql<boolean>`id in (select subject from reconciler_findings where kind = 'result_without_file')`,
    )
    .orderBy('id')
    .limit(MOST_FILES)
    .execute()
}

function results(db: Db) {
  return queriesOf(db)
    .selectFrom('batches')
    .select(['id', 'result_key as key'])
    .$narrowType<{ key: string }>()
    .where(HAS_RESULT)
}

/** SQL: whether a batch has ended with a result file, and is not being erased. */
const HAS_RESULT = sql<boolean>`result_key is not null and status in ('completed', 'canceled')
  and erasing is null`

/**
 * Returns a new attempt number for a lost result file that is to be written again, with a lease;
 * undefined if there is no such file, or another process is writing it.
 */
export async function claimResult(
  db: Db,
  batchId: string,
  leaseMs: number,
): Promise<BatchRow | undefined> {
  return await nextAttempt(db, batchId)
    .set({ lease_until: sql`clock_timestamp() + ${leaseMs} * interval '1 ms'` })
    .where(sql<boolean>`(lease_until is null or lease_until < clock_timestamp())`)
    .executeTakeFirst()
}

/**
 * Returns a new attempt number for a result file that may still have blanked rows, whether another
 * process is writing it or not; undefined if the batch has no such file.
 */
export async function nextResultAttempt(db: Db, batchId: string): Promise<BatchRow | undefined> {
  return await nextAttempt(db, batchId)
    .where(sql<boolean>`blank_count <> result_blank_count`)
    .executeTakeFirst()
}

function nextAttempt(db: Db, batchId: string) {
  return db.kysely
    .updateTable('batches')
    .set({ lease: sql`lease + 1` })
    .where('id', '=', batchId)
    .where(HAS_RESULT)
    .returningAll()
}
