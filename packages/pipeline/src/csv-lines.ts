import type { BatchRow } from '@plumbline/db/batches/rows'
import { csvCell } from '@plumbline/intake/csv-cell'
import type { CsvForm, LineFormat } from './line-format.ts'
import type { CellValue } from './result-columns.ts'
import { givenRow, tableColumns } from './table-columns.ts'

const BYTE_ORDER_MARK = '\ufeff'

/** Formats rows as lines of CSV. */
export function csvLines(batch: BatchRow, form: CsvForm): LineFormat {
  const { raw, delimiter } = form
  const table = tableColumns(batch, form.columns)
  const hasBars = delimiter === '|'
  // An empty line would be no row for most readers, and the next ones would be counted wrongly.
  const empty = table.length === 1 ? '""' : ''
  const cellOf = (value: CellValue): string => {
    if (value === null || value === '') return empty
    // A value that is not a text is `true`, `false` or a number: it needs no quotes and is never a
    // formula.
    return typeof value === 'string' ? csvCell(value, raw, hasBars) : String(value)
  }
  const names = `${table.map(({ name }) => cellOf(name)).join(delimiter)}\r\n`
  // Values and cells of the previous row: many columns have the same value in most rows, and then
  // the cell is reused.
  const values: CellValue[] = table.map(() => null)
  const texts: string[] = table.map(() => empty)
  return {
    header: `${form.bom ? BYTE_ORDER_MARK : ''}${form.sep ? `sep=${delimiter}\r\n` : ''}${names}`,
    line: (cells, place, row) => {
      const given = givenRow(batch, cells, place)
      // By index: an iterator of entries takes a third more time, and this runs for every cell.
      for (let at = 0; at < table.length; at++) {
        const value = table[at]?.value(given, row) ?? null
        if (value === values[at]) continue
        values[at] = value
        texts[at] = cellOf(value)
      }
      return `${texts.join(delimiter)}\r\n`
    },
  }
}
