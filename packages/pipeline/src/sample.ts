import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Turn } from '@plumbline/concurrency/event-loop-turns'
import { SAMPLE, type BatchSample } from '@plumbline/contract/batch-sample'
import { Problem } from '@plumbline/contract/problem'
import { priceCredits, PRODUCT_PLANS } from '@plumbline/contract/products'
import { insertOwnChunk } from '@plumbline/db/batches/chunks'
import {
  insertBatch,
  moveBatch,
  readBatch,
  updateBatch,
  type BatchOwner,
  type BatchRow,
} from '@plumbline/db/batches/rows'
import { overdueSamples } from '@plumbline/db/batches/samples'
import type { Db, Tx } from '@plumbline/db/database'
import { newTimedId } from '@plumbline/db/ids'
import { readRemaining } from '@plumbline/metering/balance'
import { lockBatchOf, readBatchOf } from './batch-access.ts'
import { drawSample, type DrawnSample } from './draw-sample.ts'
import type { Pipeline } from './pipeline.ts'
import { holdAndRun, shortMessage } from './start.ts'
import { sampleViewOf } from './sample-view.ts'

/** Work of the caller that commits together with a sample. */
export type SampleInTransaction = (tx: Tx, view: BatchSample) => Promise<void>

/**
 * Checks up to 50 rows of a batch that waits at `ready`, drawn from all of it. They are charged as
 * rows of the batch; starting the batch neither checks nor charges them again.
 *
 * @param turn awaited before each chunk is decoded, which blocks the process for a while
 * @throws Problem `not_found`; `conflict` in other states, if it has a sample, and without billable
 * rows; `payment_required` without the credits
 */
export async function sampleBatch(
  pipeline: Pipeline,
  owner: BatchOwner,
  id: string,
  inTransaction?: SampleInTransaction,
  turn: Turn = nextTurn,
): Promise<BatchSample> {
  const found = await readBatchOf(pipeline.db, owner, id)
  refuseState(found)
  await refuseShort(pipeline.db, found)
  // Before the lock: it reads up to fifty chunks.
  const drawn = await drawSample(pipeline.db, found, SAMPLE.rows, turn)
  return await pipeline.db.kysely.transaction().execute(async (tx) => {
    const row = await lockBatchOf(tx, owner, id)
    refuseState(row)
    if (row.lease !== found.lease || drawn.places.length === 0) throw changedMeanwhile()
    const sample = await createSample(tx, pipeline, row, drawn)
    await updateBatch(tx, id, { sample_id: sample.id, weights: sample.weights })
    const view = await sampleViewOf(tx, pipeline, { ...row, sample_id: sample.id }, sample)
    await inTransaction?.(tx, view)
    return view
  })
}

function refuseState(row: BatchRow): void {
  if (row.status !== 'ready' || !row.read_whole) {
    throw new Problem(
      'conflict',
      `The batch is ${row.status}; only one that was read and waits at ready is sampled.`,
    )
  }
  if (row.sample_id !== null) {
    throw new Problem(
      'conflict',
      'The batch has a sample; it holds until the batch is changed, and GET shows it.',
    )
  }
  if (row.rows_billable === 0) {
    throw new Problem(
      'conflict',
      'The batch has no row that is checked; there is nothing to sample.',
    )
  }
}

/** Refuses what costs more than the balance in any case, before chunks are read for it. */
async function refuseShort(db: Db, row: BatchRow): Promise<void> {
  if (row.mode === 'test') return
  const { required } = PRODUCT_PLANS[row.product]
  const credits = Math.min(SAMPLE.rows, row.rows_billable) * priceCredits(row.product, [required])
  const available = (await readRemaining(db, row.account_id)) ?? 0
  if (available >= credits) return
  const short = { kind: 'short', credits, available, lacks: 'balance' } as const
  throw new Problem('payment_required', shortMessage(short))
}

function changedMeanwhile(): Problem {
  return new Problem('conflict', 'The batch was changed at the same moment; try again.')
}

async function createSample(
  tx: Tx,
  { scorers, limits }: Pipeline,
  row: BatchRow,
  { chunk, places, supplied }: DrawnSample,
): Promise<BatchRow> {
  const id = newTimedId('bat')
  const credits = supplied.reduce((sum, checks) => sum + priceCredits(row.product, checks), 0)
  const fields = {
    ...asParent(row),
    id,
    sample_of: row.id,
    sample_places: JSON.stringify(places),
    source_key: `uploads/${id}`,
    rows_total: places.length,
    rows_billable: places.length,
    credits_estimate: row.mode === 'test' ? 0 : credits,
  }
  const inserted = await insertBatch(tx, fields, limits.leaseMs)
  await insertOwnChunk(tx, id, chunk)
  const started = await holdAndRun(tx, inserted, scorers.current.version)
  if (started.kind === 'short') {
    throw new Problem('payment_required', shortMessage(started))
  }
  return started.row
}

/**
 * Columns that a sample inherits from its batch. Its outcomes are kept for a day, however short the
 * batch's retention.
 */
function asParent(row: BatchRow) {
  return {
    account_id: row.account_id,
    mode: row.mode,
    product: row.product,
    name: null,
    explain: row.explain,
    charge_unknown: row.charge_unknown,
    default_country: row.default_country,
    auto_start: true,
    max_credits: null,
    retention_days: Math.max(1, row.retention_days),
    requested: '{}',
    file_name: null,
    file_bytes: 0,
    file_format: row.file_format,
    header: row.header === null ? null : JSON.stringify(row.header),
    column_count: row.column_count,
    has_rest: row.has_rest,
    mapping: JSON.stringify(row.mapping),
    read_whole: true,
  }
}

/**
 * The sample of a batch, with its results so far.
 *
 * @throws Problem `not_found`, also if there is none
 */
export async function readSample(
  pipeline: Pipeline,
  owner: BatchOwner,
  id: string,
): Promise<BatchSample> {
  const row = await readBatchOf(pipeline.db, owner, id)
  const sample = row.sample_id === null ? undefined : await readBatch(pipeline.db, row.sample_id)
  if (sample === undefined || sample.status === 'expired') {
    throw new Problem('not_found', 'The batch has no sample; POST to the same path makes one.')
  }
  return await sampleViewOf(pipeline.db, pipeline, row, sample)
}

/**
 * Ends samples whose time is over: subjects without an outcome count as unknown, and are not
 * charged.
 */
export async function endOverdueSamples({ db }: Pick<Pipeline, 'db'>): Promise<void> {
  for (const id of await overdueSamples(db, SAMPLE.seconds)) {
    await db.kysely.transaction().execute((tx) => moveBatch(tx, id, 'canceling'))
  }
}
