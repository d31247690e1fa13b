import { checksOf } from '@plumbline/contract/products'
import { lookAlike } from './column-names.ts'
import { findRoles } from './columns.ts'
import type { BatchFileOptions, FoundLayout } from './file-layout.ts'
import { IntakeError } from './intake-error.ts'
import { findRecords } from './record-layout.ts'
import { TOO_LONG } from './limits.ts'
import { isLongLine } from './row-builder.ts'
import type { Sheet, Workbook } from './workbook.ts'

/** Rows of a sheet in which its header and columns are detected. */
const SAMPLE_ROWS = 300

/** Sheets that are examined to find one with contacts. */
const SHEETS_LOOKED_AT = 50

/**
 * Chooses the sheet to read and finds its layout: the requested sheet, else the first with a column
 * for the product, visible ones before hidden ones, else the first that is not empty.
 */
export async function findSheet(
  workbook: Workbook,
  format: 'xlsx' | 'ods',
  options: BatchFileOptions,
  signal: AbortSignal,
): Promise<FoundLayout> {
  const { sheets } = workbook
  if (options.sheet !== undefined) {
    const sheet = sheetNamed(sheets, options.sheet)
    const records = await sampleOf(workbook, sheet, options, signal)
    if (records.length === 0) throw emptySheet(sheet)
    return layoutOf(records, sheet, workbook, format, options)
  }
  const inTurn = [
    ...sheets.filter(({ isHidden }) => !isHidden),
    ...sheets.filter(({ isHidden }) => isHidden),
  ]
  let first: FoundLayout | undefined
  for (const sheet of inTurn.slice(0, SHEETS_LOOKED_AT)) {
    const records = await sampleOf(workbook, sheet, options, signal)
    if (records.length === 0) continue
    const found = layoutOf(records, sheet, workbook, format, options)
    if (hasContacts(found, options)) return found
    first ??= found
  }
  if (first === undefined) throw emptySheet(undefined)
  return first
}

function sheetNamed(sheets: readonly Sheet[], asked: string | number): Sheet {
  const text = String(asked)
  const found =
    sheets.find(({ name }) => name === text) ??
    sheets.find(({ name }) => lookAlike(name, text)) ??
    (/^\d{1,5}$/.test(text) ? sheets[Number(text) - 1] : undefined)
  if (found !== undefined) return found
  const names = sheets.slice(0, 20).map(({ name }) => JSON.stringify(name.slice(0, 60)))
  const rest = sheets.length > names.length ? ` and ${sheets.length - names.length} more` : ''
  throw new IntakeError(
    'unprocessable',
    `The workbook has no sheet ${JSON.stringify(text)}; its sheets are ${names.join(', ')}${rest}.`,
  )
}

async function sampleOf(
  workbook: Workbook,
  sheet: Sheet,
  { limits }: BatchFileOptions,
  signal: AbortSignal,
): Promise<(readonly string[])[]> {
  const records: (readonly string[])[] = []
  for await (const rows of workbook.rows(sheet, signal)) {
    for (const { cells } of rows) records.push(isLongLine(cells, limits) ? TOO_LONG : cells)
    if (records.length >= SAMPLE_ROWS) break
  }
  return records.slice(0, SAMPLE_ROWS)
}

function layoutOf(
  records: readonly (readonly string[])[],
  { name }: Sheet,
  { sheets }: Workbook,
  format: 'xlsx' | 'ods',
  { header, limits }: BatchFileOptions,
): FoundLayout {
  const canMerge = true
  const found = findRecords(records, { header, limits, passesTitles: true, canMerge, firstLine: 1 })
  const layout = { kind: 'sheet', sheet: name, sheets: sheets.map((sheet) => sheet.name) } as const
  return { format, layout, skipChars: 0, delimiter: null, ...found }
}

function hasContacts({ header, rows }: FoundLayout, { product }: BatchFileOptions): boolean {
  const [required = 'email'] = checksOf(product)
  return findRoles(header, rows)[required].length > 0
}

function emptySheet(sheet: Sheet | undefined): IntakeError {
  const which =
    sheet === undefined ? 'The workbook' : `The sheet ${JSON.stringify(sheet.name.slice(0, 60))}`
  return new IntakeError('unprocessable', `${which} is empty; it needs at least one record.`)
}
