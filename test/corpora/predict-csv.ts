import { tmpdir } from 'node:os'
import { CHECKS } from '@plumbline/contract/products'
import { uploadLimits } from '@plumbline/intake/limits'
import { IntakeError } from '@plumbline/intake/intake-error'
import { jsonCells } from '@plumbline/intake/json-row'
import { openBatchFile, type BatchFile } from '@plumbline/intake/open-batch-file'
import { readRows } from '@plumbline/intake/read-rows'
import type { Prediction } from './prediction.ts'

/** Minimum confidence for a column to be predicted as one of emails, phone numbers, IPs or domains. */
const MIN_CONFIDENCE = 0.32

/** Predicts columns, records and roles of columns of a file, in any format that the service accepts. */
export async function predictCsv(path: string): Promise<Prediction> {
  try {
    const list = await openBatchFile({
      path,
      scratchDir: tmpdir(),
      fileName: path,
      // Cases are CSV files whatever their extension, except for JSON and archives.
      ...(/\.(?:ndjson|jsonl|json|zip)(?:\.gz)?$/i.test(path) ? {} : { format: 'csv' as const }),
      limits: uploadLimits(),
      product: 'email',
      // Any column may be the address: all are read.
      mapping: { email: 0 },
    })
    const records = await recordsOf(list)
    return {
      columns: list.header ?? [],
      rows: records.length,
      records: records.map((cells) => recordOf(cells, list.header)),
      delimiter: list.delimiter ?? ',',
      header_row: list.header !== null,
      roles: rolesOf(list),
    }
  } catch (error) {
    return {
      columns: [],
      rows: 0,
      records: [],
      delimiter: null,
      header_row: false,
      roles: Object.fromEntries(CHECKS.map((check) => [check, []])),
      error: error instanceof Error ? error.message : 'unreadable',
    }
  }
}

/** The records, without empty lines. */
async function recordsOf(list: BatchFile): Promise<(readonly string[])[]> {
  const records: (readonly string[])[] = []
  try {
    for await (const block of readRows(list, AbortSignal.timeout(60_000))) {
      for (const { cells, kind } of block) {
        if (kind !== 'blank' || cells.length > 1) records.push(shownCells(list, cells))
      }
    }
  } catch (error) {
    // The service refuses a file with a header alone; here it has no records.
    if (!(error instanceof IntakeError) || list.header === null || records.length > 0) throw error
  }
  return records
}

/** The cells of a row; those of a JSON record by the keys that are the header. */
function shownCells({ layout, header }: BatchFile, cells: readonly string[]): readonly string[] {
  return layout.kind === 'json' ? jsonCells(cells[0] ?? '', header ?? []).cells : cells
}

function recordOf(cells: readonly string[], header: readonly string[] | null): unknown {
  if (header === null) return cells
  // Without a prototype, so that `__proto__` is an ordinary key.
  const record: Record<string, string> = Object.create(null) as Record<string, string>
  for (const [column, name] of header.entries()) record[name] = cells[column] ?? ''
  return record
}

function rolesOf({ roles }: BatchFile): Prediction {
  return Object.fromEntries(
    CHECKS.map((check) => [
      check,
      roles[check]
        .filter(({ confidence }) => confidence >= MIN_CONFIDENCE)
        .map(({ header, column }) => header ?? column),
    ]),
  )
}
