import type { UploadLimits } from './limits.ts'
import { numberStyle, type NumberStyle } from './number-format.ts'
import { createSharedStrings } from './shared-strings.ts'
import {
  MAX_SHEETS,
  refuseNoSheet,
  sheetName,
  tooMany,
  type Sheet,
  type Workbook,
} from './workbook.ts'
import { sheetRows } from './xlsx-sheet.ts'
import { createXmlReader, type XmlListener } from './xml-reader.ts'
import { damaged, type ZipArchive } from './zip-archive.ts'

/** Cell styles, and relationships of a part. */
const MAX_STYLES = 65_536

/** Bytes of each small part: those with sheets, relationships or styles. */
const MAX_PART_BYTES = 16 * 1024 * 1024

/** A relationship between parts. Source: ECMA-376, part 2, section 9.3. */
interface Relationship {
  readonly id: string
  /** The last segment of its type, which strict and transitional documents share. */
  readonly type: string
  readonly part: string
}

/**
 * Reads the parts of an .xlsx or .xlsm workbook that describe its sheets; macros are ignored.
 *
 * @throws IntakeError if it is damaged or has no worksheet
 */
export async function openXlsx(
  zip: ZipArchive,
  { lineBytes }: Pick<UploadLimits, 'lineBytes'>,
  signal: AbortSignal,
): Promise<Workbook> {
  const [main] = (await relationships(zip, '', signal)).filter(
    ({ type }) => type === 'officeDocument',
  )
  const workbookPart = main?.part ?? 'xl/workbook.xml'
  const related = await relationships(zip, workbookPart, signal)
  const byId = new Map(related.map((each) => [each.id, each]))
  const { sheets, is1904 } = await readWorkbook(zip, workbookPart, byId, signal)
  refuseNoSheet(sheets)
  const partOf = (type: string): string | undefined =>
    related.find((each) => each.type === type)?.part
  const styles = await readStyles(zip, partOf('styles'), signal)
  const stringsPart = partOf('sharedStrings')
  return {
    sheets,
    rows: async function* (sheet, ending) {
      const stringsEntry = stringsPart === undefined ? undefined : zip.find(stringsPart)
      const entry = zip.find(sheet.part)
      if (entry === undefined) throw damaged()
      await using strings = createSharedStrings(
        stringsEntry === undefined ? undefined : zip.read(stringsEntry, ending),
        stringsEntry?.compressedSize ?? 0,
      )
      yield* sheetRows(zip.read(entry, ending), { styles, is1904, strings, lineBytes })
    },
    [Symbol.asyncDispose]: () => zip[Symbol.asyncDispose](),
  }
}

async function readWorkbook(
  zip: ZipArchive,
  part: string,
  related: ReadonlyMap<string, Relationship>,
  signal: AbortSignal,
): Promise<{ sheets: readonly Sheet[]; is1904: boolean }> {
  const sheets: Sheet[] = []
  let is1904 = false
  await readPart(zip, part, signal, {
    open: (element, attributes) => {
      // Extensions at the end have an element of this name too, without the attribute.
      if (element === 'workbookPr') is1904 ||= /^(?:1|true)$/.test(attributes.get('date1904') ?? '')
      if (element !== 'sheet') return
      const target = related.get(attributes.getLocal('id') ?? '')
      // Sheets of charts and of old macros hold no cells.
      if (target?.type !== 'worksheet') return
      if (sheets.length === MAX_SHEETS) throw tooMany('sheets', MAX_SHEETS)
      const state = attributes.get('state') ?? 'visible'
      const name = sheetName(attributes.get('name') ?? '')
      sheets.push({ name, isHidden: state !== 'visible', part: target.part })
    },
    close: () => {},
  })
  return { sheets, is1904 }
}

async function readStyles(
  zip: ZipArchive,
  part: string | undefined,
  signal: AbortSignal,
): Promise<readonly NumberStyle[]> {
  const codes = new Map<number, string>()
  const styles: NumberStyle[] = []
  const known = new Map<number, NumberStyle>()
  let isOfCells = false
  if (part === undefined) return styles
  await readPart(zip, part, signal, {
    open: (name, attributes) => {
      if (name === 'numFmt') {
        if (codes.size === MAX_STYLES) throw tooMany('styles', MAX_STYLES)
        codes.set(Number(attributes.get('numFmtId')), attributes.get('formatCode') ?? '')
      } else if (name === 'cellXfs') {
        isOfCells = true
      } else if (name === 'xf' && isOfCells) {
        if (styles.length === MAX_STYLES) throw tooMany('styles', MAX_STYLES)
        const id = Number(attributes.get('numFmtId') ?? 0)
        const style = known.get(id) ?? numberStyle(id, codes.get(id))
        known.set(id, style)
        styles.push(style)
      }
    },
    close: (name) => {
      if (name === 'cellXfs') isOfCells = false
    },
  })
  return styles
}

/** The relationships of a part; of the whole package for the part `''`. Empty if there are none. */
async function relationships(
  zip: ZipArchive,
  part: string,
  signal: AbortSignal,
): Promise<readonly Relationship[]> {
  const slash = part.lastIndexOf('/') + 1
  const folder = part.slice(0, slash)
  const file = `${folder}_rels/${part.slice(slash)}.rels`
  const found: Relationship[] = []
  if (zip.find(file) === undefined) return found
  await readPart(zip, file, signal, {
    open: (name, attributes) => {
      if (name !== 'Relationship' || attributes.get('TargetMode') === 'External') return
      if (found.length === MAX_STYLES) throw tooMany('parts', MAX_STYLES)
      const type = attributes.get('Type') ?? ''
      found.push({
        id: attributes.get('Id') ?? '',
        type: type.slice(type.lastIndexOf('/') + 1),
        part: partNamed(attributes.get('Target') ?? '', folder),
      })
    },
    close: () => {},
  })
  return found
}

/** Resolves a target within the package: absolute, or relative to a part's folder. */
function partNamed(target: string, folder: string): string {
  const steps: string[] = target.startsWith('/') ? [] : folder.split('/')
  for (const step of target.split('/')) {
    if (step === '..') {
      while (steps.at(-1) === '') steps.pop()
      steps.pop()
    } else {
      steps.push(step)
    }
  }
  return steps.filter((step) => step !== '' && step !== '.').join('/')
}

async function readPart(
  zip: ZipArchive,
  name: string,
  signal: AbortSignal,
  listener: XmlListener,
): Promise<void> {
  const entry = zip.find(name)
  if (entry === undefined) throw damaged()
  if (entry.uncompressedSize > MAX_PART_BYTES) throw tooMany('parts', MAX_PART_BYTES)
  const reader = createXmlReader(listener)
  for await (const chunk of zip.read(entry, signal)) reader.push(chunk)
  reader.end()
}
