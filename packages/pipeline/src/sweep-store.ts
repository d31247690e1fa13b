import { countHealed } from '@plumbline/db/batches/reconcile'
import { namedFiles } from '@plumbline/db/batches/files'
import {
  forgetStrays,
  isLookDue,
  judgeStrays,
  noteLook,
  readStoreOwner,
} from '@plumbline/db/file-store'
import { idsAfter } from '@plumbline/db/ids'
import { claimStore, hasMarker } from '@plumbline/storage/marker'
import type { NameRange } from '@plumbline/storage/storage'
import type { Pipeline } from './pipeline.ts'

/** Longer than it takes to notice that a backup was restored, or that two installations share a store. */
const STRAY_FILES_DAYS = 7

/** What the store is worked on with. */
export type StoreParts = Pick<Pipeline, 'db' | 'storage' | 'scratchDir'>

/** What an operator reads of a store that is another installation's, and what to do. */
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
 * Makes sure that the store is this installation's, and marks it where nobody has.
 * @throws ForeignStoreError; whatever the store fails with
 */
export async function requireOwnStore({ db, storage, scratchDir }: StoreParts): Promise<void> {
  const claim = await claimStore(storage, { id: await readStoreOwner(db), scratchDir })
  if (claim.kind === 'foreign') throw new ForeignStoreError(claim.owner)
}

/** Whether the store has our marker; unlike `requireOwnStore` it marks nothing. */
export async function isOwnStore({
  db,
  storage,
}: Pick<StoreParts, 'db' | 'storage'>): Promise<boolean> {
  return await hasMarker(storage, await readStoreOwner(db))
}

/**
 * Refuses a store of another installation at the start of a program. A store that cannot be asked is told
 * of only: it is asked again before anything in it is swept.
 * @throws ForeignStoreError
 */
export async function refuseForeignStore(parts: StoreParts & Pick<Pipeline, 'log'>): Promise<void> {
  try {
    await requireOwnStore(parts)
  } catch (error) {
    if (error instanceof ForeignStoreError) throw error
    parts.log.warn({ err: error }, 'the store of files does not say whose it is')
  }
}

/** Time between two looks through the whole store, which alone meet what a kill left of an old batch. */
const WHOLE_EVERY_HOURS = 24

/**
 * Removes uploads and results that no batch names, once they have been known for `graceDays`: what a killed
 * process left. Touches only names of our own form, in a store that our marker says is ours. Names begin with
 * their time: once a day all are read, and else those that are younger than what is to go by a day more. For once
 * in many minutes; safe to run in several processes at once.
 * @returns how many files went
 * @throws ForeignStoreError
 */
export async function sweepStore(parts: StoreParts, graceDays = STRAY_FILES_DAYS): Promise<number> {
  await requireOwnStore(parts)
  const isWhole = await isLookDue(parts.db, WHOLE_EVERY_HOURS)
  let count = 0
  for (const folder of ['uploads', 'results']) {
    for (const names of isWhole ? [undefined] : youngNames(graceDays + 1)) {
      count += await sweepNames(parts, { folder, names, graceDays })
    }
  }
  if (isWhole) await noteLook(parts.db)
  return count
}

/** Names of files of so many days, by the clock of those who gave them. */
function youngNames(days: number): readonly NameRange[] {
  const sinceMs = Date.now() - days * 86_400_000
  return (['bat', 'lkp'] as const).map((prefix) => ({
    prefix: `${prefix}_`,
    after: idsAfter(prefix, sinceMs),
  }))
}

interface NamesToSweep {
  readonly folder: string
  /** All where left out. */
  readonly names: NameRange | undefined
  readonly graceDays: number
}

async function sweepNames(
  parts: StoreParts,
  { folder, names, graceDays }: NamesToSweep,
): Promise<number> {
  let count = 0
  for await (const page of parts.storage.list(folder, names)) {
    const ours = page.map(({ key }) => key).filter((key) => batchOf(key) !== undefined)
    const ids = new Set(ours.map((key) => batchOf(key) ?? ''))
    const known = await namedFiles(parts.db, [...ids])
    const named = ours.filter((key) => known.has(key))
    const strays = ours.filter((key) => !known.has(key))
    const due = await judgeStrays(parts.db, { strays, named }, graceDays)
    if (due.length === 0) continue
    await parts.storage.remove(due)
    await forgetStrays(parts.db, due)
    count += due.length
    await countHealed(parts.db, 'stray_file', due.length)
  }
  return count
}

/**
 * Less than a day, in which what is erased is to be gone. A result that grows for longer, as its batch runs, is
 * written anew at its end.
 */
const PARTS_HOURS = 20

/**
 * Drops parts of uploads and results that began to be written so long ago and never were whole: what a killed process
 * left in a store that takes files in parts.
 * @returns of how many files
 * @throws ForeignStoreError
 */
export async function sweepParts(parts: StoreParts): Promise<number> {
  await requireOwnStore(parts)
  const before = new Date(Date.now() - PARTS_HOURS * 3_600_000)
  let count = 0
  for (const folder of ['uploads', 'results']) {
    count += await parts.storage.dropParts(folder, before, (key) => batchOf(key) !== undefined)
  }
  if (count > 0) await countHealed(parts.db, 'stray_file', count)
  return count
}

/** The batch of a name that we give: an upload or a result, and the same with what a file adds that was cut off. */
function batchOf(key: string): string | undefined {
  const found =
    /^(?:uploads\/((?:bat|lkp)_[A-Za-z0-9]{20})|results\/((?:bat|lkp)_[A-Za-z0-9]{20})-\d{1,10}\.csv)(?:\.part)?$/.exec(
      key,
    )
  return found?.[1] ?? found?.[2]
}
