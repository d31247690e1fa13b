import { setTimeout as wait } from 'node:timers/promises'
import { claimRunning, closeFinishedBatches, letGoOf } from '@plumbline/db/batches/stages'
import { pagesAsSettled, Stalled } from './chunk-pages.ts'
import { finish } from './finish.ts'
import type { Pipeline } from './pipeline.ts'
import { holdStage, type StageInHand } from './stage-lease.ts'

/** Running lists whose results one worker writes meanwhile. */
const AT_ONCE = 2

/** Rows from which on a list is worth it: fewer are written in some hundredths of a second. */
const LEAST_ROWS = 10_000

/** How often it is looked for running lists. */
const LOOK_MS = 250

/** How often it is looked for settled chunks, and how long a list may go without a new one. */
const CHUNK_TIMES = { lookMs: 50, longestMs: 10_000 }

/**
 * Writes the results of long lists while they run, until the signal aborts, so that a list ends with its
 * last record. It saves time and nothing else, and only where a list runs about as fast as it is written:
 * what is left behind here (a list that stalls or is canceled, a worker that dies) is written from its
 * beginning by the finish stage.
 */
export async function runEarlyFinishes(pipeline: Pipeline, signal: AbortSignal): Promise<void> {
  await Promise.all(Array.from({ length: AT_ONCE }, () => finishLists(pipeline, signal)))
}

async function finishLists(pipeline: Pipeline, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await finishNext(pipeline, LEAST_ROWS, signal)
    } catch (error) {
      pipeline.log.warn({ err: error }, 'a result was not written early')
    }
    await wait(LOOK_MS, undefined, { signal }).catch(() => {})
  }
}

/** Takes the oldest running list of so many rows that nobody had yet, and writes its result. */
export async function finishNext(
  pipeline: Pipeline,
  leastRows: number,
  stopping: AbortSignal,
  times = CHUNK_TIMES,
): Promise<void> {
  const { kysely } = pipeline.db
  const claimed = await claimRunning(kysely, leastRows, pipeline.limits.leaseMs)
  if (claimed === undefined) return
  await holdStage(pipeline, claimed, stopping, async (stage) => {
    try {
      await finish(pipeline, stage, pagesToTheEnd(pipeline, stage, times))
    } catch (error) {
      if (!(error instanceof Stalled)) throw error
      await letGoOf(kysely, stage)
    }
  })
}

/** All pages; the batch is `finalizing` when they have come. */
async function* pagesToTheEnd(
  pipeline: Pipeline,
  stage: StageInHand,
  times: typeof CHUNK_TIMES,
): ReturnType<typeof pagesAsSettled> {
  yield* pagesAsSettled(pipeline, stage, times)
  await closeFinishedBatches(pipeline.db.kysely)
}
