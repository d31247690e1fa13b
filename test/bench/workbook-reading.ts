import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { memoryFlags } from '@plumbline/local/children'
import { xlsxParts } from '@plumbline/intake/workbook-fixture'
import { ZipFile } from 'yazl'
import { atMost, bounded, type Figure } from './figure.ts'

const ROWS = 1_000_000
const TEXTS_A_ROW = 3
const MOST_TIMES = 1.6
const MOST_MEGABYTES = 256

/**
 * A workbook of a million rows and eight columns, read into rows, against the least that such a reader can do:
 * yauzl and saxes over the same parts. Each in a process with the flags of a worker.
 */
export async function run(): Promise<readonly Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'plumbline-workbook-'))
  try {
    const path = join(folder, 'list.xlsx')
    await writeWorkbook(path)
    const bare = await readIn('bare', path)
    const read = await readIn('read', path)
    for (const { rows } of [bare, read]) {
      if (rows !== ROWS + 1) throw new Error(`${rows} rows of ${ROWS + 1}`)
    }
    const head = { name: 'workbook-reading', backend: '-' }
    return [
      atMost({ ...head, unit: 's' }, read.tookMs / 1000, bare.tookMs / 1000, MOST_TIMES),
      bounded(
        { ...head, name: 'workbook-reading-peak', unit: 'MB' },
        read.peakMegabytes,
        MOST_MEGABYTES,
      ),
    ]
  } finally {
    await rm(folder, { recursive: true })
  }
}

interface Reading {
  readonly tookMs: number
  readonly rows: number
  readonly peakMegabytes: number
}

async function readIn(mode: 'bare' | 'read', path: string): Promise<Reading> {
  const script = fileURLToPath(new URL('workbook-reader.ts', import.meta.url))
  const args = [...memoryFlags(160), script, mode, path]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout) as Reading
}

/** Three texts of its own in each row, as LibreOffice shares them, and five cells more. */
async function writeWorkbook(path: string): Promise<void> {
  const zip = new ZipFile()
  for (const [name, text] of Object.entries(xlsxParts({}))) {
    if (!name.includes('sheet0')) zip.addBuffer(Buffer.from(rename(text.toString())), name)
  }
  zip.addReadStream(Readable.from(sheet()), 'xl/worksheets/sheet1.xml', { compressionLevel: 1 })
  zip.addReadStream(Readable.from(texts()), 'xl/sharedStrings.xml', { compressionLevel: 1 })
  zip.end()
  const target = createWriteStream(path)
  zip.outputStream.pipe(target)
  await once(target, 'finish')
}

function rename(text: string): string {
  return text.replaceAll('sheet0.xml', 'sheet1.xml')
}

const HEADER = ['email', 'name', 'city', 'phone', 'count', 'since', 'state', 'active']

function* sheet(): Generator<string> {
  yield '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1">'
  yield HEADER.map((name) => `<c t="inlineStr"><is><t>${name}</t></is></c>`).join('')
  yield '</row>'
  let piece = ''
  for (let row = 0; row < ROWS; row++) {
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

function* texts(): Generator<string> {
  yield '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
  let piece = ''
  for (let row = 0; row < ROWS; row++) {
    // Scattered, as names are: counted ones would unpack faster than real ones.
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
