import { keepLease } from '@plumbline/concurrency/lease-renewal'
import {
  claimStage,
  renewStage,
  returnStage,
  yieldStage,
  type StageFence,
} from '@plumbline/db/batches/stages'
import type { Pipeline } from './pipeline.ts'

/** Delay of a stage after its first failures, as a share of its lease: 2 s of 30. */
const REST_SHARE = 1 / 15

/** A stage whose lease this worker holds. */
export interface LeasedStage extends StageFence {
  /** Aborts when the worker stops, and when another worker may have the stage. */
  readonly signal: AbortSignal
}

/**
 * Claims the stage that a job names, runs it and renews its lease meanwhile; does nothing if
 * another worker has it. If the worker shuts down, the stage is returned at once, its attempt not
 * counted; if it fails, it is tried again a fifteenth of a lease later, and after longer delays if
 * that fails, too.
 */
export async function runStage(
  pipeline: Pick<Pipeline, 'db' | 'limits' | 'log'>,
  job: StageFence,
  stopping: AbortSignal,
  run: (stage: LeasedStage) => Promise<void>,
): Promise<void> {
  const lease = await claimStage(pipeline.db, job, pipeline.limits.leaseMs)
  if (lease === undefined) return
  await runClaimedStage(pipeline, { batchId: job.batchId, lease }, stopping, run)
}

/** Runs a stage that is already claimed, as `runStage` does. */
export async function runClaimedStage(
  { db, limits, log }: Pick<Pipeline, 'db' | 'limits' | 'log'>,
  stage: StageFence,
  stopping: AbortSignal,
  run: (stage: LeasedStage) => Promise<void>,
): Promise<void> {
  const { leaseMs } = limits
  using lease = keepLease(() => renewStage(db, stage, leaseMs), {
    leaseMs,
    warn: (error) => log.warn({ err: error, batch: stage.batchId }, 'lease could not be renewed'),
  })
  try {
    await run({ ...stage, signal: AbortSignal.any([stopping, lease.lost]) })
  } catch (error) {
    if (!stopping.aborted) {
      // If the database is unreachable, the lease expires without this.
      await yieldStage(db, stage, leaseMs * REST_SHARE).catch(() => undefined)
      throw error
    }
    await returnStage(db, stage)
  }
}
