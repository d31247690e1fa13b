import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, describe, it, test } from 'vitest'
import { readBytes } from './batch-file-fixture.ts'
import { uploadLimits } from './limits.ts'
import { entryOf, rawZip } from './hostile-zip-fixture.ts'
import { rowOf, xlsxOf, zipOf } from './workbook-fixture.ts'
import { openZip } from './zip-archive.ts'

const CSV = 'email,name\nann@a.example,Zoë\n'
const ROWS = [['ann@a.example', 'Zoë']]

async function workbook(): Promise<Buffer> {
  return await xlsxOf({ rows: rowOf('email', 'name') + rowOf('ann@a.example', 'Zoë') })
}

describe('a packed file is unpacked and read', () => {
  it.each<[string, () => Promise<Uint8Array>, string | null]>([
    ['gzip', async () => gzipSync(CSV), null],
    ['a ZIP file', async () => await zipOf({ 'people.csv': CSV }), 'people.csv'],
    [
      'a ZIP file that is not packed',
      async () => await zipOf({ 'a.csv': Buffer.from(CSV) }),
      'a.csv',
    ],
    [
      'a ZIP file of a Macintosh',
      async () =>
        await zipOf({ 'dir/Leute.csv': CSV, '__MACOSX/dir/._Leute.csv': 'x', '.DS_Store': 'x' }),
      'dir/Leute.csv',
    ],
    ['a workbook in gzip', async () => gzipSync(await workbook()), null],
    [
      'a workbook in a ZIP file',
      async () => await zipOf({ 'قائمة <b>.xlsx': await workbook() }),
      'قائمة <b>.xlsx',
    ],
    ['gzip in a ZIP file', async () => await zipOf({ 'a.csv.gz': gzipSync(CSV) }), 'a.csv.gz'],
    ['a text that is called a workbook', async () => Buffer.from(CSV), null],
  ])('%s', async (_, made, entry) => {
    const { file, rows } = await readBytes(await made(), { fileName: 'list.xlsx' })
    expect(rows.map(({ cells }) => cells)).toEqual(ROWS)
    expect([file.entry, file.header]).toEqual([entry, ['email', 'name']])
  })

  it.each<[string, () => Promise<Uint8Array>]>([
    ['a file', async () => Buffer.from(CSV)],
    ['a file of a ZIP file', async () => await zipOf({ 'list.xlsx': Buffer.from(CSV) })],
  ])(
    '%s that is a text with the name of a workbook has the format of its text',
    async (_, made) => {
      const { file } = await readBytes(await made(), { fileName: 'list.xlsx' })
      expect(file.format).toBe('csv')
    },
  )

  test('no temporary file remains', async () => {
    const left = async (): Promise<number> =>
      (await readdir(tmpdir())).filter((name) => name.startsWith('unpacked-')).length
    const before = await left()
    await readBytes(gzipSync(await workbook()))
    await expect(readBytes(await zipOf({ 'a.xlsx': Buffer.from('PK\x03\x04') }))).rejects.toThrow()
    expect(await left()).toBe(before)
  })
})

describe('of several files', () => {
  const several = { 'a.csv': CSV, 'dir/B.csv': 'email\nbo@b.example\n', 'readme.txt': 'hello' }

  test('none is read until one is named, and all are listed', async () => {
    await expect(readBytes(await zipOf(several))).rejects.toThrow(
      /holds 3 files; upload one of them, or name it as `entry`: "a.csv", "dir\/B.csv", "readme.txt"/,
    )
  })

  it.each(['dir/B.csv', 'B.csv', 'b.CSV'])('%s is read', async (entry) => {
    const { rows } = await readBytes(await zipOf(several), { entry })
    expect(rows.map(({ cells }) => cells)).toEqual([['bo@b.example']])
  })

  test('one whose name has accents is read in either Unicode form', async () => {
    const zip = await zipOf({ ...several, 'Zoe\u0308.csv': CSV })
    const { rows } = await readBytes(zip, { entry: 'zo\u00eb.csv' })
    expect(rows.map(({ cells }) => cells)).toEqual(ROWS)
  })

  test('long names of accents alone are searched in little time', async () => {
    const names = Array.from({ length: 40 }, (_, no) => `${no}${'\u0301\u0316'.repeat(16_000)}`)
    const zip = rawZip(names.map((name) => entryOf(name, 'x')))
    const startedMs = performance.now()
    await expect(readBytes(zip, { entry: 'c.csv' })).rejects.toThrow(/has no file "c.csv"/)
    // Sorting the accents would take some 20 s.
    expect(performance.now() - startedMs).toBeLessThan(5_000)
  })

  test('an unknown name is reported with the names that exist', async () => {
    await expect(readBytes(await zipOf(several), { entry: 'c.csv' })).rejects.toThrow(
      /has no file "c.csv"; it holds "a.csv"/,
    )
  })
})

test('a large gzip file that is not packed beyond measure is read', async () => {
  const [email, line] = ['a@b.example', randomBytes(30_000).toString('base64')]
  const { rows } = await readBytes(gzipSync(`email,text\n${`${email},${line}\n`.repeat(450)}`))
  expect(rows).toHaveLength(450)
})

test('a packed file over the size of an upload is refused', async () => {
  const limits = { ...uploadLimits(), uploadBytes: 100 }
  for (const bytes of [await workbook(), gzipSync(await workbook())]) {
    await expect(readBytes(bytes, { limits })).rejects.toThrow('over 100 bytes')
  }
})

test('a file of an archive ends where it is longer than the archive says', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'archive-'))
  try {
    const path = join(folder, 'a.zip')
    await writeFile(
      path,
      rawZip([{ ...entryOf('a.csv', CSV.repeat(100_000)), sizeBytes: 100_000 }]),
    )
    await using zip = await openZip(path)
    let bytes = 0
    const reading = async (): Promise<void> => {
      for (const entry of zip.entries) {
        for await (const chunk of zip.read(entry, AbortSignal.timeout(20_000)))
          bytes += chunk.length
      }
    }
    await expect(reading()).rejects.toThrow('damaged')
    expect(bytes).toBeLessThanOrEqual(100_000)
  } finally {
    await rm(folder, { recursive: true })
  }
})

const PROTECTED = '<manifest:encryption-data>'

describe('the marks of an OpenDocument file are read only if they are short', () => {
  const mimetype = 'application/vnd.oasis.opendocument.spreadsheet'

  test('a long type is that of no document', async () => {
    const files = { mimetype: mimetype.padEnd(200), 'a.csv': CSV }
    const { rows } = await readBytes(await zipOf(files), { entry: 'a.csv' })
    expect(rows.map(({ cells }) => cells)).toEqual(ROWS)
  })

  test.each([
    ['no manifest', {}, /damaged/],
    ['a long one', { 'META-INF/manifest.xml': PROTECTED.padStart(1024 * 1024 + 1) }, /damaged/],
    ['a short one', { 'META-INF/manifest.xml': PROTECTED }, /password/],
  ])('with %s it is read accordingly', async (_, manifest, fault) => {
    const zip = await zipOf({ mimetype, ...manifest })
    await expect(readBytes(zip)).rejects.toThrow(fault)
  })
})

describe('the error of an unsupported file says what it is and what to do', () => {
  it.each<[string, () => Promise<Uint8Array>, RegExp, object?]>([
    ['an empty archive', async () => await zipOf({}), /holds no file/],
    [
      'a ZIP file in a ZIP file',
      async () => await zipOf({ 'a.zip': await zipOf({ 'a.csv': CSV }) }),
      /ZIP file inside another/,
    ],
    [
      'a file of Numbers',
      async () => await zipOf({ 'Index/Document.iwa': 'x' }),
      /of Numbers; in Numbers choose/,
    ],
    [
      'a binary workbook',
      async () => await zipOf({ '[Content_Types].xml': '<x/>', 'xl/workbook.bin': 'x' }),
      /binary workbook \(\.xlsb\)/,
    ],
    [
      'a text document',
      async () => await zipOf({ '[Content_Types].xml': '<x/>', 'word/document.xml': 'x' }),
      /text document/,
    ],
    [
      'a workbook with a password',
      async () =>
        Buffer.concat([
          Buffer.from('d0cf11e0a1b11ae1', 'hex'),
          Buffer.alloc(2_000),
          Buffer.from('EncryptionInfo\0EncryptedPackage', 'utf16le'),
        ]),
      /protected by a password; open it, take the password off/,
    ],
    [
      'an old workbook',
      async () =>
        Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.from('Workbook', 'utf16le')]),
      /old Excel workbook \(\.xls\); open it and save it as \.xlsx/,
    ],
    [
      'a damaged workbook',
      async () => (await workbook()).fill(7, 200, 260),
      /damaged or cut short/,
    ],
    [
      'a workbook cut short',
      async () => (await workbook()).subarray(0, 900),
      /damaged or cut short/,
    ],
    [
      'an entry of a file that is no archive',
      async () => Buffer.from(CSV),
      /`entry` names a file of a ZIP file/,
      { entry: 'a' },
    ],
    [
      'an entry of a workbook',
      workbook,
      /`entry` names a file of a ZIP file/,
      { entry: 'xl/workbook.xml' },
    ],
    [
      'a sheet of a text',
      async () => Buffer.from(CSV),
      /`sheet` names a sheet of a workbook/,
      { sheet: 1 },
    ],
    ['the encoding of a workbook', workbook, /`encoding` is of text files/, { encoding: 'utf-8' }],
    [
      'a sheet that is not there',
      workbook,
      /has no sheet "7"; its sheets are "Sheet1"/,
      { sheet: 7 },
    ],
  ])('%s', async (_, made, message, options) => {
    await expect(readBytes(await made(), options)).rejects.toThrow(message)
  })
})

describe('the sheet', () => {
  const sheets = {
    Notes: rowOf('How to use this') + rowOf('Fill in the next sheet'),
    'Kunden 2026': rowOf('email', 'name') + rowOf('ann@a.example', 'Zoë'),
    Old: rowOf('email') + rowOf('bo@b.example'),
  }

  it('with contacts is chosen, and all are listed', async () => {
    const { file, rows } = await readBytes(await xlsxOf({ sheets }))
    expect(file.layout).toEqual({
      kind: 'sheet',
      sheet: 'Kunden 2026',
      sheets: Object.keys(sheets),
    })
    expect(rows.map(({ cells }) => cells)).toEqual(ROWS)
  })

  it.each([
    ['Old', 'bo@b.example'],
    ['old', 'bo@b.example'],
    [3, 'bo@b.example'],
    ['3', 'bo@b.example'],
    ['kunden 2026', 'ann@a.example'],
    [2, 'ann@a.example'],
  ])('asked for as %s', async (sheet, email) => {
    const { rows } = await readBytes(await xlsxOf({ sheets }), { sheet })
    expect(rows[0]?.cells[0]).toBe(email)
  })

  it('that is empty is reported by its name', async () => {
    await expect(readBytes(await xlsxOf({ rows: '' }))).rejects.toThrow(/workbook is empty/)
    await expect(readBytes(await xlsxOf({ rows: '' }), { sheet: 1 })).rejects.toThrow(
      /sheet "Sheet1" is empty/,
    )
  })

  it('with a title over several columns above its header is read from the header on', async () => {
    const rows = `${rowOf('Customers of 2026')}<row/>${rowOf('E-mail', 'First name', 'Phone')}${rowOf('ann@a.example', 'Ann', '+442079460958')}`
    const { file, rows: read } = await readBytes(await xlsxOf({ rows }))
    expect(file.header).toEqual(['E-mail', 'First name', 'Phone'])
    expect(read).toHaveLength(1)
  })
})
