import type { BatchView } from '@plumbline/contract/batch-view'
import { Problem } from '@plumbline/contract/problem'
import type { Db, Tx } from '@plumbline/db/database'
import { findBatch, lockBatch, type BatchOwner, type BatchRow } from '@plumbline/db/batches/rows'
import { sumsOfBatch } from '@plumbline/db/batches/sums'
import { batchViewOf } from './view.ts'

/** Work of the caller that commits together with the batch's new state. */
export type InTransaction = (tx: Tx, view: BatchView) => Promise<void>

/** The refusal of a batch id that does not exist or belongs to another owner: both look alike. */
export function noSuchBatch(): Problem {
  return new Problem('not_found', 'There is no batch with this id.')
}

/** A batch of this owner. @throws Problem `not_found` */
export async function readBatchOf(db: Db | Tx, owner: BatchOwner, id: string): Promise<BatchRow> {
  const row = await findBatch(db, owner, id)
  if (row === undefined) throw noSuchBatch()
  return row
}

/** Locks a batch of this owner for the rest of the transaction. @throws Problem `not_found` */
export async function lockBatchOf(tx: Tx, owner: BatchOwner, id: string): Promise<BatchRow> {
  const row = await lockBatch(tx, id)
  const isOwn = row?.account_id === owner.accountId && row.mode === owner.mode
  const isShown = row !== undefined && row.erasing !== 'all' && row.sample_of === null
  if (!isShown || !isOwn) throw noSuchBatch()
  return row
}

/** A batch as its owner sees it after a change, which commits together with the caller's work. */
export async function viewIn(
  tx: Tx,
  row: BatchRow,
  inTransaction: InTransaction | undefined,
): Promise<BatchView> {
  const view = batchViewOf(row, await sumsOfBatch(tx, row.id))
  await inTransaction?.(tx, view)
  return view
}
