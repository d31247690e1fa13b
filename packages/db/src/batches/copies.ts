import { sql } from 'kysely'
import { inTransaction, type Db } from '../database.ts'
import type { StageFence } from './stages.ts'

/** Chunks of a batch that another batch copies. */
export interface CopiedChunks {
  readonly of: string
  readonly nos: readonly number[]
  /** Verdict counts of each chunk, in the order of `nos`. */
  readonly verdicts: readonly (readonly number[])[]
}

/**
 * Copies chunks of an ended batch with their outcomes into another batch, if the fencing number
 * still owns that; nothing is charged for them. Chunks that a cancel left untouched count as
 * settled without outcomes.
 *
 * @returns false if another worker has the stage, or the chunks were erased meanwhile
 */
export async function copyChunks(
  db: Db,
  stage: StageFence,
  { of, nos, verdicts }: CopiedChunks,
): Promise<boolean> {
  const counted = nos.map((no, at) => ({ no, verdicts: verdicts[at] ?? [] }))
  return await inTransaction(db, async (tx) => {
    const chunks = await sql`
      insert into chunks (batch_id, no, first_row, row_count, billable_count, email_count, phone_count,
        ip_count, domain_count, remaining, subjects, cells, settled_at, charged, verdicts, done_count,
        known_count)
      select b.id, c.no, c.first_row, c.row_count, c.billable_count, c.email_count, c.phone_count,
        c.ip_count, c.domain_count, c.remaining, c.subjects, c.cells, coalesce(c.settled_at, clock_timestamp()), 0,
        v.verdicts, case when c.settled_at is null then 0 else c.done_count end, c.known_count
      from (select id from batches where id = ${stage.batchId} and lease = ${stage.lease} for share) b,
        chunks c join jsonb_to_recordset(${JSON.stringify(counted)}::jsonb)
          as v(no integer, verdicts integer[]) on v.no = c.no
      where c.batch_id = ${of}
      -- A deletion takes a chunk with its outcomes, which the next statement copies.
      for share of c
      returning 1
    `.execute(tx)
    if (chunks.rows.length !== nos.length) return false
    await sql`
      insert into parts (batch_id, chunk_no, check_kind, indexes, outcomes)
      select ${stage.batchId}, chunk_no, check_kind, indexes, outcomes
      from parts where batch_id = ${of} and chunk_no = any(${[...nos]}) order by id
    `.execute(tx)
    return true
  })
}
