import { opendir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { namedFiles } from '@plumbline/db/batches/files'
import type { Pipeline } from './pipeline.ts'

const HOUR_MS = 3_600_000

/** How old a file must be before it counts as left behind. */
export interface FileAges {
  /** Files of the store that no batch names; default an hour, their batch is written within seconds. */
  readonly olderThanMs?: number
  /** Files in the making, since they were last written to; default six hours, longer than any run. */
  readonly scratchOlderThanMs?: number
}

/**
 * Removes what a killed process left: scratch files, and uploads and results that no batch names. Lists
 * the whole store, so it is for once in many minutes; safe to run in several processes at once.
 * @returns how many files went
 */
export async function sweepFiles(
  pipeline: Pick<Pipeline, 'db' | 'storage' | 'scratchDir'>,
  ages: FileAges = {},
): Promise<number> {
  const { olderThanMs = HOUR_MS, scratchOlderThanMs } = ages
  let count = await sweepScratch(pipeline.scratchDir, scratchOlderThanMs)
  for (const folder of ['uploads', 'results']) {
    for await (const page of pipeline.storage.list(folder)) {
      const before = Date.now() - olderThanMs
      const old = page.filter(({ storedAt }) => storedAt.getTime() < before).map(({ key }) => key)
      const ids = new Set(old.flatMap((key) => batchOf(key) ?? []))
      const named = await namedFiles(pipeline.db.kysely, [...ids])
      const orphans = old.filter((key) => !named.has(key))
      await pipeline.storage.remove(orphans)
      count += orphans.length
    }
  }
  return count
}

/**
 * Removes the product's own scratch files of this machine that were last written to `olderThanMs` ago or
 * before; safe beside other processes that use the directory.
 * @returns how many files went
 */
export async function sweepScratch(dir: string, olderThanMs = 6 * HOUR_MS): Promise<number> {
  const before = Date.now() - olderThanMs
  let count = 0
  for await (const entry of await opendir(dir)) {
    if (!entry.isFile() || !SCRATCH.test(entry.name)) continue
    const path = join(dir, entry.name)
    const found = await stat(path).catch(() => undefined)
    if (found === undefined || found.mtimeMs >= before) continue
    await rm(path, { force: true })
    count += 1
  }
  return count
}

/** Names that are given to files in the making; others in the directory are not ours. */
const SCRATCH = /^(upload|records|result|repeats|fetch)-/

/** The batch of `uploads/<id>` and `results/<id>-<lease>.csv`, with what a cut copy adds. */
function batchOf(key: string): string | undefined {
  return /^(?:uploads|results)\/(bat_[A-Za-z0-9]+)/.exec(key)?.[1]
}
