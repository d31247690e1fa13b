import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { xlsxParts } from '@plumbline/intake/workbook-fixture'
import { ZipFile } from 'yazl'

const TEXTS_A_ROW = 3

/**
 * Writes a workbook with this many rows of eight cells: three distinct texts, as shared strings as
 * LibreOffice writes them, and five other cells.
 */
export async function writeWorkbook(path: string, rows: number): Promise<void> {
  const zip = new ZipFile()
  for (const [name, text] of Object.entries(xlsxParts({}))) {
    if (!name.includes('sheet0')) zip.addBuffer(Buffer.from(rename(text.toString())), name)
  }
  zip.addReadStream(Readable.from(sheet(rows)), 'xl/worksheets/sheet1.xml', { compressionLevel: 1 })
  zip.addReadStream(Readable.from(texts(rows)), 'xl/sharedStrings.xml', { compressionLevel: 1 })
  zip.end()
  const target = createWriteStream(path)
  zip.outputStream.pipe(target)
  await once(target, 'finish')
}

function rename(text: string): string {
  return text.replaceAll('sheet0.xml', 'sheet1.xml')
}

const HEADER = ['email', 'name', 'city', 'phone', 'count', 'since', 'state', 'active']

function* sheet(rows: number): Generator<string> {
  yield '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1">'
  yield HEADER.map((name) => `<c t="inlineStr"><is><t>${name}</t></is></c>`).join('')
  yield '</row>'
  let piece = ''
  for (let row = 0; row < rows; row++) {
    const r = row + 2
    const text = row * TEXTS_A_ROW
    piece +=
      `<row r="${r}"><c r="A${r}" s="0" t="s"><v>${text}</v></c><c r="B${r}" s="0" t="s"><v>${text + 1}</v></c>` +
      `<c r="C${r}" s="0" t="s"><v>${text + 2}</v></c><c r="D${r}" s="0"><v>${447_000_000_000 + row}</v></c>` +
      `<c r="E${r}" s="0"><v>${row % 97}.5</v></c><c r="F${r}" s="0"><v>${40_000 + (row % 9000)}</v></c>` +
      `<c r="G${r}" s="0" t="s"><v>${row % 50}</v></c><c r="H${r}" s="0" t="b"><v>${row % 2}</v></c></row>`
    if (piece.length > 65_536) {
      yield piece
      piece = ''
    }
  }
  yield `${piece}</sheetData></worksheet>`
}

function* texts(rows: number): Generator<string> {
  yield '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
  let piece = ''
  for (let row = 0; row < rows; row++) {
    // Scattered, as real names are: consecutive ones would unpack faster.
    const mixed = Math.imul(row, 2_654_435_761) >>> 0
    piece +=
      `<si><t>user.${mixed.toString(36)}@firm${row % 5000}.example</t></si>` +
      `<si><t>Ann ${mixed.toString(16)} Müller</t></si><si><t>City ${(mixed ^ row).toString(36)}</t></si>`
    if (piece.length > 65_536) {
      yield piece
      piece = ''
    }
  }
  yield `${piece}</sst>`
}
