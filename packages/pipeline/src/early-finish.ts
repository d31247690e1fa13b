import type { WakeUp } from '@plumbline/concurrency/wake-up'
import { settledTimesOf } from '@plumbline/db/batches/chunks'
import { claimRunning, closeFinishedBatch, abandonStage } from '@plumbline/db/batches/stages'
import { pagesAsSettled, Stalled } from './chunk-pages.ts'
import { finish } from './finish.ts'
import type { Pipeline } from './pipeline.ts'
import { runClaimedStage, type LeasedStage } from './stage-lease.ts'

/** Maximum number of running batches whose results one worker writes concurrently. */
const AT_ONCE = 2

/** Minimum number of rows: the result of fewer is written within some 50 ms at the end. */
const LEAST_ROWS = 10_000

/**
 * Milliseconds between two searches for running batches. The worker that dispatches is woken when
 * one starts; and a batch with so many rows runs for much longer if mail servers are probed.
 */
const POLL_MS = 3_000

/**
 * Milliseconds between two polls for settled chunks, and milliseconds without one after which it
 * gives up.
 */
const CHUNK_TIMES = { pollMs: 25, longestMs: 10_000 }

/**
 * Writes the results of large batches while they run, until the signal aborts, so that a batch ends
 * with its last record. This only saves time: if it is abandoned (the batch stalls or is canceled,
 * or the worker dies), the finish stage writes the file from its beginning.
 *
 * @param started woken when a large batch has started
 */
export async function runEarlyFinishes(
  pipeline: Pipeline,
  started: WakeUp,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(Array.from({ length: AT_ONCE }, () => finishBatches(pipeline, started, signal)))
}

async function finishBatches(
  pipeline: Pipeline,
  started: WakeUp,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    let found = false
    try {
      found = await finishNext(pipeline, LEAST_ROWS, signal)
    } catch (error) {
      pipeline.log.warn({ err: error }, 'a result was not written early')
    }
    if (!found) await started.wait(POLL_MS, signal)
  }
}

/**
 * Claims the oldest running batch of at least `leastRows` rows that no worker has claimed, and
 * writes its result.
 *
 * @returns whether there was one
 */
export async function finishNext(
  pipeline: Pipeline,
  leastRows: number,
  stopping: AbortSignal,
  times = CHUNK_TIMES,
): Promise<boolean> {
  const claimed = await claimRunning(pipeline.db, leastRows, pipeline.limits.leaseMs)
  if (claimed === undefined) return false
  await runClaimedStage(pipeline, claimed, stopping, async (stage) => {
    try {
      await finish(pipeline, stage, pagesToTheEnd(pipeline, stage, times))
    } catch (error) {
      if (!(error instanceof Stalled)) throw error
      await abandonStage(pipeline.db, stage)
    }
  })
  return true
}

/**
 * All pages; after the last one the batch is `finalizing`.
 *
 * @throws Stalled if a chunk was settled again after its page: a failover may lose a settlement, and
 * the chunk is then checked again
 */
async function* pagesToTheEnd(
  pipeline: Pipeline,
  stage: LeasedStage,
  times: typeof CHUNK_TIMES,
): ReturnType<typeof pagesAsSettled> {
  const written: (number | undefined)[] = []
  for await (const page of pagesAsSettled(pipeline, stage, times)) {
    written.push(...page.map(({ settledAt }) => settledAt?.getTime()))
    yield page
  }
  await closeFinishedBatch(pipeline.db, stage.batchId)
  const settled = await settledTimesOf(pipeline.db, stage.batchId)
  if (settled.some((at, no) => at?.getTime() !== written[no])) {
    throw new Stalled('a chunk was settled again after it was written')
  }
}
