import type { BatchRow } from '@plumbline/db/batches/rows'
import { csvCell } from '@plumbline/intake/csv-cell'
import type { CsvForm, LineFormat } from './line-format.ts'
import type { CellValue } from './result-columns.ts'
import { givenRow, tableColumns, type TableColumn } from './table-columns.ts'

const BYTE_ORDER_MARK = '\ufeff'

/** Rows as lines of CSV; the last column ends the line. */
export function csvLines(batch: BatchRow, form: CsvForm): LineFormat {
  const { raw, delimiter } = form
  const table = tableColumns(batch, form.columns)
  const hasBars = delimiter === '|'
  const cellOf = (value: CellValue): string => {
    if (value === null) return ''
    // What is no text is `true`, `false` or a number: it needs no quotes and runs nowhere.
    return typeof value === 'string' ? csvCell(value, raw, hasBars) : String(value)
  }
  const lineOf = (valueOf: (column: TableColumn) => CellValue): string => {
    let line = ''
    for (const [at, column] of table.entries()) {
      if (at > 0) line += delimiter
      line += cellOf(valueOf(column))
    }
    return `${line}\r\n`
  }
  const names = lineOf(({ name }) => name)
  return {
    header: `${form.bom ? BYTE_ORDER_MARK : ''}${form.sep ? `sep=${delimiter}\r\n` : ''}${names}`,
    line: (cells, place, row) => {
      const given = givenRow(batch, cells, place)
      return lineOf((column) => column.value(given, row))
    },
  }
}
