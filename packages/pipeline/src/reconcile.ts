import { randomUUID } from 'node:crypto'
import { PROBLEMS } from '@plumbline/contract/problem'
import { PRODUCT_PLANS } from '@plumbline/contract/products'
import {
  createMissingTasks,
  chunksWithoutTask,
  countRepairs,
  endLease,
  endDelays,
  storeFindings,
  leasesWithoutEnd,
  makeGroup,
  MOST_FINDINGS,
  kindsWithFindings,
  delaysWithoutEnd,
  tasksWithoutGroup,
  unreadBatches,
  type FindingKind,
} from '@plumbline/db/batches/reconcile'
import { INTAKE_STATES } from '@plumbline/db/batches/states'
import { lockBatch, readBatch, updateBatch } from '@plumbline/db/batches/rows'
import { readSubjects } from '@plumbline/db/batches/chunks'
import { closeFinishedBatch } from '@plumbline/db/batches/stages'
import { holdDuty } from '@plumbline/db/duties'
import { release } from '@plumbline/metering/hold'
import { productOfHold, strayHolds } from '@plumbline/metering/stray-holds'
import { failBatch } from './cancel.ts'
import type { Pipeline } from './pipeline.ts'
import { unpackSubjects } from './codec.ts'
import { chunkOfBatch, settleChunk } from './settle.ts'
import { withoutFile } from './without-file.ts'

/**
 * Milliseconds for which an inconsistency must have been seen before it is repaired: work in flight
 * ends by then.
 */
const GRACE_MS = 60_000

/** Milliseconds for which one process holds the duty. */
const TERM_MS = 60_000

/** Milliseconds after which it extends the duty before the next kind. */
const EXTEND_MS = 5_000

/** Identifies this process. */
const HOLDER = randomUUID()

/** Five minutes, in milliseconds; workers may have leases of different lengths. */
const LEAST_BEYOND_MS = 300_000

/** Milliseconds within which every lease should end: more than any, unless the clock was set back. */
function mostLeaseMs({ limits }: Pipeline): number {
  return Math.max(LEAST_BEYOND_MS, 2 * limits.leaseMs)
}

/** One kind of inconsistency, and its repair: of one subject at a time, or of all at once. */
export type Reconciler = {
  readonly kind: FindingKind
  /** The subjects that are inconsistent now. */
  find(pipeline: Pipeline): Promise<readonly string[]>
} & (
  | {
      /** Repairs one subject; returns false if it is no longer inconsistent. */
      repair(pipeline: Pipeline, subject: string): Promise<boolean>
    }
  | {
      /** Repairs every subject of the kind, once one of them has lasted; returns how many. */
      repairAll(pipeline: Pipeline, signal: AbortSignal | undefined): Promise<number>
    }
)

/** Kinds of inconsistency that are found by queries of the database. */
const RECONCILERS: readonly Reconciler[] = [
  { kind: 'chunk_without_task', find: ({ db }) => chunksWithoutTask(db), repair: completeChunk },
  { kind: 'hold_of_ended_batch', find: findHolds, repair: releaseHold },
  {
    kind: 'lease_without_end',
    find: (pipeline) => leasesWithoutEnd(pipeline.db, mostLeaseMs(pipeline)),
    repair: (pipeline, subject) => endLease(pipeline.db, subject, mostLeaseMs(pipeline)),
  },
  {
    kind: 'rest_without_end',
    find: ({ db }) => delaysWithoutEnd(db),
    repairAll: ({ db }, signal) => endDelays(db, signal),
  },
  {
    kind: 'task_without_group',
    find: ({ db }) => tasksWithoutGroup(db),
    repair: ({ db }, subject) => makeGroup(db, subject),
  },
]

/** Kinds that are found in the file store, which may stall. */
const OF_FILES: readonly Reconciler[] = [
  { kind: 'batch_without_file', find: findWithoutFile, repair: endWithoutFile },
]

/** Options of `reconcile`; the defaults are for production. */
export interface ReconcileOptions {
  readonly graceMs?: number
  /** Identifies the process. */
  readonly holder?: string
  /** Once it aborts, no further repair is made. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Searches for inconsistent state and repairs any that has been seen for a minute: after a failover
 * to a server that lacks acknowledged writes, a jump of the clock, or a bug of ours. Each repair is
 * a transaction of its own, and one round makes a bounded number of them. Only one process at a
 * time does this.
 *
 * @returns how much was repaired
 */
export async function reconcile(
  pipeline: Pipeline,
  options: ReconcileOptions = {},
): Promise<number> {
  return await runRound(pipeline, 'reconcile', RECONCILERS, options)
}

/**
 * As `reconcile`, for kinds that are found in the file store. A duty of its own, so that a store
 * that stalls delays no other repair.
 *
 * @returns how much was repaired
 */
export async function reconcileFiles(
  pipeline: Pipeline,
  options: ReconcileOptions = {},
): Promise<number> {
  return await runRound(pipeline, 'reconcile_files', OF_FILES, options)
}

async function runRound(
  pipeline: Pipeline,
  duty: 'reconcile' | 'reconcile_files',
  reconcilers: readonly Reconciler[],
  { graceMs = GRACE_MS, holder = HOLDER, signal }: ReconcileOptions,
): Promise<number> {
  let count = 0
  let heldMs = -Infinity
  let noted: ReadonlySet<FindingKind> | undefined
  for (const reconciler of reconcilers) {
    // Extended meanwhile: thousands of repairs may take longer than a term.
    if (performance.now() - heldMs > EXTEND_MS) {
      if (!(await holdDuty(pipeline.db, duty, holder, TERM_MS))) break
      heldMs = performance.now()
    }
    noted ??= await kindsWithFindings(pipeline.db)
    count += await repairKind(pipeline, reconciler, { graceMs, signal, noted })
  }
  return count
}

/** Options of one kind's search. */
interface RepairOptions {
  readonly graceMs: number
  readonly signal: AbortSignal | undefined
  /** Kinds of which findings are stored; if left out, any may be. */
  readonly noted?: ReadonlySet<FindingKind>
}

/**
 * Searches for one kind of inconsistency, repairs any that has lasted long enough, and counts it.
 *
 * @returns how much was repaired
 */
export async function repairKind(
  pipeline: Pipeline,
  reconciler: Reconciler,
  { graceMs, signal, noted }: RepairOptions,
): Promise<number> {
  const { db, log } = pipeline
  const { kind } = reconciler
  const found = await reconciler.find(pipeline)
  // Usually there is nothing to store or to delete.
  if (found.length === 0 && noted?.has(kind) === false) return 0
  const lasting = await storeFindings(db, kind, found, graceMs)
  let count = 0
  if ('repairAll' in reconciler) {
    if (lasting.length > 0) count = await reconciler.repairAll(pipeline, signal)
    if (count === 0) return 0
    await countRepairs(db, kind, count)
    log.warn({ kind, count, subject: lasting[0] }, 'inconsistencies were repaired')
    return count
  }
  for (const subject of lasting) {
    if (signal?.aborted === true) break
    try {
      if (!(await reconciler.repair(pipeline, subject))) continue
      await countRepairs(db, kind)
      count += 1
      log.warn({ kind, subject }, 'an inconsistency was repaired')
    } catch (error) {
      log.error({ err: error, kind, subject }, 'an inconsistency could not be repaired')
    }
  }
  return count
}

/**
 * Creates tasks for subjects of a chunk without outcome and task; settles a chunk that has all
 * outcomes.
 */
async function completeChunk(
  { db, scorers, countCredits }: Pipeline,
  subject: string,
): Promise<boolean> {
  const [batchId = '', digits = ''] = subject.split('/', 2)
  const no = Number(digits)
  const healed = await db.kysely.transaction().execute(async (tx) => {
    const batch = await lockBatch(tx, batchId)
    if (batch?.status !== 'running') return undefined
    const { product } = batch
    const { depth } = PRODUCT_PLANS[product]
    const missing = await createMissingTasks(tx, batchId, no, depth)
    if (missing === undefined) return undefined
    if (missing > 0) return { product, charged: 0 }
    const packed = await readSubjects(tx, { batchId, no })
    if (packed === undefined) return undefined
    const subjects = unpackSubjects(packed)
    const scorer = await scorers.of(batch.weights)
    const charged = await settleChunk(tx, chunkOfBatch(batch, { no, scorer, subjects }))
    return { product, charged }
  })
  if (healed === undefined) return false
  countCredits?.charged(healed.product, healed.charged)
  await closeFinishedBatch(db, batchId)
  return true
}

/** Public error of a batch whose file is lost. */
const FILE_LOST =
  'The file was lost by a fault of the service before it was read; nothing was charged. Send it again.'

/** Batches that wait for intake and whose file the store reports as missing. */
async function findWithoutFile(pipeline: Pipeline): Promise<readonly string[]> {
  const unread = await unreadBatches(pipeline.db)
  return await withoutFile(
    pipeline,
    unread.map(({ id, sourceKey }) => ({ id, key: sourceKey })),
  )
}

async function endWithoutFile(pipeline: Pipeline, id: string): Promise<boolean> {
  const batch = await readBatch(pipeline.db, id)
  if (batch === undefined || batch.read_whole) return false
  if (!INTAKE_STATES.some((state) => state === batch.status)) return false
  const shown = { error: PROBLEMS.internal.error, message: FILE_LOST }
  await failBatch(pipeline, { batchId: id, lease: batch.lease }, shown)
  return (await readBatch(pipeline.db, id))?.status === 'failed'
}

async function findHolds({ db }: Pipeline): Promise<readonly string[]> {
  return (await strayHolds(db, MOST_FINDINGS)).map(({ accountId, ref }) => `${accountId}/${ref}`)
}

async function releaseHold({ db, countCredits }: Pipeline, subject: string): Promise<boolean> {
  const [accountId = '', ref = ''] = subject.split('/', 2)
  const healed = await db.kysely.transaction().execute(async (tx) => {
    const batch = await lockBatch(tx, ref)
    const released = await release(tx, { accountId, ref, opKey: `${ref}:release` })
    if (released === undefined) return undefined
    if (batch !== undefined) {
      await updateBatch(tx, ref, { credits_released: batch.credits_released + released })
    }
    // If the batch is gone, the hold itself tells the product.
    const product = batch?.product ?? (await productOfHold(tx, { accountId, ref }))
    return { product, released }
  })
  if (healed === undefined) return false
  const { product, released } = healed
  if (product !== undefined) countCredits?.released(product, released)
  return true
}
