import { sql } from 'kysely'
import type { Tx } from '../database.ts'
import type { ChunkKey, Part } from './chunks.ts'

/** Positions of outcomes that were stored for a chunk, by check. */
export type AnsweredPart = Omit<Part, 'outcomes'>

/**
 * The positions of subjects of a chunk that have an outcome, read in the transaction that stored
 * some of them.
 */
export async function answeredParts(tx: Tx, chunk: ChunkKey): Promise<readonly AnsweredPart[]> {
  return await tx
    .selectFrom('parts')
    .select(['check_kind as check', 'indexes'])
    .where('batch_id', '=', chunk.batchId)
    .where('chunk_no', '=', chunk.no)
    .execute()
}

/**
 * Stores how many billable rows of an open chunk have all their outcomes.
 *
 * @returns whether the number has changed
 */
export async function storeAnsweredCount(tx: Tx, chunk: ChunkKey, count: number): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('chunks')
    .set({ known_count: count })
    .where('batch_id', '=', chunk.batchId)
    .where('no', '=', chunk.no)
    .where('known_count', '<>', count)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/**
 * Stores verdict counts of an open chunk; they are replaced when it is settled.
 *
 * @param counts in the order of the chunk's `verdicts`
 * @param how whether they are added to the earlier counts, or replace them
 */
export async function countVerdicts(
  tx: Tx,
  chunk: ChunkKey,
  counts: readonly number[],
  how: 'add' | 'set',
): Promise<void> {
  const before = how === 'add' ? sql`coalesce(verdicts[at], 0)` : sql`0`
  await sql`
    update chunks set verdicts = array(
      select ${before} + count from unnest(${[...counts]}::int[]) with ordinality as c(count, at)
      order by at)
    where batch_id = ${chunk.batchId} and no = ${chunk.no} and settled_at is null
  `.execute(tx)
}
