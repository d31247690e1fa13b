import { Problem } from '@plumbline/contract/problem'
import { checksOf } from '@plumbline/contract/products'
import type { BatchRow } from '@plumbline/db/batches/rows'
import type { ChunkCells } from './codec.ts'
import { lookAlike } from '@plumbline/intake/column-names'
import { jsonCells } from '@plumbline/intake/json-row'
import { resultColumns, ROW_COLUMN, type CellValue, type ResultColumn } from './result-columns.ts'
import type { CellKind } from './sheet-cell.ts'
import type { ShownRow } from './shown-row.ts'

/** The unchanged cells of a row: those by column, and those without a column. */
export interface GivenRow {
  readonly cells: readonly string[]
  readonly rest: string
}

/** A column of a table of results: the customer's or an added one. */
export interface TableColumn {
  readonly name: string
  /** Type of its cells in a worksheet. */
  readonly kind: CellKind
  value(given: GivenRow, row: ShownRow): CellValue
}

/** Names in `columns=` that stand for all columns of the customer or all added ones. */
const ALL_OWN = 'input'
const ALL_OURS = 'result'

/**
 * The columns of a batch's results as a table: those of the customer, then the added ones; or the
 * chosen ones, in the order of the choice.
 *
 * @param chosen names of added columns or of the customer's, 0-based numbers of the customer's,
 * `input` for all of these, `result` for all of ours; null for every column
 * @throws Problem `bad_request` that names what is no column, or what is named twice
 */
export function tableColumns(
  batch: BatchRow,
  chosen: readonly string[] | null = null,
): readonly TableColumn[] {
  const own = ownColumns(batch)
  const ours = ourColumns(batch)
  if (chosen === null) return [...own, ...ours]
  const rowNumber = ourColumn(ROW_COLUMN)
  const found = (name: string): readonly TableColumn[] => {
    if (name === ALL_OWN) return own
    if (name === ALL_OURS) return ours
    const column =
      ours.find((each) => each.name === name) ??
      (name === ROW_COLUMN.name ? rowNumber : undefined) ??
      own.find((each) => each.name === name) ??
      (/^\d{1,4}$/.test(name) ? own[Number(name)] : undefined) ??
      own.find((each) => lookAlike(each.name, name))
    if (column !== undefined) return [column]
    throw new Problem('bad_request', noSuchColumn(name, ours))
  }
  const table = new Set<TableColumn>()
  for (const column of chosen.flatMap(found)) {
    // Its cell may be as long as a line, so that repetitions would make a row of megabytes.
    if (table.has(column)) {
      throw new Problem('bad_request', `\`columns\` names ${shownName(column.name)} twice.`)
    }
    table.add(column)
  }
  return [...table]
}

function noSuchColumn(name: string, ours: readonly TableColumn[]): string {
  const first = ours.find((column) => column.name === 'result.advice') ?? ours[0]
  return `\`columns\` has ${shownName(name)}, which is no column of this batch; name its own columns by header or 0-based number, ours as ${first?.name ?? 'result.error'}, or all of a side as input or result.`
}

function shownName(name: string): string {
  return JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}...` : name)
}

/** The unchanged cells of a row, by the columns of its batch. */
export function givenRow(batch: BatchRow, cells: ChunkCells, place: number): GivenRow {
  const given = cells.rows[place] ?? []
  if (isJsonBatch(batch)) return jsonCells(given[0] ?? '', batch.header ?? [])
  return { cells: given, rest: given[batch.column_count] ?? '' }
}

/** Whether the rows of a batch are JSON objects. */
export function isJsonBatch(batch: Pick<BatchRow, 'file_format'>): boolean {
  return batch.file_format === 'records' || batch.file_format === 'ndjson'
}

function ownColumns(batch: BatchRow): readonly TableColumn[] {
  const own = Array.from({ length: batch.column_count }, (_, at): TableColumn => {
    const name = batch.header === null ? `column_${at + 1}` : (batch.header[at] ?? '')
    const kind = batch.column_types?.[at] ?? 'mixed'
    return { name, kind, value: ({ cells }) => cells[at] ?? '' }
  })
  return batch.has_rest ? [...own, REST] : own
}

const REST: TableColumn = { name: 'input.rest', kind: 'mixed', value: ({ rest }) => rest }

function ourColumns(batch: BatchRow): readonly TableColumn[] {
  const { product, mapping } = batch
  const mapped = checksOf(product).filter((check) => mapping[check] !== undefined)
  return resultColumns(product, mapped).map(ourColumn)
}

function ourColumn({ name, value }: ResultColumn): TableColumn {
  return { name, kind: 'ours', value: (_, row) => value(row) }
}
