import { randomUUID } from 'node:crypto'
import { claimResult, notedResults, pageOfResults } from '@plumbline/db/batches/lost-results'
import { abandonStage } from '@plumbline/db/batches/stages'
import { holdDuty } from '@plumbline/db/duties'
import type { Pipeline } from './pipeline.ts'
import { putRight } from './reconcile.ts'
import { replaceResult } from './replace-result.ts'
import { runClaimedStage } from './stage-lease.ts'
import { withoutFile } from './without-file.ts'

/** Time between two looks: a question to the store for each of a page of batches. */
export const RESULTS_EVERY_MS = 60_000

/** Result files that one look asks the store for: some 140,000 questions a day. */
const PAGE = 100

/** How long a file must have been gone until it is rewritten: two looks. */
const GRACE_MS = 60_000

/** How long one process looks, and others do not. */
const TERM_MS = 3 * RESULTS_EVERY_MS

/** Tells this process from all others. */
const HOLDER = randomUUID()

/** Where a walk through all ended batches stands; each look goes on with it, and starts over after the last. */
export interface ResultWalk {
  afterId: string
}

/** What a look is given; what is left out is for tests. */
export interface RestoreOptions {
  readonly walk: ResultWalk
  readonly signal: AbortSignal
  readonly graceMs?: number
  /** Tells the processes apart. */
  readonly holder?: string
  /** Batches of one look. */
  readonly page?: number
}

/**
 * Looks for ended batches whose result file the store does not have, such as after a failover to a database that
 * lacks a file's new name, or a disk that was restored, and writes it anew from the rows: those of which a
 * download met it, and the next ones of the walk. One process of all does so.
 * @returns how many were written
 */
export async function restoreResults(
  pipeline: Pipeline,
  { walk, signal, graceMs = GRACE_MS, holder = HOLDER, page = PAGE }: RestoreOptions,
): Promise<number> {
  if (!(await holdDuty(pipeline.db, 'results', holder, TERM_MS))) return 0
  const find = async (): Promise<readonly string[]> => {
    const noted = await notedResults(pipeline.db)
    const next = await pageOfResults(pipeline.db, walk.afterId, page)
    walk.afterId = next.length < page ? '' : (next.at(-1)?.id ?? '')
    return [...new Set(await withoutFile(pipeline, [...noted, ...next]))]
  }
  const heal = (_: Pipeline, id: string) => writeAnew(pipeline, id, signal)
  return await putRight(pipeline, { kind: 'result_without_file', find, heal }, graceMs)
}

async function writeAnew(pipeline: Pipeline, id: string, stopping: AbortSignal): Promise<boolean> {
  const batch = await claimResult(pipeline.db, id, pipeline.limits.leaseMs)
  if (batch === undefined) return false
  const stage = { batchId: id, lease: batch.lease }
  let isNamed = false
  try {
    await runClaimedStage(pipeline, stage, stopping, async ({ signal }) => {
      isNamed = await replaceResult(pipeline, batch, signal, async () => undefined)
    })
  } finally {
    await abandonStage(pipeline.db, stage)
  }
  return isNamed
}
