import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { PYTHON, WITHOUT_OPENPYXL } from '@plumbline/testkit/openpyxl'
import { WITHOUT_SPREADSHEET } from '@plumbline/testkit/spreadsheet'
import ExcelJS from 'exceljs'
import { describe, expect, it, test } from 'vitest'
import writeExcelFile, { type SheetData } from 'write-excel-file/node'
import { readBytes } from './batch-file-fixture.ts'

/**
 * Cells that every program writes: texts of all scripts, a number, a date, a boolean, an empty
 * cell.
 */
const HEADER = ['Email', 'Name', 'Phone', 'Born', 'Member', 'Note']
const PEOPLE = [
  ['ann@a.example', 'Zoë "Ann" <b>', 447_911_123_456, new Date('1990-02-28T00:00:00Z'), true, null],
  [
    'bo@b.example',
    'Łukasz 東京 😀',
    4_155_550_100.5,
    new Date('2026-11-22T13:45:00Z'),
    false,
    'a\nb',
  ],
] as const
const READ = [
  ['ann@a.example', 'Zoë "Ann" <b>', '447911123456', '1990-02-28', 'TRUE'],
  ['bo@b.example', 'Łukasz 東京 😀', '4155550100.5', '2026-11-22 13:45:00', 'FALSE', 'a\nb'],
]
const KINDS = ['text', 'text', 'number', 'datetime', 'boolean', 'text']

async function expectRead(bytes: Uint8Array, fileName = 'people.xlsx'): Promise<void> {
  const { file, rows, summary } = await readBytes(bytes, { fileName, product: 'contact-intel' })
  expect(file.header).toEqual(HEADER)
  expect(rows.map(({ cells }) => cells)).toEqual(READ)
  expect(summary.columnKinds).toEqual(KINDS)
  expect(rows[0]?.subjects).toMatchObject({ email: 'ann@a.example', phone: '+447911123456' })
}

test('a workbook of exceljs, of both its writers', async () => {
  const book = new ExcelJS.Workbook()
  const sheet = book.addWorksheet('People')
  sheet.addRow(HEADER)
  for (const person of PEOPLE) sheet.addRow([...person])
  sheet.getColumn(4).numFmt = 'yyyy-mm-dd hh:mm'
  await expectRead(new Uint8Array(await book.xlsx.writeBuffer()))
})

test('a workbook of write-excel-file', async () => {
  const cells: SheetData = PEOPLE.map((person) =>
    person.map((value) => {
      if (value instanceof Date) return { value, type: Date, format: 'yyyy-mm-dd hh:mm' }
      return value === null ? null : { value }
    }),
  )
  const file = writeExcelFile([HEADER.map((value) => ({ value })), ...cells])
  await expectRead(new Uint8Array(await file.toBuffer()))
})

const OPENPYXL = `
import sys, datetime, openpyxl
book = openpyxl.Workbook(write_only=sys.argv[2] == 'stream')
sheet = book.create_sheet('People') if sys.argv[2] == 'stream' else book.active
sheet.append(['Email', 'Name', 'Phone', 'Born', 'Member', 'Note'])
sheet.append(['ann@a.example', 'Zoë "Ann" <b>', 447911123456, datetime.date(1990, 2, 28), True, None])
sheet.append(['bo@b.example', 'Łukasz 東京 😀', 4155550100.5, datetime.datetime(2026, 11, 22, 13, 45), False, 'a\\nb'])
book.save(sys.argv[1])
`

// Written by a program of Debian's, which CI installs; elsewhere it may be missing.
describe.skipIf(WITHOUT_OPENPYXL)('a workbook of openpyxl', () => {
  it.each(['whole', 'stream'])('%s', { timeout: 30_000 }, async (mode) => {
    const folder = await mkdtemp(join(tmpdir(), 'openpyxl-'))
    try {
      const path = join(folder, 'people.xlsx')
      await promisify(execFile)(PYTHON, ['-c', OPENPYXL, path, mode])
      await expectRead(await readFile(path))
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})

// As above.
describe.skipIf(WITHOUT_SPREADSHEET)('a workbook of LibreOffice', { timeout: 180_000 }, () => {
  it('is read as .xlsx and .ods; its .xls is recognized and refused', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'soffice-'))
    try {
      const book = new ExcelJS.Workbook()
      const sheet = book.addWorksheet('People')
      sheet.addRow(HEADER)
      for (const person of PEOPLE) sheet.addRow([...person])
      sheet.getColumn(4).numFmt = 'yyyy-mm-dd hh:mm'
      const source = join(folder, 'people.xlsx')
      await writeFile(source, new Uint8Array(await book.xlsx.writeBuffer()))
      const saveAs = async (name: string, filter: string): Promise<Buffer> => {
        const out = join(folder, 'out')
        const profile = pathToFileURL(join(folder, 'profile')).href
        const to = `${name}:${filter}`
        await promisify(execFile)('soffice', [
          `-env:UserInstallation=${profile}`,
          '--headless',
          '--convert-to',
          to,
          '--outdir',
          out,
          source,
        ])
        return await readFile(join(out, `people.${name}`))
      }
      await expectRead(await saveAs('xlsx', 'Calc MS Excel 2007 XML'))
      await expectRead(await saveAs('ods', 'calc8'), 'people.ods')
      const old = await saveAs('xls', 'MS Excel 97')
      await expect(readBytes(old, { fileName: 'people.xls' })).rejects.toThrow(
        /an old Excel workbook \(\.xls\); open it and save it as \.xlsx or CSV/,
      )
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
