import type { Check } from '@plumbline/contract/products'
import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'
import { sqlStates } from './states.ts'
import { nextChunksWithTasks } from './tasks.ts'

/** Why no new lookups are begun for a task. */
export type Halt = 'canceling' | 'paused'

/** Which of these claimed tasks belong to a canceled or paused batch. */
export async function haltedTasks(
  db: Db,
  taskIds: readonly number[],
): Promise<ReadonlyMap<number, Halt>> {
  const { rows } = await db.pool.query<{ id: number; status: Halt }>({
    name: 'tasks.halted',
    text: `
      select t.id, b.status from tasks t join batches b on b.id = t.batch_id
      where t.id = any($1::bigint[]) and b.status in ${sqlStates(['canceling', 'paused'])}`,
    values: [taskIds],
  })
  return new Map(rows.map((row) => [row.id, row.status]))
}

/**
 * Deletes the tasks of a canceled batch that are not leased, in statements of bounded size. Tasks
 * of paid checks that were leased before stay and are leased once more, since something may have
 * been bought for them; `patienceMs` after the cancel they are deleted as well.
 *
 * @returns how many tasks are left
 */
export async function deleteIdleTasks(
  db: Db | Tx,
  batchId: string,
  drained: { readonly checks: readonly Check[]; readonly patienceMs: number },
): Promise<number> {
  for (let from: number | undefined = 0; from !== undefined;) {
    from = await dropSome(db, batchId, from, drained)
  }
  const { left } = await queriesOf(db)
    .selectFrom('tasks')
    .select(sql<number>`count(*)`.as('left'))
    .where('batch_id', '=', batchId)
    .executeTakeFirstOrThrow()
  return left
}

/** Returns the chunk that the next statement begins with; undefined after the last. */
async function dropSome(
  db: Db | Tx,
  batchId: string,
  from: number,
  { checks, patienceMs }: { readonly checks: readonly Check[]; readonly patienceMs: number },
): Promise<number | undefined> {
  const next = await nextChunksWithTasks(db, batchId, from)
  if (next === undefined) return undefined
  // Rows that another transaction has locked are skipped: the batch is drained again later.
  await sql`
    with idle as (
      select t.id, t.check_kind = any(${[...checks]}::text[])
          -- A task that was never leased has lease 0 and all subjects of its check (indexes null).
          and (t.lease > 0 or t.indexes is not null)
          and (b.ats->>'canceling')::timestamptz
            > clock_timestamp() - ${patienceMs} * interval '1 ms' as drains
      from tasks t join batches b on b.id = t.batch_id
      where t.batch_id = ${batchId} and t.chunk_no >= ${next.first} and t.chunk_no < ${next.until}
        and t.lease_until is null
      for no key update of t skip locked
    ), dropped as (
      delete from tasks t using idle where t.id = idle.id and not idle.drains
    )
    update tasks t set group_key = null, due_at = null
    from idle where t.id = idle.id and idle.drains
      and (t.group_key is not null or t.due_at is not null)
  `.execute(queriesOf(db))
  return next.until
}

/** A chunk of a canceled batch that has some outcomes and is not settled. */
export interface PartlyAnsweredChunk {
  readonly no: number
  readonly subjects: Buffer
}

const HAS_OUTCOMES = sql<boolean>`exists (select from parts p
  where p.batch_id = chunks.batch_id and p.chunk_no = chunks.no)`

/**
 * Locks the next such chunk from `fromNo` on for the rest of the transaction; a chunk that still
 * has a task is skipped.
 */
export async function lockPartlyAnswered(
  tx: Tx,
  batchId: string,
  fromNo: number,
): Promise<PartlyAnsweredChunk | undefined> {
  return await tx
    .selectFrom('chunks')
    .select(['no', 'subjects'])
    .where('batch_id', '=', batchId)
    .where('no', '>=', fromNo)
    .where('settled_at', 'is', null)
    .where(HAS_OUTCOMES)
    .where(sql<boolean>`not exists (select from tasks t
      where t.batch_id = chunks.batch_id and t.chunk_no = chunks.no)`)
    .orderBy('no')
    .limit(1)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

/** Whether a chunk of a batch has outcomes and is not settled. */
export async function hasUnsettledOutcomes(tx: Tx, batchId: string): Promise<boolean> {
  const row = await tx
    .selectFrom('chunks')
    .select('no')
    .where('batch_id', '=', batchId)
    .where('settled_at', 'is', null)
    .where(HAS_OUTCOMES)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
