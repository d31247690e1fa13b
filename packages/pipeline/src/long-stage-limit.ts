import { abandonStage, isLongStage, type StageFence } from '@plumbline/db/batches/stages'
import type { Db } from '@plumbline/db/database'

/**
 * Maximum number of long stages that one worker runs at once; its other slots are for short ones.
 */
export const LONG_STAGES = 2

/** Runs the stage of a job if the worker has a free slot for it, else releases its lease. */
export type LongStageLimit = (job: StageFence, run: () => Promise<void>) => Promise<void>

/**
 * Keeps slots of a worker free for short stages, so that ten rows do not wait until files of
 * millions are read. The dispatcher leases no more long stages than the workers have slots for; one
 * that finds no free slot is leased again later.
 */
export function createLongStageLimit(db: Db, most = LONG_STAGES): LongStageLimit {
  let taken = 0
  return async (job, run) => {
    if (!(await isLongStage(db, job.batchId))) return await run()
    if (taken >= most) return await abandonStage(db, job)
    taken += 1
    try {
      await run()
    } finally {
      taken -= 1
    }
  }
}
