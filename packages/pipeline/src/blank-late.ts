import { lockHeldChunk, writeBlanked } from '@plumbline/db/batches/blank'
import type { ChunkKey } from '@plumbline/db/batches/chunks'
import type { Tx } from '@plumbline/db/database'
import { blankLate } from './blank-chunk.ts'

/**
 * Blanks outcomes of subjects that were erased while they were being checked, in the transaction
 * that stored the outcomes.
 */
export async function blankLateOutcomes(tx: Tx, { batchId, no }: ChunkKey): Promise<void> {
  const chunk = await lockHeldChunk(tx, batchId, no)
  if (chunk !== undefined) await writeBlanked(tx, batchId, no, blankLate(chunk))
}
