import type { BatchView } from '@plumbline/contract/batch-view'
import { Problem } from '@plumbline/contract/problem'
import { PRODUCT_PLANS } from '@plumbline/contract/products'
import type { Tx } from '@plumbline/db/database'
import { moveBatch, type BatchOwner, type BatchRow } from '@plumbline/db/batches/rows'
import { hold } from '@plumbline/metering/hold'
import { createTasks } from '@plumbline/db/batches/tasks'
import { lockBatchOf } from './batch-access.ts'
import type { Pipeline } from './pipeline.ts'
import type { InTransaction } from './submit.ts'
import { batchViewOf } from './view.ts'

/**
 * Starts a batch that stopped at `ready`; `max_credits` does not stop it again.
 * @throws Problem `not_found`, `conflict` in another state, `payment_required` without the credits
 */
export async function startBatch(
  pipeline: Pipeline,
  owner: BatchOwner,
  id: string,
  inTransaction?: InTransaction,
): Promise<BatchView> {
  return await pipeline.db.kysely.transaction().execute(async (tx) => {
    const row = await lockBatchOf(tx, owner, id)
    if (row.status !== 'ready') {
      throw new Problem(
        'conflict',
        `The batch is ${row.status}; only a ready batch can be started.`,
      )
    }
    if (!row.read_whole && row.error !== null) throw unread(row.error.message)
    const started = await holdAndRun(tx, row, pipeline.scorers.current.version)
    if (started.kind === 'short') {
      throw new Problem(
        'payment_required',
        `The batch needs ${row.credits_estimate} credits and ${started.available} are left; ` +
          'top up the account or upgrade the plan.',
      )
    }
    const view = batchViewOf(started.row)
    await inTransaction?.(tx, view)
    return view
  })
}

/** The refusal of a batch whose file could not be read as it is asked for. */
function unread(why: string): Problem {
  return new Problem(
    'conflict',
    `The batch cannot be started until it is changed, by PATCH or another upload. ${why}`,
  )
}

/** What became of an attempt to start a batch. */
export type Started =
  | { readonly kind: 'running'; readonly row: BatchRow }
  | {
      readonly kind: 'short'
      readonly available: number
      readonly lacks: 'balance' | 'daily_limit'
    }

/**
 * Holds a batch's credits, makes its tasks and moves it to `running`, all in the caller's transaction: the
 * one hold of decision 13, of which each chunk settles its own and the end releases the rest.
 * @param weights version of the weights that every score of the batch is made by from now on
 */
export async function holdAndRun(tx: Tx, row: BatchRow, weights: string): Promise<Started> {
  const live = row.mode === 'live'
  if (live && row.credits_estimate > 0) {
    const held = await hold(tx, {
      accountId: row.account_id,
      ref: row.id,
      credits: row.credits_estimate,
      product: row.product,
    })
    if (!held.granted) return { kind: 'short', available: held.available, lacks: held.lacks }
  }
  await createTasks(tx, {
    id: row.id,
    accountId: row.account_id,
    mode: row.mode,
    depth: PRODUCT_PLANS[row.product].depth,
  })
  const running = await moveBatch(tx, row.id, 'running', {
    credits_held: live ? row.credits_estimate : 0,
    weights,
    error: null,
  })
  if (running === undefined) throw new Error(`batch ${row.id} left ${row.status} under its lock`)
  return { kind: 'running', row: running }
}
