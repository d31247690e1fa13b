import type { ColumnKind } from '@plumbline/db/tables/batches'
import { createClaimReader, type ClaimReader } from './claims.ts'
import { openContainer } from './container.ts'
import { IntakeError } from './intake-error.ts'
import type { UploadLimits } from './limits.ts'
import {
  charsOf,
  createRowBuilder,
  type FileRow,
  type RowCounts,
  type RowRules,
} from './row-builder.ts'
import type { BatchFile } from './open-batch-file.ts'
import { createRowSource } from './row-source.ts'

/** A run of rows, in the order of the file. */
export type RowBlock = readonly FileRow[]

/** Facts of a file that are complete once all rows were read. */
export interface FileSummary {
  readonly counts: RowCounts
  /** The file's header, or for JSON every key of any record, up to the limit of columns. */
  readonly header: readonly string[] | null
  /** The delimiter of its cells; null for one column and for JSON. */
  readonly delimiter: string | null
  /** Columns of the file: those of its header, or of its widest row. */
  readonly columns: number
  /** Types of the cells of each column of a workbook; null for text files. */
  readonly columnKinds: readonly ColumnKind[] | null
  /**
   * Whether some content has no column: cells or keys beyond the limit, lines that are no object.
   */
  readonly hasRest: boolean
  /** One bit a row, lowest bit first: set if the row has later duplicates. */
  readonly duplicated: Buffer
}

/** The rows of a file, to be read once. */
export interface RowStream extends AsyncIterable<RowBlock> {
  /** @throws before the last block was read */
  summary(): FileSummary
}

/** Rows in a block at most, and characters after which it is full: rows may have 64 KiB each. */
const BLOCK_ROWS = 500
const BLOCK_CHARS = 1_048_576

/**
 * Reads the rows of a file as a stream, with memory bounded by the file's limits and 21 to 28 bytes
 * for each distinct record.
 *
 * @throws IntakeError while reading, for broken quotes (with the line), too many rows, a
 * decompression bomb, and a file without records. If the signal aborts, its reason
 */
export function readRows(file: BatchFile, signal: AbortSignal): RowStream {
  let summary: FileSummary | undefined
  const blocks = async function* (): AsyncGenerator<RowBlock> {
    const rows = createRowBuilder(rulesOf(file))
    await using container = await openContainer(file.options, signal)
    const records = createRowSource(file, rows)
    let block: FileRow[] = []
    let blockChars = 0
    // A workbook is larger than the bytes it is made of: cells share texts, and rows repeat.
    let fileChars = 0
    const { limits } = file.options
    for await (const read of records.rows(container, signal)) {
      signal.throwIfAborted()
      if (rows.counts.total > limits.rows) {
        throw new IntakeError(
          'payload_too_large',
          `The file has more than ${limits.rows} rows; split it.`,
        )
      }
      for (const row of read) {
        block.push(row)
        const chars = charsOf(row)
        blockChars += chars
        fileChars += chars + row.cells.length
        if (block.length === BLOCK_ROWS || blockChars >= BLOCK_CHARS) {
          yield block
          block = []
          blockChars = 0
        }
      }
      if (fileChars > limits.uploadBytes) throw tooMuchText(limits)
    }
    const { counts } = rows
    const columns = Math.max(
      file.options.ownColumns?.count ?? 0,
      records.header?.length ?? 0,
      file.layout.kind === 'json' ? 0 : counts.columns,
    )
    if (counts.total === counts.blank) throw noRecords(file.skipRecords > 0)
    summary = {
      counts,
      header: records.header,
      delimiter: delimiterOf(file, columns),
      columns,
      hasRest: records.hasRest || counts.hasRest,
      columnKinds: records.kinds(columns),
      duplicated: rows.duplicated(),
    }
    if (block.length > 0) yield block
  }
  return {
    [Symbol.asyncIterator]: blocks,
    summary: () => {
      if (summary === undefined) throw new Error('the rows were not read to their end')
      return summary
    },
  }
}

/**
 * If no delimiter fits the sample, the file is read with commas, and later rows may contain them.
 */
function delimiterOf({ delimiter, layout }: BatchFile, columns: number): string | null {
  if (delimiter !== null || layout.kind !== 'csv' || columns < 2) return delimiter
  return layout.dialect.delimiter
}

function rulesOf(file: BatchFile): RowRules {
  const { mapping, options } = file
  const columns = Object.fromEntries(
    Object.entries(mapping).map(([field, { column }]) => [field, column]),
  )
  return {
    product: options.product,
    columns,
    defaultCountry: options.defaultCountry ?? undefined,
    limits: options.limits,
    claimOf: claimReaderOf(file),
  }
}

function claimReaderOf({ claims, options, rows }: BatchFile): ClaimReader | undefined {
  if (claims === null || options.known === undefined) return undefined
  const { at } = claims
  return createClaimReader(claims, {
    days: options.known,
    at: options.knownAt,
    asOf: options.receivedAt ?? new Date(),
    dates: at === undefined ? [] : rows.map((row) => row[at.column] ?? ''),
  })
}

function tooMuchText({ uploadBytes }: UploadLimits): IntakeError {
  return new IntakeError(
    'payload_too_large',
    `The rows hold more than ${uploadBytes} characters; split the file.`,
  )
}

function noRecords(header: boolean): IntakeError {
  return new IntakeError(
    'unprocessable',
    header ? 'The file has a header line and no records.' : 'The file has no records.',
  )
}
