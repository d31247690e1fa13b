import { opendir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sweepStore, type StoreParts } from './sweep-store.ts'

const HOUR_MS = 3_600_000

/** Longer than it takes to notice that a backup was restored, or that two installations share a store. */
const STRAY_FILES_DAYS = 7

/** When a file counts as left behind. */
export interface FileAges {
  /** Files of the store that no batch names, since that is known; default seven days. */
  readonly graceDays?: number
  /** Files in the making, since they were last written to; default six hours, longer than any run. */
  readonly scratchOlderThanMs?: number
}

/**
 * Removes what a killed process left: scratch files, and uploads and results that no batch names.
 * @returns how many files went
 */
export async function sweepFiles(parts: StoreParts, ages: FileAges = {}): Promise<number> {
  const { graceDays = STRAY_FILES_DAYS, scratchOlderThanMs } = ages
  const scratch = await sweepScratch(parts.scratchDir, scratchOlderThanMs)
  return scratch + (await sweepStore(parts, graceDays))
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
