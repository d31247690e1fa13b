import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'
import { moveBatch, readBatch, type BatchRow } from './rows.ts'
import { nextChunksWithTasks } from './tasks.ts'

/** Moves a running batch to `paused`, until its pause ends; undefined if it is not running. */
export async function pauseRunning(tx: Tx, id: string): Promise<BatchRow | undefined> {
  return await moveBatch(tx, id, 'paused')
}

/**
 * Moves a paused batch back to `running` and adds up how long it was paused; its start time stays.
 * Undefined if it is not paused.
 */
export async function resumePaused(tx: Tx, id: string): Promise<BatchRow | undefined> {
  const { rows } = await sql`
    update batches set status = 'running', pace = null, resumes_at = null, stage_attempts = 0,
      lease = lease + 1, lease_until = null, paused_ms = paused_ms + greatest(0,
        extract(epoch from clock_timestamp() - (ats->>'paused')::timestamptz) * 1000)::bigint
    where id = ${id} and status = 'paused'
    returning 1
  `.execute(tx)
  return rows.length === 0 ? undefined : await readBatch(tx, id)
}

/**
 * Takes the tasks of a paused batch out of the groups that they wait in, in statements of bounded
 * size; else the dispatcher would have to skip each of them whenever the group has capacity. They
 * are leased again once the batch is resumed and they are due. Rows that another transaction has
 * locked are skipped.
 */
export async function ungroupTasks(db: Db, batchId: string): Promise<void> {
  for (let from = 0; ;) {
    const next = await nextChunksWithTasks(db, batchId, from)
    if (next === undefined) return
    from = next.until
    await sql`
      update tasks t set group_key = null
      from (select t.id from tasks t join batches b on b.id = t.batch_id
        where t.batch_id = ${batchId} and b.status = 'paused'
          and t.chunk_no >= ${next.first} and t.chunk_no < ${next.until}
          and t.lease_until is null and t.group_key is not null
        for no key update of t skip locked) waiting
      where t.id = waiting.id
    `.execute(queriesOf(db))
  }
}

/** Paused batches with tasks in groups, as left if `ungroupTasks` was interrupted. */
export async function pausedInGroups(db: Db, most: number): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select b.id from batches b
    where b.resumes_at is not null and b.status = 'paused' and exists (select from tasks t
      where t.batch_id = b.id and t.lease_until is null and t.group_key is not null)
    limit ${most}
  `.execute(queriesOf(db))
  return rows.map((row) => row.id)
}

/** Returns a task that was leased for a batch which is paused by now; does nothing for others. */
export async function returnPausedTask(
  db: Db,
  task: { taskId: number; lease: number },
): Promise<void> {
  await db.pool.query({
    name: 'tasks.return-paused',
    text: `
      update tasks t set lease_until = null, group_key = null
      from batches b
      where t.id = $1 and t.lease = $2 and t.lease_until is not null
        and b.id = t.batch_id and b.status = 'paused'`,
    values: [task.taskId, task.lease],
  })
}

/** Paused batches whose pause is over, by database time. */
export async function batchesToResume(db: Db, most: number): Promise<readonly string[]> {
  const rows = await queriesOf(db)
    .selectFrom('batches')
    .select('id')
    .where('resumes_at', '<=', sql<Date>`clock_timestamp()`)
    .where('status', '=', 'paused')
    .orderBy('resumes_at')
    .limit(most)
    .execute()
  return rows.map((row) => row.id)
}
