import type { BatchRow } from '@plumbline/db/batches/rows'
import type { LineFormat, SheetForm } from './line-format.ts'
import { columnLetters, headerCell, sheetCell } from './sheet-cell.ts'
import { givenRow, tableColumns } from './table-columns.ts'

/** Rows as XML rows of a worksheet, counted in the form's `size`. */
export function sheetLines(batch: BatchRow, { columns, size }: SheetForm): LineFormat {
  const table = tableColumns(batch, columns)
  const letters = table.map((_, at) => columnLetters(at))
  size.columns = table.length
  size.rows = 1
  const names = table.map(({ name }, at) => headerCell(`${letters[at]}1`, name))
  return {
    header: `<row r="1">${names.join('')}</row>`,
    line: (cells, place, row) => {
      const given = givenRow(batch, cells, place)
      size.rows++
      let line = `<row r="${size.rows}">`
      for (const [at, column] of table.entries()) {
        line += sheetCell(`${letters[at]}${size.rows}`, column.value(given, row), column.kind)
      }
      return `${line}</row>`
    },
  }
}
