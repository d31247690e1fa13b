import { IntakeError } from './intake-error.ts'
import type { UploadLimits } from './limits.ts'
import { plainNumber } from './number-format.ts'
import {
  EMPTY_ROW,
  KIND_BITS,
  LONG_ROW,
  MAX_FAR_CELLS,
  MAX_REPEATED_CELLS,
  MAX_RUN_ROWS,
  MAX_SHEETS,
  NEAR_COLUMNS,
  refuseNoSheet,
  rowBlocks,
  SHEET_LIMITS,
  sheetName,
  sparse,
  tooMany,
  type RowRun,
  type Sheet,
  type Workbook,
} from './workbook.ts'
import { createXmlReader, refuseLongCell } from './xml-reader.ts'
import type { XmlAttributes } from './xml-attributes.ts'
import { damaged, type ZipArchive } from './zip-archive.ts'

/**
 * Opens an .ods workbook, whose sheets are all in one part. Source: OASIS OpenDocument 1.3, part 3,
 * section 9.
 *
 * @throws IntakeError if it is damaged or has no sheet
 */
export async function openOds(
  zip: ZipArchive,
  { lineBytes }: Pick<UploadLimits, 'lineBytes'>,
  signal: AbortSignal,
): Promise<Workbook> {
  const entry = zip.find('content.xml')
  if (entry === undefined) throw damaged()
  const list = createSheetList()
  for await (const chunk of zip.read(entry, signal)) list.push(chunk)
  const sheets = list.end()
  refuseNoSheet(sheets)
  return {
    sheets,
    rows: async function* (sheet, ending) {
      const parser = createSheetParser(Number(sheet.part), lineBytes)
      for await (const chunk of zip.read(entry, ending)) {
        // The rest is unpacked nevertheless: the checksum is verified at its end.
        if (parser.isOver()) continue
        parser.push(chunk)
        yield* rowBlocks(parser.take())
      }
    },
    [Symbol.asyncDispose]: () => zip[Symbol.asyncDispose](),
  }
}

/** Lists the sheets; the styles that hide some come before them. */
function createSheetList(): { push(chunk: Buffer): void; end(): readonly Sheet[] } {
  const sheets: Sheet[] = []
  const hiding = new Set<string>()
  let style = ''
  const reader = createXmlReader({
    open: (element, attributes) => {
      if (element === 'style') style = sheetName(attributes.get('style:name') ?? '')
      else if (element === 'table-properties') {
        if (attributes.get('table:display') === 'false' && hiding.size < MAX_SHEETS)
          hiding.add(style)
      } else if (element === 'table') {
        if (sheets.length === MAX_SHEETS) throw tooMany('sheets', MAX_SHEETS)
        const name = sheetName(attributes.get('table:name') ?? '')
        const isHidden = hiding.has(sheetName(attributes.get('table:style-name') ?? ''))
        sheets.push({ name, isHidden, part: String(sheets.length) })
      }
    },
    close: () => {},
  })
  return {
    push: reader.push,
    end: () => {
      reader.end()
      return sheets
    },
  }
}

interface SheetParser {
  push(chunk: Buffer): void
  take(): readonly RowRun[]
  isOver(): boolean
}

interface OpenCell {
  readonly attributes: Readonly<Record<string, string>>
  readonly paragraphs: string[]
  /** Characters of the paragraphs and of the line breaks between them. */
  chars: number
}

/** State of the parser. */
interface Scan {
  readonly wanted: number
  /** Bytes of a row at most; the cells of a longer one are skipped. */
  readonly lineBytes: number
  sheet: number
  isOver: boolean
  done: RowRun[]
  /** Empty rows since the last one with content. */
  emptyRows: number
  /** Repeat count of the open row. */
  repeat: number
  /** Repeated cells in all rows. */
  repeated: number
  /** Cells of rows that extend beyond the near columns. */
  farCells: number
  cells: string[]
  kinds: number[]
  /** Columns of the open row up to its last filled one, and its characters. */
  width: number
  rowChars: number
  column: number
  cell: OpenCell | undefined
  inParagraph: boolean
  /** Nesting depth in elements of `ASIDE`. */
  aside: number
}

function createSheetParser(wanted: number, lineBytes: number): SheetParser {
  const scan: Scan = {
    wanted,
    lineBytes,
    sheet: -1,
    isOver: false,
    done: [],
    emptyRows: 0,
    repeat: 1,
    repeated: 0,
    farCells: 0,
    cells: [],
    kinds: [],
    width: 0,
    rowChars: 0,
    column: 0,
    cell: undefined,
    inParagraph: false,
    aside: 0,
  }
  const reader = createXmlReader({
    open: (name, attributes) => openElement(scan, name, attributes),
    close: (name) => closeElement(scan, name),
    text: (text) => {
      if (scan.inParagraph && scan.aside === 0) addText(scan, text)
    },
  })
  return {
    push: reader.push,
    take: () => {
      const rows = scan.done
      scan.done = []
      return rows
    },
    isOver: () => scan.isOver,
  }
}

/**
 * Elements in a cell whose text is not the cell's: comments, and what is drawn over the sheet at it.
 * Source: OASIS OpenDocument 1.3, part 3, sections 10.3 to 10.5 and 14.1.
 */
const ASIDE: ReadonlySet<string> = new Set(
  (
    'annotation frame custom-shape rect line polyline polygon regular-polygon path circle ellipse ' +
    'connector caption measure control scene g'
  ).split(' '),
)

function openElement(scan: Scan, name: string, attributes: XmlAttributes): void {
  if (name === 'table') scan.sheet += 1
  if (scan.sheet !== scan.wanted) return
  if (name === 'table-row') {
    scan.repeat = Number(attributes.get('table:number-rows-repeated') ?? 1)
    if (!(scan.repeat >= 1)) throw damaged()
    scan.cells = []
    scan.kinds = []
    scan.width = 0
    scan.rowChars = 0
    scan.column = 0
  } else if (isCell(name)) {
    scan.cell = { attributes: attributes.toRecord(), paragraphs: [], chars: 0 }
  } else if (ASIDE.has(name)) {
    scan.aside += 1
  } else if (scan.cell !== undefined && scan.aside === 0) {
    if (name === 'p') {
      scan.cell.paragraphs.push('')
      scan.cell.chars += 1
      refuseLongCell(scan.cell.chars)
      scan.inParagraph = true
    } else if (name === 's') addText(scan, blanks(attributes.get('text:c')))
    else if (name === 'tab') addText(scan, '\t')
    else if (name === 'line-break') addText(scan, '\n')
  }
}

function closeElement(scan: Scan, name: string): void {
  if (scan.sheet !== scan.wanted) return
  if (name === 'table') scan.isOver = true
  else if (name === 'table-row') closeRow(scan)
  else if (ASIDE.has(name)) scan.aside -= 1
  else if (name === 'p' && scan.aside === 0) scan.inParagraph = false
  else if (isCell(name) && scan.cell !== undefined) {
    closeCell(scan, scan.cell)
    scan.cell = undefined
  }
}

function isCell(name: string): boolean {
  return name === 'table-cell' || name === 'covered-table-cell'
}

function closeCell(scan: Scan, cell: OpenCell): void {
  const { cells, kinds, column } = scan
  const times = Number(cell.attributes['table:number-columns-repeated'] ?? 1)
  // Beyond the last column there may be one run of empty cells.
  if (!(times >= 1) || column + times > SHEET_LIMITS.columns * 2) throw damaged()
  scan.column += times
  const { text, kind } = readCell(cell)
  if (text === '') return
  if (scan.column > SHEET_LIMITS.columns) throw damaged()
  scan.width = scan.column
  scan.repeated += times - 1
  scan.rowChars += text.length * times
  if (scan.rowChars > scan.lineBytes) return
  if (scan.column > NEAR_COLUMNS) scan.farCells += scan.column - cells.length
  if (scan.farCells > MAX_FAR_CELLS) throw sparse()
  for (let at = cells.length; at < column; at++) {
    cells.push('')
    kinds.push(0)
  }
  for (let at = 0; at < times; at++) {
    cells.push(text)
    kinds.push(kind)
  }
}

function closeRow(scan: Scan): void {
  const { cells, kinds, repeat } = scan
  if (scan.width === 0) {
    scan.emptyRows += repeat
    return
  }
  scan.repeated += (repeat - 1) * scan.width
  if (scan.repeated > MAX_REPEATED_CELLS) throw sparse()
  if (repeat > MAX_RUN_ROWS || scan.emptyRows > MAX_RUN_ROWS) {
    throw new IntakeError(
      'unprocessable',
      `The sheet holds over ${MAX_RUN_ROWS} equal or empty rows in a run; delete them.`,
    )
  }
  if (scan.emptyRows > 0) scan.done.push({ row: EMPTY_ROW, chars: 0, times: scan.emptyRows })
  scan.emptyRows = 0
  const isLong = scan.rowChars > scan.lineBytes
  scan.done.push(
    isLong
      ? { row: LONG_ROW, chars: 0, times: repeat }
      : { row: { cells, kinds }, chars: scan.rowChars, times: repeat },
  )
}

function addText({ cell }: Scan, text: string): void {
  if (cell === undefined || cell.paragraphs.length === 0) return
  cell.paragraphs[cell.paragraphs.length - 1] += text
  cell.chars += text.length
  refuseLongCell(cell.chars)
}

function blanks(count: string | undefined): string {
  return ' '.repeat(Math.min(1_000, Math.max(1, Number(count ?? 1) || 1)))
}

/** A whole number whose thousands are set off by points, as in German. */
const GROUPED = /^[1-9]\d{0,2}(?:\.\d{3})+$/

/** Source: OASIS OpenDocument 1.3, part 3, section 19.387. */
function readCell({ attributes, paragraphs }: OpenCell): { text: string; kind: number } {
  const shown = paragraphs.join('\n')
  const type = attributes['office:value-type'] ?? 'string'
  switch (type) {
    case 'float':
    case 'percentage':
    case 'currency': {
      const number = Number(attributes['office:value'])
      if (!Number.isFinite(number)) break
      const plain = plainNumber(number)
      // A number shown as a word is a boolean: LibreOffice stores booleans so.
      if ((plain === '0' || plain === '1') && /^\p{L}+$/u.test(shown)) {
        return { text: plain === '1' ? 'TRUE' : 'FALSE', kind: KIND_BITS.boolean }
      }
      // Leading zeros and the signs of a phone number are the format's.
      const isPattern =
        /^[+0]?[\d ()\-./]+$/.test(shown) &&
        shown !== plain &&
        !GROUPED.test(shown) &&
        Number.isSafeInteger(number) &&
        shown.replaceAll(/\D/g, '').replace(/^0+/, '') === plain
      return isPattern
        ? { text: shown, kind: KIND_BITS.text }
        : { text: plain, kind: KIND_BITS.number }
    }
    case 'date': {
      const [, day = '', time = ''] =
        /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d))?/.exec(attributes['office:date-value'] ?? '') ?? []
      if (day === '') break
      return time === '' || time === '00:00:00'
        ? { text: day, kind: KIND_BITS.date }
        : { text: `${day} ${time}`, kind: KIND_BITS.datetime }
    }
    case 'time': {
      const [, hours, minutes, seconds] =
        /^PT(\d+)H(\d+)M(\d+)/.exec(attributes['office:time-value'] ?? '') ?? []
      if (hours === undefined) break
      return { text: `${hours}:${minutes ?? '00'}:${seconds ?? '00'}`, kind: KIND_BITS.time }
    }
    case 'boolean':
      return {
        text: attributes['office:boolean-value'] === 'true' ? 'TRUE' : 'FALSE',
        kind: KIND_BITS.boolean,
      }
  }
  return { text: shown.replaceAll('\0', '\ufffd'), kind: shown === '' ? 0 : KIND_BITS.text }
}
