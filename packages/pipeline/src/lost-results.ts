import { randomUUID } from 'node:crypto'
import { claimResult, missingResults, pageOfResults } from '@plumbline/db/batches/result-files'
import { abandonStage } from '@plumbline/db/batches/stages'
import { holdDuty } from '@plumbline/db/duties'
import type { Pipeline } from './pipeline.ts'
import { repairKind } from './reconcile.ts'
import { replaceResult } from './replace-result.ts'
import { runClaimedStage } from './stage-lease.ts'
import { withoutFile } from './without-file.ts'

/** Milliseconds between two checks, each of which asks the store about a page of batches. */
export const RESULTS_EVERY_MS = 60_000

/**
 * Maximum number of result files that one check looks up in the store: some 140,000 requests a day.
 */
const PAGE = 100

/** Milliseconds that a file must have been missing before it is rewritten: two checks. */
const GRACE_MS = 60_000

/** Milliseconds for which one process holds the duty. */
const TERM_MS = 3 * RESULTS_EVERY_MS

/** Identifies this process. */
const HOLDER = randomUUID()

/**
 * Position in a walk through all ended batches; each check continues it, and starts over after the
 * last.
 */
export interface ResultWalk {
  afterId: string
}

/** Options of `restoreResults`; the defaults are for production. */
export interface RestoreOptions {
  readonly walk: ResultWalk
  readonly signal: AbortSignal
  readonly graceMs?: number
  /** Identifies the process. */
  readonly holder?: string
  /** Batches of one check. */
  readonly page?: number
}

/**
 * Looks for ended batches whose result file is missing in the store, as after a failover to a
 * database with an outdated file name, or after restoring a disk, and rewrites it from the rows:
 * those that a download has reported, and the next ones of the walk. Only one process at a time
 * does this.
 *
 * @returns how many were rewritten
 */
export async function restoreResults(
  pipeline: Pipeline,
  { walk, signal, graceMs = GRACE_MS, holder = HOLDER, page = PAGE }: RestoreOptions,
): Promise<number> {
  if (!(await holdDuty(pipeline.db, 'results', holder, TERM_MS))) return 0
  const find = async (): Promise<readonly string[]> => {
    const noted = await missingResults(pipeline.db)
    const next = await pageOfResults(pipeline.db, walk.afterId, page)
    walk.afterId = next.length < page ? '' : (next.at(-1)?.id ?? '')
    return [...new Set(await withoutFile(pipeline, [...noted, ...next]))]
  }
  const repair = (_: Pipeline, id: string) => rewriteFromRows(pipeline, id, signal)
  return await repairKind(
    pipeline,
    { kind: 'result_without_file', find, repair },
    { graceMs, signal },
  )
}

async function rewriteFromRows(
  pipeline: Pipeline,
  id: string,
  stopping: AbortSignal,
): Promise<boolean> {
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
