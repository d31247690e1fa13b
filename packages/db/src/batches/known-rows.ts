import type { Check } from '@plumbline/contract/products'
import type { Tx } from '../database.ts'

/** Outcomes that came in of a chunk, by check and position. */
export interface AnsweredPart {
  readonly check: Check
  readonly indexes: readonly number[] | null
}

/** Which subjects of a chunk are answered, inside the transaction that stored more of them. */
export async function answeredParts(
  tx: Tx,
  chunk: { batchId: string; no: number },
): Promise<readonly AnsweredPart[]> {
  const rows = await tx
    .selectFrom('parts')
    .select(['check_kind', 'indexes'])
    .where('batch_id', '=', chunk.batchId)
    .where('chunk_no', '=', chunk.no)
    .execute()
  return rows.map((row) => ({ check: row.check_kind, indexes: row.indexes }))
}

/** Notes how many billable rows of an open chunk are known whole. */
export async function noteKnownRows(
  tx: Tx,
  chunk: { batchId: string; no: number },
  count: number,
): Promise<void> {
  await tx
    .updateTable('chunks')
    .set({ known_count: count })
    .where('batch_id', '=', chunk.batchId)
    .where('no', '=', chunk.no)
    .where('known_count', '<>', count)
    .execute()
}
