import type { Check } from '@plumbline/contract/products'
import type { Db } from '../database.ts'

/** Subjects of a chunk that wait for a time. */
export interface WaitingTask {
  readonly check: Check
  /** Positions in the chunk's subjects of the check; null means all of them. */
  readonly indexes: readonly number[] | null
  readonly reason: string | null
  readonly until: Date
}

/** Tasks of a chunk that wait for a time, due or not. */
export async function waitingTasks(
  db: Db,
  batchId: string,
  no: number,
): Promise<readonly WaitingTask[]> {
  const { rows } = await db.pool.query<WaitingTask>({
    name: 'tasks.waiting',
    text: `
      select check_kind as check, indexes, reason, due_at as until
      from tasks where batch_id = $1 and chunk_no = $2 and due_at is not null and reason is not null`,
    values: [batchId, no],
  })
  return rows
}

/**
 * Number of the last chunk that has an outcome or a task that waits for a time; -1 if there is
 * none.
 */
export async function lastBegunChunk(db: Db, batchId: string): Promise<number> {
  const { rows } = await db.pool.query<{ no: number }>({
    name: 'chunks.last-begun',
    text: `
      select greatest(
        coalesce((select max(chunk_no) from parts where batch_id = $1), -1),
        coalesce((select max(chunk_no) from tasks
          where batch_id = $1 and due_at is not null and reason is not null), -1)) as no`,
    values: [batchId],
  })
  return rows[0]?.no ?? -1
}
