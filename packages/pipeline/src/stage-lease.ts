import { renewStage } from '@plumbline/db/batches/stages'
import type { Pipeline } from './pipeline.ts'

/** Keeps a stage's lease until disposed; `lost` fires when another worker may have it. */
export function keepStage(
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
