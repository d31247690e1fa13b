import { randomUUID } from 'node:crypto'
import { rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withTimeOut } from '@plumbline/concurrency/time-out'
import type { BatchView } from '@plumbline/contract/batch-view'
import type { KeyMode } from '@plumbline/contract/plans'
import type { Product } from '@plumbline/contract/products'
import { Problem } from '@plumbline/contract/problem'
import { lockAccount } from '@plumbline/db/accounts'
import { hasLongStage, isLongIntake } from '@plumbline/db/batches/stages'
import {
  countUnfinished,
  insertBatch,
  readBatch,
  sumFileBytes,
  type BatchRow,
} from '@plumbline/db/batches/rows'
import type { Db, Tx } from '@plumbline/db/database'
import { newTimedId } from '@plumbline/db/ids'
import { noteRemovals } from '@plumbline/db/file-store'
import { readLimits } from '@plumbline/db/limits'
import type { BatchRequest } from '@plumbline/db/tables/batches'
import { enqueue } from '@plumbline/queue/jobs'
import type { InTransaction } from './batch-access.ts'
import { stageJob } from './batch-jobs.ts'
import type { Pipeline } from './pipeline.ts'
import { removeNoted } from './remove-files.ts'
import { refuseUnpaid } from './unpaid-rows.ts'
import { batchViewOf } from './view.ts'

/** A submitted batch; its file is in the scratch directory and will be moved into the store. */
export interface Submission {
  readonly accountId: string
  readonly mode: KeyMode
  readonly product: Product
  readonly name: string | null
  readonly path: string
  /** File name from the client; null for JSON records. */
  readonly fileName: string | null
  /**
   * How the file is read, or what is read in its place. Its format is `records` for a JSON array of
   * records, stored as NDJSON.
   */
  readonly requested: BatchRequest
  /** Rows of the batch that it is made from, for a recheck or rescore. */
  readonly originRows?: number
  /** Types of the columns if that batch came from a workbook, since its rows are copied as texts. */
  readonly columnTypes?: BatchRow['column_types']
  readonly defaultCountry: string | null
  readonly autoStart: boolean
  readonly maxCredits: number | null
  readonly retentionDays: number
  readonly explain: boolean
  readonly chargeUnknown: boolean
}

/**
 * Creates a batch: moves its file into the store, inserts its row, and enqueues its intake. If that
 * job is lost, the lease runs out and the dispatcher enqueues another.
 *
 * @throws Problem `too_many_requests` beyond the account's limits of unfinished batches and unpaid
 * rows; `payload_too_large` beyond its storage quota
 */
export async function submitBatch(
  pipeline: Pipeline,
  submission: Submission,
  inTransaction?: InTransaction,
): Promise<BatchView> {
  await refuseUnpaid(pipeline, submission)
  const { size } = await stat(submission.path)
  // Checked here without the lock, so that a refused file is not copied into the store; its size
  // was checked when it was received.
  await refuseBeyondCount(pipeline.db, pipeline.limits, submission.accountId)
  const id = newTimedId('bat')
  const sourceKey = `uploads/${id}`
  // A second long stage of an account is dispatched in its turn.
  const isLong = isLongIntake(size, submission.originRows ?? 0)
  let mustWait = false
  try {
    await pipeline.storage.put(sourceKey, submission.path)
    const view = await pipeline.db.kysely.transaction().execute(async (tx) => {
      await lockAccount(tx, submission.accountId)
      await refuseBeyondLimits(tx, pipeline.limits, submission.accountId, size)
      mustWait = isLong && (await hasLongStage(tx, submission.accountId))
      const leaseMs = mustWait ? null : pipeline.limits.leaseMs
      const row = await insertBatch(tx, rowOf(id, sourceKey, submission, size), leaseMs)
      const shown = batchViewOf(row, undefined)
      await inTransaction?.(tx, shown)
      return shown
    })
    if (!mustWait) await wakeIntake(pipeline, id)
    return view
  } catch (error) {
    await giveUpFile(pipeline, { id, accountId: submission.accountId, sourceKey })
    throw error
  }
}

/** What a batch that is made from another one does not have from that one. */
type Derived = Pick<
  Submission,
  'fileName' | 'requested' | 'name' | 'autoStart' | 'maxCredits' | 'chargeUnknown'
>

/** Creates a batch of the same owner from the rows or the outcomes of another one. */
export async function submitDerived(
  pipeline: Pipeline,
  batch: BatchRow,
  derived: Derived,
  inTransaction?: InTransaction,
): Promise<BatchView> {
  const { recheck, rescore } = derived.requested
  const path = join(pipeline.scratchDir, `derived-${randomUUID()}`)
  // The stored file only documents the origin of the batch, which is read in its place.
  await writeFile(path, JSON.stringify(recheck ?? rescore), { mode: 0o600 })
  try {
    const submission = {
      ...derived,
      path,
      accountId: batch.account_id,
      mode: batch.mode,
      originRows: batch.rows_total,
      columnTypes: batch.column_types,
      product: batch.product,
      defaultCountry: batch.default_country,
      retentionDays: batch.retention_days,
      explain: batch.explain,
    }
    return await submitBatch(pipeline, submission, inTransaction)
  } finally {
    await rm(path, { force: true })
  }
}

/**
 * Removes the file of a batch that was not created; a store that failed may have stored it. The
 * reply to the commit may be lost, or the commit still under way: it holds the account's lock, so a
 * transaction that gets the lock sees its result. If the database does not reply, the file stays
 * and is swept later.
 */
async function giveUpFile(
  pipeline: Pipeline,
  batch: { id: string; accountId: string; sourceKey: string },
): Promise<void> {
  const { id, accountId, sourceKey } = batch
  try {
    const isGivenUp = await pipeline.db.kysely.transaction().execute(async (tx) => {
      await lockAccount(tx, accountId)
      if ((await readBatch(tx, id)) !== undefined) return false
      await noteRemovals(tx, accountId, [sourceKey])
      return true
    })
    if (isGivenUp) await removeNoted(pipeline, [sourceKey])
  } catch (error) {
    pipeline.log.warn({ err: error, batch: id }, 'the file of a refused batch stays for a while')
  }
}

function rowOf(
  id: string,
  sourceKey: string,
  submission: Submission,
  size: number,
): Parameters<typeof insertBatch>[1] {
  const { columnTypes = null } = submission
  return {
    id,
    account_id: submission.accountId,
    mode: submission.mode,
    product: submission.product,
    name: submission.name,
    explain: submission.explain,
    charge_unknown: submission.chargeUnknown,
    default_country: submission.defaultCountry,
    auto_start: submission.autoStart,
    max_credits: submission.maxCredits,
    retention_days: submission.retentionDays,
    requested: JSON.stringify(submission.requested),
    source_key: sourceKey,
    file_name: submission.fileName,
    file_bytes: size,
    file_format: submission.requested.format ?? null,
    column_types: columnTypes === null ? null : JSON.stringify(columnTypes),
    ...originOf(submission.requested),
  }
}

function originOf({
  recheck,
  rescore,
}: BatchRequest): Pick<Parameters<typeof insertBatch>[1], 'origin_id' | 'origin_kind'> {
  if (recheck !== undefined) return { origin_id: recheck.of, origin_kind: 'recheck' }
  if (rescore !== undefined) return { origin_id: rescore.of, origin_kind: 'rescore' }
  return { origin_id: null, origin_kind: null }
}

async function refuseBeyondLimits(
  tx: Tx,
  limits: Pipeline['limits'],
  accountId: string,
  size: number,
): Promise<void> {
  await refuseBeyondCount(tx, limits, accountId)
  if ((await sumFileBytes(tx, accountId)) + size > limits.accountFileBytes) {
    throw noSpaceLeft(limits.accountFileBytes)
  }
}

async function refuseBeyondCount(
  db: Db | Tx,
  limits: Pipeline['limits'],
  accountId: string,
): Promise<void> {
  const unfinished = await countUnfinished(db, accountId)
  const own = await readLimits(db, accountId)
  if (unfinished < (own.unfinished_batches ?? limits.unfinishedBatches)) return
  throw new Problem(
    'too_many_requests',
    `The account has ${unfinished} unfinished batches; wait until one ends or cancel one.`,
    { retryAfterSeconds: 30 },
  )
}

/** The refusal of a file for which the account has no storage quota left. */
export function noSpaceLeft(limitBytes: number): Problem {
  return new Problem(
    'payload_too_large',
    `The files of the account would exceed its ${limitBytes} bytes; delete batches that are no longer needed.`,
  )
}

/**
 * Milliseconds that the sender of a batch waits for its job. The batch is stored: it goes on without
 * the job, which may also be added later, once a server that does not reply is back.
 */
const WAKE_MS = 1_000

async function wakeIntake(pipeline: Pipeline, id: string): Promise<void> {
  const job = stageJob({ batchId: id, lease: 1 })
  try {
    await withTimeOut(WAKE_MS, enqueue(pipeline.queue, 'intake', [job]))
  } catch (error) {
    pipeline.log.warn(
      { err: error, batch: id },
      'intake not enqueued; it is dispatched when its lease expires',
    )
  }
}
