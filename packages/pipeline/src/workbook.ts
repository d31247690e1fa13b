import { Readable } from 'node:stream'
import type { SheetSize } from './line-format.ts'
import { columnLetters } from './sheet-cell.ts'
import { zipStream, type ZipEntry } from './zip-stream.ts'

/**
 * Maximum number of rows of a sheet below its header. Source: Microsoft, "Excel specifications and
 * limits".
 */
export const SHEET_MAX_ROWS = 1_048_575

/** Media type of a workbook. */
export const WORKBOOK_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

/**
 * A workbook with one sheet whose rows are streamed; the first row is frozen and has filters.
 *
 * @param rows XML of the rows, the header first; `size` holds their number once the stream has
 * ended
 * @param mostRows upper bound of the rows
 */
export function workbookStream(
  rows: AsyncIterable<string | Buffer>,
  size: SheetSize,
  mostRows: number,
): Readable {
  const fixed = (name: string, text: string): ZipEntry => ({ name, open: () => text })
  return zipStream([
    fixed('[Content_Types].xml', CONTENT_TYPES),
    fixed('_rels/.rels', RELATIONS),
    fixed('xl/_rels/workbook.xml.rels', WORKBOOK_RELATIONS),
    fixed('xl/styles.xml', STYLES),
    {
      name: 'xl/worksheets/sheet1.xml',
      mayBeHuge: mostRows > HUGE_ROWS,
      open: () => Readable.from(sheet(rows, size), { objectMode: false }),
    },
    // Last, as it contains the range of rows of the filter.
    { name: 'xl/workbook.xml', open: () => workbook(size) },
  ])
}

/** Rows from which on a sheet may take more than 4 GiB before it is compressed. */
const HUGE_ROWS = 200_000

async function* sheet(
  rows: AsyncIterable<string | Buffer>,
  size: SheetSize,
): AsyncGenerator<string | Buffer, void, undefined> {
  yield SHEET_HEAD
  yield* rows
  yield `</sheetData><autoFilter ref="${filtered(size)}"/></worksheet>`
}

function filtered({ rows, columns }: SheetSize): string {
  return `A1:${lastColumn(columns)}${rows}`
}

function lastColumn(columns: number): string {
  return columnLetters(Math.max(0, columns - 1))
}

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'
const SHEET_PART = 'application/vnd.openxmlformats-officedocument.spreadsheetml'

const CONTENT_TYPES =
  `${XML}<Types xmlns="${PACKAGE}/content-types">` +
  '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
  `<Override PartName="/xl/workbook.xml" ContentType="${SHEET_PART}.sheet.main+xml"/>` +
  `<Override PartName="/xl/worksheets/sheet1.xml" ContentType="${SHEET_PART}.worksheet+xml"/>` +
  `<Override PartName="/xl/styles.xml" ContentType="${SHEET_PART}.styles+xml"/></Types>`

const RELATIONS =
  `${XML}<Relationships xmlns="${PACKAGE}/relationships">` +
  `<Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`

const WORKBOOK_RELATIONS =
  `${XML}<Relationships xmlns="${PACKAGE}/relationships">` +
  `<Relationship Id="rId1" Type="${OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>` +
  `<Relationship Id="rId2" Type="${OFFICE}/styles" Target="styles.xml"/></Relationships>`

const SHEET_HEAD =
  `${XML}<worksheet xmlns="${MAIN}"><sheetViews><sheetView workbookViewId="0">` +
  '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>' +
  '<sheetFormatPr defaultColWidth="18" defaultRowHeight="15"/><sheetData>'

/** The styles that `STYLE` of `sheet-cell.ts` names, in its order. */
const STYLES =
  `${XML}<styleSheet xmlns="${MAIN}">` +
  '<numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>' +
  '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts>' +
  '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>' +
  '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>' +
  '<fills count="2"><fill><patternFill patternType="none"/></fill>' +
  '<fill><patternFill patternType="gray125"/></fill></fills>' +
  '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>' +
  '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>' +
  `<cellXfs count="7">${styleOf(0)}` +
  '<xf numFmtId="49" fontId="1" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1"/>' +
  '<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" quotePrefix="1"/>' +
  `${styleOf(1)}${styleOf(164)}${styleOf(165)}${styleOf(21)}</cellXfs>` +
  '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'

function styleOf(format: number): string {
  return `<xf numFmtId="${format}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>`
}

function workbook({ rows, columns }: SheetSize): string {
  return (
    `${XML}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}">` +
    '<sheets><sheet name="Results" sheetId="1" r:id="rId1"/></sheets>' +
    '<definedNames><definedName name="_xlnm._FilterDatabase" localSheetId="0" hidden="1">' +
    `Results!$A$1:$${lastColumn(columns)}$${rows}</definedName></definedNames></workbook>`
  )
}
