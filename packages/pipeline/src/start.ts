import type { BatchView } from '@plumbline/contract/batch-view'
import { Problem } from '@plumbline/contract/problem'
import { PRODUCT_PLANS } from '@plumbline/contract/products'
import type { Db, Tx } from '@plumbline/db/database'
import { moveBatch, type BatchOwner, type BatchRow } from '@plumbline/db/batches/rows'
import { hold } from '@plumbline/metering/hold'
import { prepaidCredits } from '@plumbline/db/batches/samples'
import { closeFinishedBatch } from '@plumbline/db/batches/stages'
import { createTasks, lockStarting } from '@plumbline/db/batches/tasks'
import { lockBatchOf, readBatchOf, viewIn, type InTransaction } from './batch-access.ts'
import type { Pipeline } from './pipeline.ts'
import { refuseSampling } from './sampling.ts'

/**
 * Starts a batch that waits at `ready`; its `max_credits` does not stop it again.
 *
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
    await refuseSampling(tx, row, 'start')
    const started = await holdAndRun(tx, row, pipeline.scorers.current.version)
    if (started.kind === 'short') {
      throw new Problem('payment_required', shortMessage(started))
    }
    return await viewIn(tx, started.row, inTransaction)
  })
}

/**
 * Credits that a start of a batch would hold now; undefined if it does not wait at `ready`.
 *
 * @throws Problem `not_found`
 */
export async function creditsToStart(
  { db }: Pick<Pipeline, 'db'>,
  owner: BatchOwner,
  id: string,
): Promise<number | undefined> {
  const row = await readBatchOf(db, owner, id)
  return row.status === 'ready' ? await unpaidCredits(db, row) : undefined
}

/** Rows that a sample has paid for are neither checked nor charged again. */
async function unpaidCredits(db: Db | Tx, row: BatchRow): Promise<number> {
  return row.credits_estimate - (await prepaidCredits(db, row.id))
}

/** The refusal of a batch whose file could not be read as requested. */
function unread(why: string): Problem {
  return new Problem(
    'conflict',
    `The batch cannot be started until it is changed, by PATCH or another upload. ${why}`,
  )
}

/** The reason why a batch with this cost was not started, and what to do. */
export function shortMessage({ credits, available, lacks }: ShortStart): string {
  return lacks === 'balance'
    ? `The batch needs ${credits} credits and ${available} are left; top up the account or upgrade the plan, then start the batch.`
    : `The batch would set ${credits} credits aside, more than the daily spending limit of the account still allows today; raise it, or start the batch tomorrow.`
}

/** A start for which the credits do not suffice. */
type ShortStart = Extract<Started, { readonly kind: 'short' }>

/** Result of an attempt to start a batch. */
export type Started =
  | { readonly kind: 'running'; readonly row: BatchRow }
  | {
      readonly kind: 'short'
      /** Credits that would have been held. */
      readonly credits: number
      readonly available: number
      readonly lacks: 'balance' | 'daily_limit'
    }

/**
 * Number of chunks whose tasks are created together with the hold, so that small batches begin at
 * once.
 */
const CHUNKS_AT_START = 8
const CHUNKS_A_STEP = 250

/**
 * Holds a batch's credits, moves it to `running` and creates its first tasks, all in the caller's
 * transaction. It is the one hold of decision 13, from which each chunk is settled and whose rest
 * is released at the end. The hold locks the account, so the other tasks are created afterwards, by
 * `makeTasks`.
 *
 * @param weights version of the weights that every score of the batch uses from now on
 */
export async function holdAndRun(tx: Tx, row: BatchRow, weights: string): Promise<Started> {
  const live = row.mode === 'live'
  const credits = await unpaidCredits(tx, row)
  if (live && credits > 0) {
    const held = await hold(tx, {
      accountId: row.account_id,
      ref: row.id,
      credits,
      product: row.product,
    })
    if (!held.granted)
      return { kind: 'short', credits, available: held.available, lacks: held.lacks }
  }
  const running = await moveBatch(tx, row.id, 'running', {
    credits_held: live ? credits : 0,
    // A sample is scored by the weights of its batch.
    weights: row.weights ?? weights,
    error: null,
    tasks_from: 0,
  })
  if (running === undefined) throw new Error(`batch ${row.id} left ${row.status} under its lock`)
  const { id, account_id: accountId, mode, product } = row
  const { depth } = PRODUCT_PLANS[product]
  await createTasks(tx, { id, accountId, mode, product, depth, from: 0 }, CHUNKS_AT_START)
  await closeFinishedBatch(tx, id)
  return { kind: 'running', row: running }
}

/**
 * Creates the next tasks of a running batch without all its tasks: a bounded number, in its own
 * transaction.
 *
 * @returns whether there was such a batch
 */
export async function makeTasks(db: Db): Promise<boolean> {
  return await db.kysely.transaction().execute(async (tx) => {
    const batch = await lockStarting(tx)
    if (batch === undefined) return false
    await createTasks(tx, { ...batch, depth: PRODUCT_PLANS[batch.product].depth }, CHUNKS_A_STEP)
    await closeFinishedBatch(tx, batch.id)
    return true
  })
}
