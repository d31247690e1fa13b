import { queriesOf, type Db, type Tx } from '../database.ts'

/**
 * Stores which rows of a batch have later duplicates: one bit a row, replacing those of an earlier
 * attempt.
 */
export async function storeDuplicatedRows(tx: Tx, batchId: string, bits: Buffer): Promise<void> {
  await tx
    .insertInto('repeated_rows')
    .values({ batch_id: batchId, bits })
    .onConflict((conflict) => conflict.column('batch_id').doUpdateSet({ bits }))
    .execute()
}

/** Which rows of a batch have later duplicates, one bit a row; null if none has. */
export async function readDuplicatedRows(db: Db | Tx, batchId: string): Promise<Buffer | null> {
  const row = await queriesOf(db)
    .selectFrom('repeated_rows')
    .select('bits')
    .where('batch_id', '=', batchId)
    .executeTakeFirst()
  return row?.bits ?? null
}
