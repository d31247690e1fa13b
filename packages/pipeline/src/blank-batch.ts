import { createTurns } from '@plumbline/concurrency/event-loop-turns'
import type { ErasureCounts } from '@plumbline/contract/erasure'
import {
  countBlanked,
  lockHeldChunk,
  readHeldChunks,
  writeBlanked,
  type HeldChunk,
} from '@plumbline/db/batches/blank'
import { nextResultAttempt } from '@plumbline/db/batches/result-files'
import { findPreview, writePreview, type StoredPreview } from '@plumbline/db/batches/previews'
import { lockBatch, readBatch, updateBatch, type BatchRow } from '@plumbline/db/batches/rows'
import type { Tx } from '@plumbline/db/database'
import { noteRemovals } from '@plumbline/db/file-store'
import { renewNotification } from '@plumbline/db/people/notifications'
import { blankChunk, scrubberOf } from './blank-chunk.ts'
import { scrubJson } from './scrub-json.ts'
import type { ValueFinder } from './erased-values.ts'
import type { AskedSubject, FactCounts } from './erasure-stores.ts'
import { replaceResult } from './replace-result.ts'
import type { Pipeline } from './pipeline.ts'
import { removeNoted } from './remove-files.ts'
import { mayHoldValue } from './search-upload.ts'

/** Maximum number of chunks that one step searches: some 4,000 rows. */
const CHUNKS_A_STEP = 4

/**
 * Iterations of the event loop from one searched chunk to the next. A chunk takes some 20 ms, in
 * which the process does nothing else, and other work often needs several iterations.
 */
const ROUNDS_A_CHUNK = 8
const nextTurn = createTurns(ROUNDS_A_CHUNK)

/** Result of one step of removing erased values from a batch. */
export interface Step {
  readonly counts: Partial<ErasureCounts>
  /** Whether the batch held an erased value. */
  readonly isMet: boolean
}

/** Stores the result of a step in its transaction; an error that it throws rolls the step back. */
export type NoteStep = (tx: Tx, step: Step) => Promise<void>

/** What is done about chunks that hold an erased value. */
export interface ChunkSteps {
  /**
   * Deletes facts about subjects as the chunks checked them, and counts these once, however often
   * it is called for the step. Called before the transaction: it may wait for other stores, and for
   * a connection to the database.
   */
  readonly forget: (subjects: readonly AskedSubject[]) => Promise<FactCounts>
  /** Stores the step, and the number of the next chunk; undefined after the last. */
  readonly note: (tx: Tx, step: Step, nextNo: number | undefined) => Promise<void>
}

/** Whether rows of a batch are still being read, so that more chunks may come. */
export function isBeingRead({ status, read_whole: isRead }: BatchRow): boolean {
  return !isRead && (status === 'analyzing' || status === 'canceling')
}

/**
 * Removes erased values from the next chunks of a batch, in one transaction; if there are none, it
 * only reads. A process that dies between the deletion of the facts and the end of the transaction
 * leaves the chunks as they were: the next one finds the same subjects in them.
 *
 * @param steps called if a value was found
 * @returns the number of the next chunk; undefined after the last
 */
export async function blankChunks(
  pipeline: Pick<Pipeline, 'db'>,
  batch: BatchRow,
  fromNo: number,
  finder: ValueFinder,
  { forget, note }: ChunkSteps,
): Promise<number | undefined> {
  const chunks = await readHeldChunks(pipeline.db, batch.id, { fromNo, most: CHUNKS_A_STEP })
  const last = chunks.at(-1)
  const nextNo = last === undefined || chunks.length < CHUNKS_A_STEP ? undefined : last.no + 1
  // Most chunks hold no value; these are not locked.
  const held: HeldChunk[] = []
  const subjects: AskedSubject[] = []
  for (const chunk of chunks) {
    await nextTurn()
    const blanks = blankChunk(chunk, batch, finder)
    if (blanks === undefined) continue
    held.push(chunk)
    subjects.push(...blanks.subjects)
  }
  if (held.length === 0) return nextNo
  const forgotten = await forget(subjects)
  await pipeline.db.kysely.transaction().execute(async (tx) => {
    let rows = 0
    const locked = await lockBatch(tx, batch.id)
    // Chunks read again after a change may hold other subjects, with facts of their own. The batch
    // is searched again. Otherwise the subjects of a chunk never become more.
    const isSame = locked?.change_count === batch.change_count
    for (const { no } of isSame ? held : []) {
      const chunk = await lockHeldChunk(tx, batch.id, no)
      const blanks = chunk === undefined ? undefined : blankChunk(chunk, batch, finder)
      if (blanks === undefined) continue
      await writeBlanked(tx, batch.id, no, blanks.blanked)
      rows += blanks.rowCount
    }
    if (isSame) await countBlanked(tx, batch.id)
    await note(tx, { counts: { rows, ...forgotten }, isMet: isSame }, nextNo)
  })
  return nextNo
}

/**
 * Removes erased values from the batch's own row, and deletes its upload if that may hold one.
 *
 * @param readNo the change of the batch after which its chunks were read
 * @returns false if a change made it read its rows again: they are to be searched when it has
 */
export async function blankHead(
  pipeline: Pipeline,
  batchId: string,
  readNo: number,
  finder: ValueFinder,
  note: NoteStep,
): Promise<boolean> {
  const found = await readBatch(pipeline.db, batchId)
  if (found === undefined) return true
  if (found.change_count !== readNo) return false
  const drops = await dropsUpload(pipeline, found, finder)
  const preview = await findPreview(pipeline.db, batchId)
  const scrub = scrubberOf(finder, found)
  const texts = blankedTexts(found, scrub)
  const shown = preview === undefined ? undefined : blankedPreview(preview, scrub)
  if (!drops && texts === undefined && shown === undefined) return true
  const isSearched = await pipeline.db.kysely.transaction().execute(async (tx) => {
    const row = await lockBatch(tx, batchId)
    if (row === undefined || row.erasing === 'all') return true
    if (row.change_count !== readNo) return false
    const kept = blankedTexts(row, scrub)
    if (kept !== undefined) {
      await updateBatch(tx, batchId, kept)
      await renewNotification(tx, batchId)
    }
    if (shown !== undefined) await writePreview(tx, batchId, shown)
    const removes = drops && !row.source_erased && row.erasing === null
    if (removes) {
      await updateBatch(tx, batchId, { source_erased: true })
      await noteRemovals(tx, row.account_id, [row.source_key])
    }
    const isMet = kept !== undefined || shown !== undefined
    // The header of the result file shows these columns of the batch's row.
    if (isMet) await countBlanked(tx, batchId)
    await note(tx, { counts: { uploads: removes ? 1 : 0 }, isMet })
    return true
  })
  if (drops && isSearched) await removeNoted(pipeline, [found.source_key])
  return isSearched
}

/**
 * Whether the upload of a batch is to be deleted: always once the batch has started, as nothing
 * reads it any more, else if it may hold a value.
 */
async function dropsUpload(
  pipeline: Pipeline,
  batch: BatchRow,
  finder: ValueFinder,
): Promise<boolean> {
  const hasNone = batch.is_lookup || batch.sample_of !== null || batch.origin_id !== null
  if (hasNone || batch.source_erased || batch.erasing !== null) return false
  if (batch.status === 'failed' || batch.status === 'expired') return false
  if (batch.status !== 'ready' || !batch.read_whole || batch.blank_count > 0) return true
  return await mayHoldValue(pipeline, batch, finder)
}

/** Texts of a batch's row without the erased values; undefined if they hold none. */
function blankedTexts(
  row: BatchRow,
  scrub: (text: string) => string,
): Parameters<typeof updateBatch>[2] | undefined {
  const { name, file_name, sheet, entry, header, sheets, mapping, requested, error } = row
  const before = { name, file_name, sheet, entry, header, sheets, mapping, requested, error }
  const changed = Object.entries(before).flatMap(([column, value]) => {
    const kept = scrubJson(value, scrub)
    if (kept === value) return []
    return [[column, typeof value === 'string' ? kept : JSON.stringify(kept)] as const]
  })
  return changed.length === 0 ? undefined : Object.fromEntries(changed)
}

function blankedPreview(
  { head, counts }: StoredPreview,
  scrub: (text: string) => string,
): { readonly head: unknown; readonly counts: unknown } | undefined {
  const kept = { head: scrubJson(head, scrub), counts: scrubJson(counts, scrub) }
  return kept.head === head && kept.counts === counts ? undefined : kept
}

/**
 * Rewrites the result file of an ended batch if rows were blanked since it was written; deletes the
 * old file and what killed processes left of it.
 */
export async function rewriteResult(
  pipeline: Pipeline,
  batchId: string,
  signal: AbortSignal,
  note: NoteStep,
): Promise<void> {
  for (;;) {
    const batch = await nextResultAttempt(pipeline.db, batchId)
    if (batch === undefined) return
    await replaceResult(pipeline, batch, signal, (tx) =>
      note(tx, { counts: { results: 1 }, isMet: true }),
    )
  }
}
