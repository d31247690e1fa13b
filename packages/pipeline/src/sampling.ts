import { Problem } from '@plumbline/contract/problem'
import { moveBatch, type BatchRow } from '@plumbline/db/batches/rows'
import { isSampling, lockSampling } from '@plumbline/db/batches/samples'
import type { Tx } from '@plumbline/db/database'

/**
 * Ends the samples of a batch that are still being checked, in the caller's transaction, which has
 * locked the batch: no new lookup is begun for them, and the outcomes known by then stay charged.
 */
export async function endSamples(tx: Tx, batchId: string): Promise<void> {
  for (const id of await lockSampling(tx, batchId)) await moveBatch(tx, id, 'canceling')
}

/**
 * Refuses an action that must wait for the end of a batch's sample. A start needs its outcomes; what
 * is deleted must be charged before, also the samples that a change of the batch has voided.
 *
 * @throws Problem `conflict`
 */
export async function refuseSampling(
  tx: Tx,
  row: BatchRow,
  what: 'start' | 'delete',
): Promise<void> {
  const isOpen =
    what === 'start'
      ? await isSampling(tx, row.sample_id)
      : (await lockSampling(tx, row.id)).length > 0
  if (!isOpen) return
  throw new Problem(
    'conflict',
    `A sample of the batch is being checked; ${what} it when that has ended, mostly within a minute.`,
  )
}
