import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bombOf, entryOf, rawZip, type RawEntry } from '@plumbline/intake/hostile-zip-fixture'
import { IntakeError } from '@plumbline/intake/intake-error'
import { uploadLimits } from '@plumbline/intake/limits'
import { openBatchFile } from '@plumbline/intake/open-batch-file'
import { readRows } from '@plumbline/intake/read-rows'
import { rowOf, xlsxParts, type WorkbookParts } from '@plumbline/intake/workbook-fixture'

const MOST_MS = 3_000
const MOST_BYTES = 64 * 1024 * 1024
const MANY = 1_000_000

const SHEET = 'xl/worksheets/sheet0.xml'
const STRINGS = 'xl/sharedStrings.xml'

/** A workbook of one address with entries of it replaced or added. */
function book(parts: WorkbookParts, ...entries: readonly RawEntry[]): Buffer {
  const all = xlsxParts({ rows: `${rowOf('email')}${rowOf('a@b.example')}`, ...parts })
  const replaced = new Set(entries.map(({ name }) => name))
  const own = Object.entries(all).filter(([name]) => !replaced.has(name))
  return rawZip([...own.map(([name, text]) => entryOf(name, text.toString())), ...entries])
}

/** A sheet of this XML. */
function sheet(xml: string): Buffer {
  return book({ others: { [SHEET]: xml } })
}

function cells(rows: string): Buffer {
  return sheet(`<worksheet><sheetData>${rows}</sheetData></worksheet>`)
}

function ods(table: string): Buffer {
  return rawZip([
    entryOf('mimetype', 'application/vnd.oasis.opendocument.spreadsheet'),
    entryOf(
      'content.xml',
      `<d xmlns:table="t" xmlns:office="o" xmlns:text="x"><table:table table:name="S">${table}</table:table></d>`,
    ),
  ])
}

const ONE_SHARED = '<c t="s"><v>0</v></c>'
const SHARED = `${rowOf('email')}<row>${ONE_SHARED}</row>`
const FULL_CELL =
  '<table:table-cell office:value-type="string"><text:p>a@b.example</text:p></table:table-cell>'
const LAUGHS = Array.from(
  { length: 12 },
  (_, at) => `<!ENTITY l${at + 1} "${`&l${at};`.repeat(10)}">`,
).join('')

const WORKBOOKS: readonly (readonly [string, () => Buffer, RegExp])[] = [
  [
    'a decompression bomb of shared strings',
    () => book({ rows: SHARED }, bombOf(STRINGS, '<sst><si><t>', '</t></si></sst>', 2_000)),
    /250 times/,
  ],
  [
    'a decompression bomb of a sheet',
    () => book({}, bombOf(SHEET, '<worksheet><sheetData>', '</sheetData></worksheet>', 2_000)),
    /250 times/,
  ],
  [
    'a decompression bomb that claims to be small',
    () => book({}, { ...bombOf(SHEET, '<worksheet>', '', 500), sizeBytes: 900 }),
    /over 1 MiB|damaged/,
  ],
  [
    'a decompression bomb of styles',
    () => book({}, bombOf('xl/styles.xml', '<styleSheet>', '</styleSheet>', 500)),
    /more parts than are read/,
  ],
  [
    'a decompression bomb of relationships',
    () => book({}, bombOf('_rels/.rels', '<R>', '</R>', 500)),
    /more parts than are read/,
  ],
  [
    'a decompression bomb in an archive',
    () => rawZip([bombOf('a.csv', 'email\n', '', 400)]),
    /250 times/,
  ],
  [
    'a decompression bomb of an .ods',
    () =>
      rawZip([
        entryOf('mimetype', 'application/vnd.oasis.opendocument.spreadsheet'),
        bombOf('content.xml', '<d>', '</d>', 2_000),
      ]),
    /250 times/,
  ],
  [
    'a comment without end',
    () => book({}, bombOf(SHEET, '<worksheet><!--', '--></worksheet>', 15)),
    /over 1 MiB/,
  ],
  [
    'a text of a cell without end',
    () =>
      sheet(
        `<worksheet><sheetData><row><c t="str"><v>${'x'.repeat(3 * MANY)}</v></c></row></sheetData></worksheet>`,
      ),
    /over 1 MiB/,
  ],
  [
    'millions of entities',
    () => cells(`<row><c t="str"><v>${'&quot;'.repeat(2 * MANY)}</v></c></row>`),
    /over 1 MiB/,
  ],
  [
    'an attribute of megabytes',
    () => sheet(`<worksheet a="${'x'.repeat(3 * MANY)}"/>`),
    /over 1 MiB/,
  ],
  [
    'hundreds of thousands of attributes',
    () =>
      sheet(`<worksheet ${Array.from({ length: 200_000 }, (_, at) => `a${at}=""`).join(' ')}/>`),
    /over 1 MiB/,
  ],
  [
    'nested entities (a billion laughs)',
    () =>
      sheet(
        `<!DOCTYPE x [<!ENTITY l0 "ha">${LAUGHS}]><worksheet><sheetData><row><c t="str"><v>&l12;</v></c></row></sheetData></worksheet>`,
      ),
    /document type/,
  ],
  [
    'an entity that includes a file',
    () =>
      sheet(
        '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><worksheet><sheetData><row><c t="str"><v>&f;</v></c></row></sheetData></worksheet>',
      ),
    /document type/,
  ],
  ['an unknown entity', () => cells('<row><c t="str"><v>&nbsp;</v></c></row>'), /damaged/],
  [
    'a character that XML does not allow',
    () => cells('<row><c t="str"><v>&#0;</v></c></row>'),
    /damaged/,
  ],
  ['deeply nested elements', () => sheet('<x>'.repeat(200_000)), /damaged/],
  ['a sheet that is no XML', () => sheet('{"rows": []}'), /damaged/],
  ['a sheet cut off within a cell', () => sheet('<worksheet><sheetData><row><c><v>1'), /damaged/],
  [
    'a billion columns',
    () => cells('<row r="1"><c r="ZZZZZZZ1" t="str"><v>x</v></c></row>'),
    /16384 columns/,
  ],
  [
    'a billion rows',
    () => cells(`${rowOf('email')}<row r="1000000000"><c t="str"><v>x</v></c></row>`),
    /1048576 rows/,
  ],
  [
    'a row a million rows down',
    () => cells(`${rowOf('email')}<row r="1048576"><c t="str"><v>x</v></c></row>`),
    /Row 1048576.*empty rows/,
  ],
  [
    'cells in rows and columns far apart',
    () => cells(rowOf('email') + '<row><c r="XFD1" t="str"><v>x</v></c></row>'.repeat(20_000)),
    /far apart/,
  ],
  [
    'an .ods of a billion columns',
    () =>
      ods(
        `<table:table-row>${FULL_CELL.replace(' ', ' table:number-columns-repeated="1000000000" ')}</table:table-row>`,
      ),
    /damaged/,
  ],
  [
    'an .ods of a billion rows',
    () =>
      ods(
        `<table:table-row table:number-rows-repeated="1000000000">${FULL_CELL}</table:table-row>`,
      ),
    /far apart|equal or empty rows/,
  ],
  [
    'an .ods of equal rows and columns',
    () =>
      ods(
        `<table:table-row table:number-rows-repeated="90000">${FULL_CELL.replace(' ', ' table:number-columns-repeated="16000" ')}</table:table-row>`,
      ),
    /far apart or repeated/,
  ],
  [
    'a workbook that is its own sheet',
    () =>
      book({
        others: {
          'xl/_rels/workbook.xml.rels':
            '<R><Relationship Id="s0" Type="x/worksheet" Target="../xl/./workbook.xml"/></R>',
        },
      }),
    /is empty/,
  ],
  [
    'a sheet outside of the workbook',
    () =>
      book({
        others: {
          'xl/_rels/workbook.xml.rels':
            '<R><Relationship Id="s0" Type="x/worksheet" Target="../../../../etc/passwd"/></R>',
        },
      }),
    /damaged/,
  ],
  [
    'tens of thousands of sheets',
    () =>
      book({
        others: {
          'xl/workbook.xml': `<workbook xmlns:r="r">${'<sheet name="x" r:id="s0"/>'.repeat(10_000)}</workbook>`,
        },
      }),
    /more sheets than are read/,
  ],
  [
    'millions of styles',
    () => book({ styles: Array.from({ length: 100_000 }, () => 0) }),
    /more styles than are read/,
  ],
  ['a name with ..', () => book({}, entryOf('../../etc/cron.d/x', 'x')), /damaged/],
  ['an absolute name', () => book({}, entryOf('/etc/passwd', 'x')), /damaged/],
  [
    'more files than a workbook has',
    () => rawZip([entryOf('a.csv', 'x')], 60_000),
    /60000 files|damaged/,
  ],
  [
    'tens of thousands of files',
    () => rawZip(Array.from({ length: 12_000 }, (_, at) => entryOf(`a${at}.csv`, ''))),
    /12000 files/,
  ],
  [
    'a sheet with a password',
    () => book({}, { ...entryOf(SHEET, '<worksheet/>'), flags: 1 }),
    /password/,
  ],
  [
    'a sheet with an unsupported compression',
    () => book({}, { ...entryOf(SHEET, '<worksheet/>'), method: 99 }),
    /packed in a way/,
  ],
  [
    'a sheet with a wrong checksum',
    () =>
      book(
        {},
        {
          ...entryOf(
            SHEET,
            `<worksheet><sheetData>${rowOf('email')}${rowOf('a@b.example')}</sheetData></worksheet>`,
          ),
          crc: 1,
        },
      ),
    /damaged/,
  ],
  [
    'shared strings that expand',
    () =>
      book(
        { rows: `${rowOf('email')}<row><c t="s"><v>9999999</v></c></row>` },
        entryOf(STRINGS, `<sst>${'<si/>'.repeat(3 * MANY)}</sst>`),
      ),
    /more different texts|damaged/,
  ],
  [
    'a long shared string in all cells of long rows, and of many short ones',
    () =>
      book(
        {
          rows: `${rowOf('email')}${`<row>${ONE_SHARED.repeat(16_000)}</row>`.repeat(3)}${`<row>${ONE_SHARED}</row>`.repeat(140_000)}`,
        },
        entryOf(STRINGS, `<sst><si><t>${'x'.repeat(4_000)}</t></si></sst>`),
      ),
    /more than 536870912 characters/,
  ],
  [
    'names of files that are long together',
    () =>
      rawZip(
        Array.from({ length: 900 }, (_, at) => entryOf(`${at}${'n'.repeat(65_000)}.csv`, 'a')),
      ),
    /names and comments/,
  ],
]

describe('a hostile workbook is refused within 3 s and 64 MB', { timeout: 60_000 }, () => {
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hostile-workbooks-'))
    // Memory for code that is loaded once is not counted.
    await refusalOf(join(folder, 'first'), cells(''))
  })
  afterAll(async () => await rm(folder, { recursive: true }))

  it.each(WORKBOOKS)('%s', async (name, made, message) => {
    const path = join(folder, name.replaceAll(/\W/g, '-'))
    const { error, tookMs, grewBytes } = await refusalOf(path, made())
    expect(error).toBeInstanceOf(IntakeError)
    expect(String(error)).toMatch(message)
    expect(tookMs).toBeLessThan(MOST_MS)
    expect(grewBytes).toBeLessThan(MOST_BYTES)
  })
})

async function refusalOf(
  path: string,
  bytes: Buffer,
): Promise<{ error: unknown; tookMs: number; grewBytes: number }> {
  await writeFile(path, bytes)
  const before = process.memoryUsage.rss()
  let peak = before
  const look = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 5)
  const began = performance.now()
  const error = await readAll(path).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  const tookMs = performance.now() - began
  clearInterval(look)
  return { error, tookMs, grewBytes: Math.max(peak, process.memoryUsage.rss()) - before }
}

async function readAll(path: string): Promise<void> {
  const file = await openBatchFile({
    path,
    scratchDir: dirname(path),
    fileName: 'file.xlsx',
    product: 'email',
    limits: uploadLimits(),
  })
  for await (const _ of readRows(file, AbortSignal.timeout(20_000))) continue
}
