import { randomUUID } from 'node:crypto'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline as streamTo } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RecheckBody } from '@plumbline/contract/batch-origin'
import type { BatchView } from '@plumbline/contract/batch-view'
import { Problem } from '@plumbline/contract/problem'
import { readBatch, type BatchOwner, type BatchRow } from '@plumbline/db/batches/rows'
import type { BatchRequest, RecheckRequest } from '@plumbline/db/tables/batches'
import { readBatchOf, type InTransaction } from './batch-access.ts'
import { csvCell } from '@plumbline/intake/csv-cell'
import type { OwnColumns } from '@plumbline/intake/file-layout'
import { IntakeError } from '@plumbline/intake/intake-error'
import { jsonCells } from '@plumbline/intake/json-row'
import { writeNewFile } from '@plumbline/storage/new-file'
import type { LineFormat, RowFormat } from './line-format.ts'
import type { Pipeline } from './pipeline.ts'
import { hasResults, rowsOf } from './result-rows.ts'
import { submitDerived } from './submit.ts'
import { isJsonBatch } from './table-columns.ts'

const DAY_MS = 86_400_000

/**
 * Creates a batch of the rows of another batch that are to be checked again. Its rows are copied at
 * intake, so that this call is fast however large the other batch is; it is charged like any batch.
 *
 * @throws Problem `not_found`, `conflict` if the other has not ended, and what `submitBatch` throws
 */
export async function recheckBatch(
  pipeline: Pipeline,
  owner: BatchOwner,
  id: string,
  wanted: RecheckBody & { readonly chargeUnknown: boolean },
  inTransaction?: InTransaction,
): Promise<BatchView> {
  const batch = await readBatchOf(pipeline.db, owner, id)
  if (!hasResults(batch)) {
    throw new Problem(
      'conflict',
      `The batch is ${batch.status}; its rows are checked again when it ends.`,
    )
  }
  const recheck: RecheckRequest = {
    of: id,
    only: wanted.only ?? [],
    olderThanDays: wanted.older_than_days ?? null,
  }
  const { fileName, ...reading } = readingOf(batch)
  const derived = {
    fileName,
    requested: { ...reading, recheck },
    name: wanted.name ?? batch.name,
    autoStart: wanted.start ?? true,
    maxCredits: wanted.max_credits ?? null,
    chargeUnknown: wanted.chargeUnknown,
  }
  return await submitDerived(pipeline, batch, derived, inTransaction)
}

/**
 * Options with which the rows of a batch are read again: those found at the first reading, so that
 * nothing is guessed.
 */
function readingOf(batch: BatchRow): Pick<
  BatchRequest,
  'format' | 'header' | 'mapping' | 'delimiter' | 'encoding'
> & {
  readonly fileName: string | null
} {
  if (batch.file_format === 'records') return { format: 'records', fileName: null }
  const fields = Object.entries(batch.mapping)
  if (batch.file_format === 'ndjson') {
    const keys = fields.flatMap(([field, { header }]) => (header === null ? [] : [[field, header]]))
    return {
      format: 'ndjson',
      fileName: `${batch.id}.ndjson`,
      mapping: Object.fromEntries(keys) as Record<string, string>,
    }
  }
  return {
    format: 'csv',
    fileName: `${batch.id}.csv`,
    header: batch.header !== null,
    mapping: Object.fromEntries(fields.map(([field, { column }]) => [field, column])),
    delimiter: ',',
    encoding: 'utf-8',
  }
}

/** A file of copied rows, with the columns of the batch that they come from. */
export interface CopiedRows {
  readonly path: string
  readonly ownColumns: OwnColumns
  release(): Promise<void>
}

/**
 * Writes the rows of a recheck, unchanged, into a file of its own.
 *
 * @throws IntakeError if the original batch is erased, or has no such row
 */
export async function writeRecheck(
  pipeline: Pipeline,
  batch: BatchRow,
  recheck: RecheckRequest,
  signal: AbortSignal,
): Promise<CopiedRows> {
  const other = await readBatch(pipeline.db, recheck.of)
  const isOwn = other?.account_id === batch.account_id && other.mode === batch.mode
  const hasRows = other?.status === 'completed' || other?.status === 'canceled'
  if (other === undefined || !isOwn || !hasRows) {
    throw new IntakeError(
      'unprocessable',
      'The batch whose rows were to be checked again is erased; upload them as a file.',
    )
  }
  const lines = linesAsTheyCame(other)
  const form = { kind: 'given', lines } as const
  // While no row matches, the rows are read without a write that would end with the signal.
  const turn = async (): Promise<void> => {
    signal.throwIfAborted()
    await nextTurn()
  }
  const rows = rowsOf(pipeline, other, { form, turn, ...selectionOf(batch, recheck) })
  const path = join(pipeline.scratchDir, `recheck-${randomUUID()}`)
  const release = async (): Promise<void> => await rm(path, { force: true })
  await writeNewFile(path, (file) => streamTo(Readable.from(rows), file, { signal }))
  if ((await stat(path)).size <= Buffer.byteLength(lines.header)) {
    await release()
    throw new IntakeError(
      'unprocessable',
      'No row of that batch matches, so nothing is checked again; name other kinds of rows.',
    )
  }
  const keys = isJsonBatch(other) ? (other.header ?? []) : []
  return { path, ownColumns: { count: other.column_count, keys }, release }
}

/** The rows of the original batch that a recheck has. */
export function selectionOf(
  { created_at: made }: Pick<BatchRow, 'created_at'>,
  { only, olderThanDays }: RecheckRequest,
): Required<Pick<RowFormat, 'only' | 'before'>> {
  const before = olderThanDays === null ? null : new Date(made.getTime() - olderThanDays * DAY_MS)
  return { only: new Set(only), before }
}

function linesAsTheyCame(batch: BatchRow): LineFormat {
  if (isJsonBatch(batch)) {
    return { header: '', line: ({ rows }, place) => `${jsonLine(rows[place]?.[0] ?? '')}\n` }
  }
  const lineOf = (cells: readonly string[]): string =>
    `${cells.map((cell) => csvCell(cell, true)).join(',')}\r\n`
  return {
    header: batch.header === null ? '' : lineOf(batch.header),
    line: ({ rows }, place) => lineOf(rows[place] ?? []),
  }
}

/** A line of JSON as it came: one that is no object is stored as a JSON text. */
function jsonLine(stored: string): string {
  return stored.startsWith('"') ? jsonCells(stored, []).rest : stored
}
