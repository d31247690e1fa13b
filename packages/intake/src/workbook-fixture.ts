import { buffer } from 'node:stream/consumers'
import { ZipFile } from 'yazl'

/** Packs parts into a ZIP file; parts given as bytes are stored uncompressed. */
export async function zipOf(parts: Readonly<Record<string, string | Buffer>>): Promise<Buffer> {
  const zip = new ZipFile()
  for (const [name, content] of Object.entries(parts)) {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content
    zip.addBuffer(bytes, name, { compress: typeof content === 'string' })
  }
  zip.end()
  return await buffer(zip.outputStream)
}

const OFFICE = 'http://schemas.openxmlformats.org'
const PACKAGE = `${OFFICE}/package/2006/relationships`
const MAIN = `${OFFICE}/spreadsheetml/2006/main`
/** Namespace and type of what a document refers to; strict documents have another one. */
const RELATIONS = `${OFFICE}/officeDocument/2006/relationships`

/** Parts of a workbook that differ from the defaults. */
export interface WorkbookParts {
  /** The XML within `sheetData`. */
  readonly rows?: string
  /** The items within `sst`. */
  readonly strings?: string
  readonly numberFormats?: string
  /** Numbers of formats, by style. */
  readonly styles?: readonly number[]
  readonly workbookPr?: string
  readonly sheets?: Readonly<Record<string, string>>
  readonly others?: Readonly<Record<string, string | Buffer>>
  readonly relations?: string
}

/** The parts of an .xlsx workbook, as Excel writes them. */
export function xlsxParts(parts: WorkbookParts): Record<string, string | Buffer> {
  const { strings, relations = RELATIONS } = parts
  const sheets = parts.sheets ?? { Sheet1: parts.rows ?? '' }
  const names = Object.keys(sheets)
  const relation = (id: string, type: string, target: string): string =>
    `<Relationship Id="${id}" Type="${relations}/${type}" Target="${target}"/>`
  const styles = (parts.styles ?? [0])
    .map((id) => `<xf numFmtId="${id}" applyNumberFormat="1"/>`)
    .join('')
  return {
    '[Content_Types].xml':
      '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    '_rels/.rels': `<Relationships xmlns="${PACKAGE}">${relation('r1', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    'xl/workbook.xml': `<?xml version="1.0"?><workbook xmlns="${MAIN}" xmlns:r="${relations}"><workbookPr ${parts.workbookPr ?? ''}/><sheets>${names
      .map((name, at) => `<sheet name="${name}" sheetId="${at + 1}" r:id="s${at}"/>`)
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${PACKAGE}">${names
      .map((_, at) => relation(`s${at}`, 'worksheet', `worksheets/sheet${at}.xml`))
      .join(
        '',
      )}${relation('st', 'styles', '/xl/styles.xml')}${relation('ss', 'sharedStrings', 'sharedStrings.xml')}</Relationships>`,
    'xl/styles.xml': `<styleSheet xmlns="${MAIN}"><numFmts>${parts.numberFormats ?? ''}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>${styles}</cellXfs></styleSheet>`,
    ...(strings === undefined
      ? {}
      : { 'xl/sharedStrings.xml': `<sst xmlns="${MAIN}">${strings}</sst>` }),
    ...Object.fromEntries(
      Object.values(sheets).map((rows, at) => [
        `xl/worksheets/sheet${at}.xml`,
        `<worksheet xmlns="${MAIN}"><sheetData>${rows}</sheetData></worksheet>`,
      ]),
    ),
    ...parts.others,
  }
}

/** An .xlsx workbook. */
export async function xlsxOf(parts: WorkbookParts): Promise<Buffer> {
  return await zipOf(xlsxParts(parts))
}

/** A row of cells that hold their own text. */
export function rowOf(...cells: readonly string[]): string {
  const each = cells.map((cell) => `<c t="inlineStr"><is><t>${cell}</t></is></c>`)
  return `<row>${each.join('')}</row>`
}
