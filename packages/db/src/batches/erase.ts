import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'
import { deleteGroupAnswers } from './pace.ts'
import { deletePreview } from './previews.ts'
import { RETAINED_STATES, sqlStates } from './states.ts'
import { lockBatch, type BatchRow } from './rows.ts'
import type { StageFence } from './stages.ts'

/** Maximum number of rows that one statement deletes: about a second on a slow disk. */
const TASKS_A_STEP = 2_000
const CHUNKS_A_STEP = 100

/** Batches whose chunks, or whole content, are still to be erased. */
export async function erasingBatches(db: Db | Tx, most: number): Promise<readonly string[]> {
  const rows = await queriesOf(db)
    .selectFrom('batches')
    .select('id')
    .where('erasing', 'is not', null)
    .orderBy('id')
    .limit(most)
    .execute()
  return rows.map(({ id }) => id)
}

/**
 * Erases the next rows of a batch that is being erased, and clears its mark after the last. Each
 * step is a statement of bounded size; several processes may run steps at once. Nothing is erased
 * of a batch without the mark: a failover may have lost it.
 *
 * @returns `busy` if the rows that are left are locked by other processes
 */
export async function eraseStep(db: Db, batchId: string): Promise<'more' | 'busy' | 'done'> {
  if (await eraseRows(db, batchId, null)) return 'more'
  if (!(await isErasing(db, batchId))) return 'done'
  const isEmpty = sql<boolean>`not exists (select from chunks where batch_id = ${batchId})
    and not exists (select from tasks where batch_id = ${batchId})`
  await deletePreview(db, batchId)
  await deleteGroupAnswers(db, batchId)
  await sql`delete from repeated_rows where batch_id = ${batchId} and ${isEmpty}`.execute(
    queriesOf(db),
  )
  await sql`delete from batches where id = ${batchId} and erasing = 'all' and ${isEmpty}`.execute(
    queriesOf(db),
  )
  const { rows } = await sql`
    with noted as (
      update batches set erasing = null where id = ${batchId} and erasing = 'chunks' and ${isEmpty}
      returning id
    )
    select from batches where id = ${batchId} and id not in (select id from noted)
  `.execute(queriesOf(db))
  return rows.length === 0 ? 'done' : 'busy'
}

async function isErasing(db: Db, batchId: string): Promise<boolean> {
  const row = await queriesOf(db)
    .selectFrom('batches')
    .select('id')
    .where('id', '=', batchId)
    .where('erasing', 'is not', null)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Erases what an earlier attempt at a stage stored, in bounded steps; stops if the stage is lost.
 */
export async function eraseLeftovers(db: Db, stage: StageFence): Promise<void> {
  while (await eraseRows(db, stage.batchId, stage.lease)) {
    // Each statement is a transaction of its own.
  }
  for (const table of ['repeated_rows', 'batch_previews']) {
    await sql`
      delete from ${sql.table(table)} where batch_id in (
        select id from batches where id = ${stage.batchId} and lease = ${stage.lease} for share)
    `.execute(queriesOf(db))
  }
}

/**
 * Deletes some rows, skipping those that other processes have locked.
 *
 * @param lease the fencing number that the batch must still have; null if it is being erased
 * @returns whether there were any
 */
async function eraseRows(db: Db, batchId: string, lease: number | null): Promise<boolean> {
  const isOwned = lease === null ? sql`erasing is not null` : sql`lease = ${lease}`
  const owned = sql`(select id from batches where id = ${batchId} and ${isOwned} for share)`
  const tasks = await sql`
    delete from tasks where id in (
      select t.id from tasks t join ${owned} b on b.id = t.batch_id
      limit ${TASKS_A_STEP} for update of t skip locked)
    returning 1
  `.execute(queriesOf(db))
  if (tasks.rows.length > 0) return true
  const chunks = await sql`
    with next_chunks as (
      select c.batch_id, c.no from chunks c join ${owned} b on b.id = c.batch_id
      order by c.no limit ${CHUNKS_A_STEP} for update of c skip locked
    ), parts_of_them as (
      delete from parts p using next_chunks n where p.batch_id = n.batch_id and p.chunk_no = n.no
    )
    delete from chunks c using next_chunks n where c.batch_id = n.batch_id and c.no = n.no
    returning 1
  `.execute(queriesOf(db))
  return chunks.rows.length > 0
}

/**
 * Locks the next ended batch whose retention is over, by database time, for the rest of the
 * transaction; skips those that another process has locked.
 *
 * @param failed batches that could not be erased and are skipped
 */
export async function lockExpiring(
  tx: Tx,
  failed: readonly string[],
): Promise<BatchRow | undefined> {
  // The time is a subquery, so that the index ends the search at it: compared with the function
  // itself every batch and lookup that is kept would be read, in each sweep.
  const { rows } = await sql<{ id: string }>`
    select id from batches
    where expires_at <= (select clock_timestamp()) and status in ${sql.raw(sqlStates(RETAINED_STATES))}
      and erasing is null and id <> all(${[...failed]}::text[])
    order by expires_at limit 1
    for no key update skip locked
  `.execute(tx)
  return rows[0] === undefined ? undefined : await lockBatch(tx, rows[0].id)
}
