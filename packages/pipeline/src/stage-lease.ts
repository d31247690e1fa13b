import { claimStage, renewStage, returnStage } from '@plumbline/db/batches/stages'
import type { Pipeline } from './pipeline.ts'

/** A stage that a worker has in hand. */
export interface StageInHand {
  readonly batchId: string
  /** The fencing number that all its writes carry. */
  readonly lease: number
  /** Aborts when the worker stops, and when another worker may have the stage. */
  readonly signal: AbortSignal
}

/**
 * Works a leased stage and keeps its lease; does nothing where another worker has it. What a stopping
 * worker breaks off goes to another at once, its attempt not spent.
 */
export async function workStage(
  pipeline: Pick<Pipeline, 'db' | 'limits' | 'log'>,
  job: { batchId: string; lease: number },
  stopping: AbortSignal,
  work: (stage: StageInHand) => Promise<void>,
): Promise<void> {
  const lease = await claimStage(pipeline.db.kysely, job, pipeline.limits.leaseMs)
  if (lease === undefined) return
  await holdStage(pipeline, { batchId: job.batchId, lease }, stopping, work)
}

/** Works a stage that was claimed, as `workStage` does. */
export async function holdStage(
  pipeline: Pick<Pipeline, 'db' | 'limits' | 'log'>,
  stage: { batchId: string; lease: number },
  stopping: AbortSignal,
  work: (stage: StageInHand) => Promise<void>,
): Promise<void> {
  await using kept = keepStage(pipeline, stage)
  try {
    await work({ ...stage, signal: AbortSignal.any([stopping, kept.lost]) })
  } catch (error) {
    if (!stopping.aborted) throw error
    await returnStage(pipeline.db.kysely, stage)
  }
}

/** Keeps a stage's lease until disposed; `lost` fires when another worker may have it. */
function keepStage(
  pipeline: Pick<Pipeline, 'db' | 'limits' | 'log'>,
  stage: { batchId: string; lease: number },
): AsyncDisposable & { readonly lost: AbortSignal } {
  const lost = new AbortController()
  let renewing: Promise<void> = Promise.resolve()
  const renew = async (): Promise<void> => {
    try {
      if (!(await renewStage(pipeline.db.kysely, stage, pipeline.limits.leaseMs))) lost.abort()
    } catch (error) {
      pipeline.log.warn({ err: error, batch: stage.batchId }, 'lease could not be renewed')
    }
  }
  const timer = setInterval(() => {
    renewing = renew()
  }, pipeline.limits.leaseMs / 3)
  return {
    lost: lost.signal,
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer)
      await renewing
    },
  }
}
