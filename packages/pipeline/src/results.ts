import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Problem } from '@plumbline/contract/problem'
import type { Encoding } from '@plumbline/contract/encodings'
import type { ResultFormat } from '@plumbline/contract/results-request'
import { noteFinding } from '@plumbline/db/batches/reconcile'
import type { BatchOwner, BatchRow } from '@plumbline/db/batches/rows'
import { isAbsent, type ByteRange } from '@plumbline/storage/storage'
import { adviceArchive } from './advice-archive.ts'
import { encoded } from './encode-csv.ts'
import { tableColumns } from './table-columns.ts'
import { WORKBOOK_TYPE, workbookStream } from './workbook.ts'
import { refuseTooLong } from './sheet-limit.ts'
import { hasResults, rowsOf } from './result-rows.ts'
import { readBatchOf } from './batch-access.ts'
import { resultFileName } from './result-file-name.ts'
import type { Pipeline } from './pipeline.ts'
import type { CsvForm, SheetSize } from './line-format.ts'

/** Options of a download of results; those left out are off. */
export interface ResultsRequest {
  readonly format: ResultFormat
  /** Verdicts, row statuses, advices or reasons to include; empty for every row. */
  readonly only: readonly string[]
  readonly raw: boolean
  /** 1-based number of the last row that the client has; 0 for all. */
  readonly after: number
  /**
   * Whether the client continues later with the last row that it has: the response then ends before
   * the first row without all its outcomes, which is otherwise shown as waiting.
   */
  readonly follows?: boolean
  /** Columns of a table, in order, in the form of `tableColumns`; null for all. */
  readonly columns?: readonly string[] | null
  /** Only the refused rows, with their numbers and errors. */
  readonly refused?: boolean
  readonly csv?: CsvFile
  /** Called with a finished file before it is opened, to choose the bytes to read; null for all. */
  readonly partOf?: (file: FinishedFile) => ByteRange | 'none' | null
}

/** Options of a CSV file. */
export interface CsvFile {
  readonly delimiter: string
  readonly bom: boolean
  readonly sep: boolean
  readonly encoding: Encoding
}

/** A finished file in the store. */
export interface FinishedFile {
  readonly bytes: number
  /** SHA-256 in hexadecimal. */
  readonly sha256: string
}

/** A result file that is sent to a client. */
export interface Results {
  /** Whether it has every row; false while the batch runs. */
  readonly complete: boolean
  readonly contentType: string
  readonly fileName: string
  /** Name for clients that read ASCII only. */
  readonly asciiFileName: string
  /**
   * Set for the finished file only; without it the stream has every row, whatever range was
   * requested.
   */
  readonly finished: FinishedFile | undefined
  readonly stream: Readable
}

const PLAIN_CSV: CsvFile = { delimiter: ',', bom: false, sep: false, encoding: 'utf-8' }

/**
 * Opens the results of a batch. While it runs, the rows of all settled chunks up to the first open
 * one are included, in order; the client continues with the number of the last row it has.
 *
 * @param turn awaited before each chunk is decoded, which blocks the process for a while
 * @throws Problem `not_found` (also once erased), `conflict` if there are none (not started,
 * failed), `bad_request` if the batch does not have what is requested, or a workbook would not hold
 * it
 */
export async function openResults(
  pipeline: Pipeline,
  owner: BatchOwner,
  id: string,
  request: ResultsRequest,
  turn: () => Promise<void> = nextTurn,
): Promise<Results> {
  const batch = await readBatchOf(pipeline.db, owner, id)
  const complete = request.refused === true ? hasRows(batch) : hasResults(batch)
  const finished = complete && isAsStored(request) ? finishedFile(batch) : undefined
  const facts = { complete, ...namesOf(batch, request, complete) }
  if (finished !== undefined) {
    const stream = await openPart(pipeline, finished, request)
    if (stream !== undefined) return { ...facts, finished, stream }
    await noteLoss(pipeline, id, finished.key)
  }
  let stream: Readable | undefined
  // A stream waits for its rows to be closed, and notices nothing while none of them is included.
  const turnWhileOpen = async (): Promise<void> => {
    if (stream?.destroyed === true) throw new Error('the download was closed')
    await turn()
  }
  stream = await streamOf(pipeline, batch, request, turnWhileOpen)
  return { ...facts, finished: undefined, stream }
}

function isAsStored(request: ResultsRequest): boolean {
  const { format, raw, only, after, columns = null, refused = false, csv = PLAIN_CSV } = request
  const plain = csv.delimiter === ',' && !csv.bom && !csv.sep && csv.encoding === 'utf-8'
  const whole = only.length === 0 && after === 0 && columns === null && !refused
  return format === 'csv' && !raw && whole && plain
}

function finishedFile(batch: BatchRow): (FinishedFile & { readonly key: string }) | undefined {
  const { result_key: key, result_bytes: bytes, result_sha256: sha256 } = batch
  return key === null || bytes === null || sha256 === null ? undefined : { key, bytes, sha256 }
}

/**
 * Undefined if the store has no such file, as after restoring an older database: the rows are still
 * in the database.
 */
async function openPart(
  { storage }: Pipeline,
  file: FinishedFile & { readonly key: string },
  { partOf }: ResultsRequest,
): Promise<Readable | undefined> {
  const part = partOf?.(file) ?? null
  if (part === 'none') return Readable.from([])
  try {
    return await storage.open(file.key, part ?? undefined)
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}

/** Reports a missing result file. Errors are ignored: the download sends the rows instead. */
async function noteLoss({ db, log }: Pipeline, batchId: string, key: string): Promise<void> {
  log.warn({ batchId, key }, 'a result file is missing')
  try {
    await noteFinding(db, 'result_without_file', batchId)
  } catch (error) {
    log.warn({ err: error, batchId }, 'a missing result file could not be recorded')
  }
}

function namesOf(
  batch: BatchRow,
  request: ResultsRequest,
  complete: boolean,
): Pick<Results, 'contentType' | 'fileName' | 'asciiFileName'> {
  const { format, csv = PLAIN_CSV } = request
  const types: Readonly<Record<ResultFormat, string>> = {
    csv: `text/csv; charset=${csv.encoding}`,
    ndjson: 'application/x-ndjson; charset=utf-8',
    xlsx: WORKBOOK_TYPE,
    zip: 'application/zip',
  }
  const content = contentOf(request, complete)
  return {
    contentType: types[format],
    fileName: resultFileName(batch, content, format),
    asciiFileName: `${batch.id}-${content}.${format}`,
  }
}

/** Kinds of rows that the name of a file lists at most. */
const KINDS_IN_NAME = 3

function contentOf({ refused = false, only }: ResultsRequest, complete: boolean): string {
  if (refused) return 'refused'
  if (only.length > KINDS_IN_NAME) return 'selected'
  if (only.length > 0) return only.join('-')
  return complete ? 'result' : 'partial'
}

async function streamOf(
  pipeline: Pipeline,
  batch: BatchRow,
  request: ResultsRequest,
  turn: () => Promise<void>,
): Promise<Readable> {
  const { format, raw, after, follows = false, refused = false, csv = PLAIN_CSV } = request
  const { delimiter, bom, sep } = csv
  const columns = refused ? REFUSED_COLUMNS : (request.columns ?? null)
  const only = refused ? ['refused'] : request.only
  const wanted = { after, follows, turn, refused, only: only.length === 0 ? null : new Set(only) }
  const table: CsvForm = { kind: 'csv', columns, raw, delimiter, bom, sep }
  // Here, so that an unknown column is refused before anything is sent.
  tableColumns(batch, columns)
  switch (format) {
    case 'csv':
      return readable(encoded(rowsOf(pipeline, batch, { ...wanted, form: table }), csv.encoding))
    case 'ndjson':
      return readable(rowsOf(pipeline, batch, { ...wanted, form: { kind: 'ndjson' } }))
    case 'xlsx': {
      const size: SheetSize = { rows: 0, columns: 0 }
      await refuseTooLong(pipeline, batch, only)
      const rows = rowsOf(pipeline, batch, { ...wanted, form: { kind: 'sheet', columns, size } })
      return workbookStream(rows, size, batch.rows_total)
    }
    case 'zip':
      return await adviceArchive(pipeline, batch, (advice) => {
        const rows = rowsOf(pipeline, batch, { ...wanted, form: table, only: new Set([advice]) })
        return readable(encoded(rows, csv.encoding))
      })
  }
}

function readable(rows: AsyncIterable<Buffer>): Readable {
  return Readable.from(rows, { objectMode: false })
}

/**
 * Columns of the file of refused rows, the customer's first, so that the rows can be corrected and
 * sent again.
 */
const REFUSED_COLUMNS = ['input', 'result.row', 'result.error']

/** Whether it is known which rows are refused; throws if it is not. */
function hasRows(batch: BatchRow): boolean {
  // Their rows are erased.
  if (batch.status === 'expired' || batch.status === 'failed') return hasResults(batch)
  if (batch.read_whole) return true
  throw new Problem('conflict', `The batch is ${batch.status}; its rows are not read yet.`)
}
