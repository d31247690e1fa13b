import type { BatchFault } from '@plumbline/contract/batch-view'
import { readLimits } from '@plumbline/db/limits'
import { PROBLEMS } from '@plumbline/contract/problem'
import { checksGiven, priceCredits } from '@plumbline/contract/products'
import { countRows, insertChunks, type NewChunk } from '@plumbline/db/batches/chunks'
import { eraseLeftovers } from '@plumbline/db/batches/erase'
import type { PreviewCounts } from '@plumbline/contract/batch-preview'
import { storePreviewCounts, storePreviewHead } from '@plumbline/db/batches/previews'
import { storeDuplicatedRows } from '@plumbline/db/batches/duplicated-rows'
import { lockBatch, moveBatch, updateBatch, type BatchRow } from '@plumbline/db/batches/rows'
import type { KnownVerdicts, SamplePlace } from '@plumbline/db/tables/batches'
import { failBatch } from './cancel.ts'
import { selectKnownRows, countClaimedRows } from './select-known-rows.ts'
import { buildChunk } from './chunk-builder.ts'
import { EntryFault } from '@plumbline/intake/container'
import { IntakeError } from '@plumbline/intake/intake-error'
import type { UploadLimits } from '@plumbline/intake/limits'
import { charsOf, type FileRow } from '@plumbline/intake/row-builder'
import { MappingFault, openBatchFile, type BatchFile } from '@plumbline/intake/open-batch-file'
import { previewHead } from '@plumbline/intake/preview-columns'
import { createRowTally } from '@plumbline/intake/row-tally'
import { readRows, type FileSummary } from '@plumbline/intake/read-rows'
import type { Pipeline } from './pipeline.ts'
import { writeRecheck, type CopiedRows } from './recheck.ts'
import { copyOutcomes } from './rescore.ts'
import type { LeasedStage } from './stage-lease.ts'
import { countUnpaidRows } from './unpaid-rows.ts'
import { shownSheets } from './view.ts'

/** Chunks stored by one statement at most, and bytes after which it is executed early. */
const CHUNKS_AN_INSERT = 8
const BYTES_AN_INSERT = 2_097_152

/**
 * Characters after which a chunk is closed, however few its rows: a worker holds dozens of chunks.
 */
const CHUNK_CHARS = 1_048_576

/**
 * Reads the whole file into chunks under the stage's lease.
 *
 * @returns `failed` if the batch ended as failed, `lost` if another worker has the stage
 */
export async function readBatchFile(
  pipeline: Pipeline,
  stage: LeasedStage,
  batch: BatchRow,
): Promise<'read' | 'failed' | 'lost'> {
  const { rescore } = batch.requested
  if (rescore !== undefined) return await copyOutcomes(pipeline, stage, batch, rescore)
  await eraseLeftovers(pipeline.db, stage)
  try {
    return await readSource(pipeline, stage, batch)
  } catch (error) {
    if (!(error instanceof IntakeError)) throw error
    await endUnread(pipeline, stage, batch, error)
    return 'failed'
  }
}

/** @throws IntakeError if the rows cannot be read as requested */
async function readSource(
  pipeline: Pipeline,
  stage: LeasedStage,
  batch: BatchRow,
): Promise<'read' | 'lost'> {
  const { recheck } = batch.requested
  const own = await readLimits(pipeline.db, batch.account_id)
  const source: Source =
    recheck === undefined
      ? await pipeline.storage.local(batch.source_key)
      : await writeRecheck(pipeline, batch, recheck, stage.signal)
  try {
    const options = {
      path: source.path,
      ownColumns: source.ownColumns,
      scratchDir: pipeline.scratchDir,
      fileName: batch.file_name,
      product: batch.product,
      defaultCountry: batch.default_country ?? undefined,
      receivedAt: batch.created_at,
      limits: limitsOf(batch, {
        ...pipeline.limits,
        rows: own.upload_rows ?? pipeline.limits.rows,
      }),
      ...batch.requested,
    }
    const file = await openBatchFile(options, stage.signal)
    await storePreviewHead(pipeline.db, stage, previewHead(file, file.mapping))
    return await storeChunks(pipeline, stage, batch, file)
  } finally {
    await source.release()
  }
}

/** A file of rows; `ownColumns` if it was copied from another batch. */
type Source = Awaited<ReturnType<Pipeline['storage']['local']>> & Partial<CopiedRows>

/**
 * Limits of a batch's file. What the first batch has read must not be too long for a recheck: its
 * rows are copied as UTF-8, three bytes a character at most, and as CSV, where quotes are doubled
 * and each cell has two of its own.
 */
function limitsOf<L extends UploadLimits>({ requested }: BatchRow, limits: L): L {
  if (requested.recheck === undefined) return limits
  const uploadBytes = 4 * limits.uploadBytes
  if (requested.format !== 'csv') return { ...limits, uploadBytes }
  return { ...limits, uploadBytes, lineBytes: 2 * limits.lineBytes + 2 * limits.columns }
}

/**
 * Ends a batch whose file cannot be read as requested: as failed, or, if it waits for its owner, at
 * `ready` with an error that names the change to make.
 */
async function endUnread(
  pipeline: Pipeline,
  stage: LeasedStage,
  batch: BatchRow,
  error: IntakeError,
): Promise<void> {
  const shown: BatchFault = {
    error: PROBLEMS[error.code].error,
    message: error.message,
    ...(error instanceof MappingFault ? { field: error.field } : {}),
    ...(error instanceof EntryFault ? { field: 'entry', entries: [...error.entries] } : {}),
  }
  // A file that was readable once is readable again when the change is undone.
  const canMend =
    error instanceof MappingFault || error instanceof EntryFault || batch.ats.ready !== undefined
  if (batch.status !== 'analyzing' || batch.auto_start || !canMend) {
    await failBatch(pipeline, stage, shown)
    return
  }
  if (error instanceof MappingFault) {
    await storePreviewHead(pipeline.db, stage, previewHead(error.sketch, {}))
  }
  await pipeline.db.kysely.transaction().execute(async (tx) => {
    await moveBatch(tx, batch.id, 'ready', { error: JSON.stringify(shown) }, stage.lease)
  })
}

async function storeChunks(
  pipeline: Pipeline,
  stage: LeasedStage,
  batch: BatchRow,
  file: BatchFile,
): Promise<'read' | 'lost'> {
  const claimed = countClaimedRows()
  let estimate = 0
  let no = 0
  let open: FileRow[] = []
  let openChars = 0
  let chunks: NewChunk[] = []
  let chunkBytes = 0
  // One insert is in flight while the next chunks are read.
  let inserting: Promise<boolean> = Promise.resolve(true)
  const closeChunk = async (): Promise<boolean> => {
    const chunk = buildChunk(no++, open)
    claimed.endChunk()
    chunks.push(chunk)
    chunkBytes += chunk.cells.length + chunk.subjects.length
    open = []
    openChars = 0
    const enough = chunks.length >= CHUNKS_AN_INSERT || chunkBytes >= BYTES_AN_INSERT
    return !enough || (await flush())
  }
  const flush = async (): Promise<boolean> => {
    if (!(await inserting)) return false
    const full = chunks
    chunks = []
    chunkBytes = 0
    if (full.length === 0) return true
    inserting = insertChunks(pipeline.db, stage, full)
    // Awaited before the next insert; a failure until then must not end the process.
    inserting.catch(() => {})
    return true
  }
  const rows = readRows(file, stage.signal)
  const unpaid = countUnpaidRows(pipeline, stage, batch.mode)
  const tally = createRowTally()
  for await (const block of rows) {
    for (const row of block) {
      unpaid.add(row.kind)
      tally.add(row)
      claimed.add(row)
      if (row.kind === 'billable')
        estimate += priceCredits(batch.product, checksGiven(row.subjects))
      open.push(row)
      openChars += charsOf(row)
      const full = open.length >= pipeline.limits.chunkRecords || openChars >= CHUNK_CHARS
      if (full && !(await closeChunk())) return 'lost'
    }
    if (!(await unpaid.store())) return 'lost'
  }
  if (!(await unpaid.store(1))) return 'lost'
  if (open.length > 0) await closeChunk()
  if (!(await flush()) || !(await inserting)) return 'lost'
  const found = {
    ...rows.summary(),
    estimate,
    preview: tally.counts(),
    claims: claimed.counts,
  }
  return await storeSummary(pipeline, stage, batch, file, found)
}

async function storeSummary(
  pipeline: Pipeline,
  stage: LeasedStage,
  batch: BatchRow,
  file: BatchFile,
  found: FileSummary & {
    estimate: number
    preview: PreviewCounts
    /** Known rows of each chunk, whose verdicts come from another service. */
    claims: readonly number[]
  },
): Promise<'read' | 'lost'> {
  const { counts, header } = found
  return await pipeline.db.kysely.transaction().execute(async (tx) => {
    const row = await lockBatch(tx, batch.id)
    if (row === undefined || row.lease !== stage.lease) return 'lost'
    const stored = await countRows(tx, batch.id)
    if (stored !== counts.total) {
      throw new Error(`batch ${batch.id}: ${stored} rows are stored of ${counts.total} read`)
    }
    const asked = await selectKnownRows(tx, batch.id, found.claims)
    const estimate = found.estimate + asked.length * priceCredits(batch.product, ['email'])
    await updateBatch(tx, batch.id, {
      read_whole: true,
      file_format: file.format,
      encoding: file.encoding,
      encoding_confidence: file.found?.confidence ?? null,
      entry: file.entry,
      sheet: file.layout.kind === 'sheet' ? file.layout.sheet : null,
      sheets: file.layout.kind === 'sheet' ? JSON.stringify(shownSheets(file.layout.sheets)) : null,
      ...typesOf(batch, found),
      delimiter: found.delimiter,
      header: header === null ? null : JSON.stringify(header),
      column_count: found.columns,
      has_rest: found.hasRest,
      mapping: JSON.stringify(file.mapping),
      rows_total: counts.total,
      rows_blank: counts.blank,
      rows_refused: counts.refused,
      rows_duplicate: counts.duplicate,
      rows_known: counts.known - asked.length,
      rows_billable: counts.billable + asked.length,
      known: knownOf(batch, file, asked),
      credits_estimate: batch.mode === 'test' ? 0 : estimate,
    })
    await storePreviewCounts(tx, stage, found.preview)
    if (counts.duplicate > 0) await storeDuplicatedRows(tx, batch.id, found.duplicated)
    return 'read'
  })
}

/** The types of a workbook's columns; a recheck, whose rows are copied as texts, keeps its own. */
function typesOf(
  { requested }: BatchRow,
  { columnKinds }: FileSummary,
): { readonly column_types?: string | null } {
  if (requested.recheck !== undefined) return {}
  return { column_types: columnKinds === null ? null : JSON.stringify(columnKinds) }
}

/** The accepted verdicts of another service, in the form of the batch's row. */
function knownOf(
  { requested }: BatchRow,
  { claims }: BatchFile,
  asked: readonly SamplePlace[],
): string | null {
  if (claims === null || requested.known === undefined) return null
  const { vendor, verdict, at = null } = claims
  return JSON.stringify({
    vendor,
    verdict,
    at,
    days: requested.known,
    asked,
  } satisfies KnownVerdicts)
}
