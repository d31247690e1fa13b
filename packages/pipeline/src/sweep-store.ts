import { countRepairs } from '@plumbline/db/batches/reconcile'
import { namedFiles } from '@plumbline/db/batches/files'
import {
  deleteStrayRecords,
  isWholeSweepDue,
  recordStrays,
  noteWholeSweep,
  readStoreOwner,
} from '@plumbline/db/file-store'
import { idsAfter } from '@plumbline/db/ids'
import { claimStore, hasMarker } from '@plumbline/storage/marker'
import type { NameRange } from '@plumbline/storage/storage'
import type { Pipeline } from './pipeline.ts'

/**
 * Days; long enough to notice that a backup was restored, or that two installations share a store.
 */
const STRAY_FILES_DAYS = 7

/** Dependencies of the sweeps of the store. */
export type StoreParts = Pick<Pipeline, 'db' | 'storage' | 'scratchDir'>

/** The store belongs to another installation; the message tells the operator what to do. */
export class ForeignStoreError extends Error {
  override readonly name = 'ForeignStoreError'
  constructor(owner: string) {
    super(
      `the store of files is marked as that of ${owner}, and this database is another installation's: ` +
        'set FILES_URL (or DATA_DIR) to a place of its own, or, where that installation is gone, ' +
        'remove the file "installation" there',
    )
  }
}

/**
 * Checks that the store belongs to this installation, and marks it if it has no marker yet.
 *
 * @throws ForeignStoreError; any error of the store
 */
export async function requireOwnStore({ db, storage, scratchDir }: StoreParts): Promise<void> {
  const claim = await claimStore(storage, { id: await readStoreOwner(db), scratchDir })
  if (claim.kind === 'foreign') throw new ForeignStoreError(claim.owner)
}

/** Whether the store has our marker; unlike `requireOwnStore` it never writes one. */
export async function isOwnStore({
  db,
  storage,
}: Pick<StoreParts, 'db' | 'storage'>): Promise<boolean> {
  return await hasMarker(storage, await readStoreOwner(db))
}

/**
 * Refuses a store of another installation at the start of a program. If the store does not reply,
 * that is only logged: it is checked again before anything in it is swept.
 *
 * @throws ForeignStoreError
 */
export async function refuseForeignStore(parts: StoreParts & Pick<Pipeline, 'log'>): Promise<void> {
  try {
    await requireOwnStore(parts)
  } catch (error) {
    if (error instanceof ForeignStoreError) throw error
    parts.log.warn(
      { err: error },
      'the marker of the file store could not be read; it is read again before a sweep',
    )
  }
}

/**
 * Hours between two sweeps of the whole store, the only ones that find leftovers of old batches.
 */
const WHOLE_EVERY_HOURS = 24

/** Options of a sweep of the store. */
export interface StoreSweepOptions {
  /** Days after which an unreferenced file is removed; default 7. */
  readonly graceDays?: number
  /** Ends the sweep before its next page. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Removes uploads and results that no batch references, once they have been known for `graceDays`:
 * leftovers of killed processes. Touches only names of our own form, in a store with our marker.
 * Names begin with their time: once a day all are listed, else only those that are at most one day
 * older than `graceDays`. To be run every few minutes; safe in several processes at once.
 *
 * @returns how many files were removed
 * @throws ForeignStoreError; the signal's reason if it aborts: a large store has thousands of pages
 */
export async function sweepStore(
  parts: StoreParts,
  { graceDays = STRAY_FILES_DAYS, signal }: StoreSweepOptions = {},
): Promise<number> {
  await requireOwnStore(parts)
  const isWhole = await isWholeSweepDue(parts.db, WHOLE_EVERY_HOURS)
  let count = 0
  for (const folder of ['uploads', 'results']) {
    for (const names of isWhole ? [undefined] : youngNames(graceDays + 1)) {
      count += await sweepNames(parts, { folder, names, graceDays, signal })
    }
  }
  if (isWhole) await noteWholeSweep(parts.db)
  return count
}

/** Range of names of files created in the last days, by this machine's clock. */
function youngNames(days: number): readonly NameRange[] {
  const sinceMs = Date.now() - days * 86_400_000
  return (['bat', 'lkp'] as const).map((prefix) => ({
    prefix: `${prefix}_`,
    after: idsAfter(prefix, sinceMs),
  }))
}

interface NamesToSweep {
  readonly folder: string
  /** All names if left out. */
  readonly names: NameRange | undefined
  readonly graceDays: number
  readonly signal: AbortSignal | undefined
}

async function sweepNames(
  parts: StoreParts,
  { folder, names, graceDays, signal }: NamesToSweep,
): Promise<number> {
  let count = 0
  for await (const page of parts.storage.list(folder, names)) {
    signal?.throwIfAborted()
    const ours = page.map(({ key }) => key).filter((key) => batchOf(key) !== undefined)
    const ids = new Set(ours.map((key) => batchOf(key) ?? ''))
    const known = await namedFiles(parts.db, [...ids])
    const named = ours.filter((key) => known.has(key))
    const strays = ours.filter((key) => !known.has(key))
    const due = await recordStrays(parts.db, { strays, named }, graceDays)
    if (due.length === 0) continue
    await parts.storage.remove(due)
    // Another process may have removed some of them at the same time.
    const removedCount = await deleteStrayRecords(parts.db, due)
    if (removedCount === 0) continue
    count += removedCount
    await countRepairs(parts.db, 'stray_file', removedCount)
  }
  return count
}

/**
 * Less than the day within which erased data must be gone. A result that takes longer to write, as
 * its batch is running, is rewritten at its end.
 */
const PARTS_HOURS = 20

/**
 * Aborts multipart writes of uploads and results that began long ago and were never completed:
 * leftovers of killed processes.
 *
 * @returns of how many files
 * @throws ForeignStoreError; the signal's reason if it aborts
 */
export async function sweepParts(parts: StoreParts, signal?: AbortSignal): Promise<number> {
  await requireOwnStore(parts)
  const before = new Date(Date.now() - PARTS_HOURS * 3_600_000)
  let count = 0
  for (const folder of ['uploads', 'results']) {
    const isOurs = (key: string): boolean => batchOf(key) !== undefined
    count += await parts.storage.dropParts(folder, { before, isOurs, signal })
  }
  if (count > 0) await countRepairs(parts.db, 'stray_file', count)
  return count
}

/** The batch of a storage key in our form: an upload, a result, or a leftover part of one. */
function batchOf(key: string): string | undefined {
  const found =
    /^(?:uploads\/((?:bat|lkp)_[A-Za-z0-9]{20})|results\/((?:bat|lkp)_[A-Za-z0-9]{20})-\d{1,10}\.csv)(?:\.part)?$/.exec(
      key,
    )
  return found?.[1] ?? found?.[2]
}
