import type { PreviewCounts, PreviewHead } from '@plumbline/contract/batch-preview'
import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'
import { jsonbText } from '../jsonb.ts'
import type { StageFence } from './stages.ts'

/** The stored preview of a batch; `counts` is null until every row was read. */
export interface StoredPreview {
  readonly head: PreviewHead
  readonly counts: PreviewCounts | null
}

/**
 * Stores the preview that the start of a file gives, replacing that of an earlier attempt; does
 * nothing if the fencing number does not own the batch any more.
 */
export async function storePreviewHead(
  db: Db,
  stage: StageFence,
  head: PreviewHead,
): Promise<void> {
  await sql`
    insert into batch_previews (batch_id, lease, head)
    select id, lease, ${jsonbText(head)}::jsonb from batches
    where id = ${stage.batchId} and lease = ${stage.lease}
    on conflict (batch_id) do update
    set lease = excluded.lease, head = excluded.head, counts = null
  `.execute(queriesOf(db))
}

/** Stores the counts of all rows, under the batch's lock. */
export async function storePreviewCounts(
  tx: Tx,
  stage: StageFence,
  counts: PreviewCounts,
): Promise<void> {
  await tx
    .updateTable('batch_previews')
    .set({ counts: jsonbText(counts) })
    .where('batch_id', '=', stage.batchId)
    .where('lease', '=', stage.lease)
    .execute()
}

/**
 * The preview of a batch; undefined until the start of its file was read, and once the batch is
 * erased.
 */
export async function findPreview(
  db: Db | Tx,
  batchId: string,
): Promise<StoredPreview | undefined> {
  return await queriesOf(db)
    .selectFrom('batch_previews')
    .select(['head', 'counts'])
    .where('batch_id', '=', batchId)
    .executeTakeFirst()
}

/** Deletes the preview of a batch. */
export async function deletePreview(db: Db | Tx, batchId: string): Promise<void> {
  await queriesOf(db).deleteFrom('batch_previews').where('batch_id', '=', batchId).execute()
}

/**
 * Overwrites the preview of a batch under the batch's lock; both arguments have the shape that
 * `findPreview` returns.
 */
export async function writePreview(
  tx: Tx,
  batchId: string,
  { head, counts }: { readonly head: unknown; readonly counts: unknown },
): Promise<void> {
  await tx
    .updateTable('batch_previews')
    .set({ head: jsonbText(head), counts: counts === null ? null : jsonbText(counts) })
    .where('batch_id', '=', batchId)
    .execute()
}
