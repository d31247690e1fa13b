import { sql } from 'kysely'
import type { Tx } from '../database.ts'
import type { ChunkKey } from './chunks.ts'

/**
 * Locks a chunk of a batch that has not started, for the rest of the transaction; undefined if it
 * is settled.
 */
export async function lockOpenChunk(
  tx: Tx,
  batchId: string,
  no: number,
): Promise<{ readonly subjects: Buffer; readonly cells: Buffer } | undefined> {
  return await tx
    .selectFrom('chunks')
    .select(['subjects', 'cells'])
    .where('batch_id', '=', batchId)
    .where('no', '=', no)
    .where('settled_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

/**
 * Adds `count` known rows of a chunk to its billable rows, to be checked by their email addresses.
 */
export async function storeRowsToCheck(
  tx: Tx,
  chunk: ChunkKey,
  asked: { readonly count: number; readonly subjects: Buffer; readonly cells: Buffer },
): Promise<void> {
  await tx
    .updateTable('chunks')
    .set({
      subjects: asked.subjects,
      cells: asked.cells,
      billable_count: sql`billable_count + ${asked.count}`,
      email_count: sql`email_count + ${asked.count}`,
      remaining: sql`remaining + ${asked.count}`,
    })
    .where('batch_id', '=', chunk.batchId)
    .where('no', '=', chunk.no)
    .execute()
}
