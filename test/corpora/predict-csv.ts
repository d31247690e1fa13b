import { CHECKS } from '@plumbline/contract/products'
import { uploadLimits } from '@plumbline/intake/limits'
import { IntakeError } from '@plumbline/intake/intake-error'
import { jsonCells } from '@plumbline/intake/json-row'
import { openBatchFile, type BatchFile } from '@plumbline/intake/open-batch-file'
import { readRows } from '@plumbline/intake/read-rows'
import type { Prediction } from './prediction.ts'

/** Columns less sure than this are not named as holding anything. */
const MIN_CONFIDENCE = 0.32

/** What a file is read as, of any kind that the service takes. */
export async function predictCsv(path: string): Promise<Prediction> {
  try {
    const list = await openBatchFile({
      path,
      fileName: path,
      // Cases are files of cells whatever their names are, but for JSON and for what is packed.
      ...(/\.(?:ndjson|jsonl|json|zip)(?:\.gz)?$/i.test(path) ? {} : { format: 'csv' as const }),
      limits: uploadLimits(),
      product: 'email',
      // Every column can be read; which of them is the address is not asked.
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

/** The records without wholly empty lines, which no reader of CSV counts. */
async function recordsOf(list: BatchFile): Promise<(readonly string[])[]> {
  const records: (readonly string[])[] = []
  try {
    for await (const block of readRows(list, AbortSignal.timeout(60_000))) {
      for (const { cells, kind } of block) {
        if (kind !== 'blank' || cells.length > 1) records.push(shownCells(list, cells))
      }
    }
  } catch (error) {
    // A list of a header alone has no records, which a file may well have.
    if (!(error instanceof IntakeError) || list.header === null || records.length > 0) throw error
  }
  return records
}

/** Records of JSON have their cells by the keys that the header names. */
function shownCells({ layout, header }: BatchFile, cells: readonly string[]): readonly string[] {
  return layout.kind === 'json' ? jsonCells(cells[0] ?? '', header ?? []).cells : cells
}

function recordOf(cells: readonly string[], header: readonly string[] | null): unknown {
  if (header === null) return cells
  // Without a prototype every name is a key like others.
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
