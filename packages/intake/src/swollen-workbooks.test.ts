import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readBytes } from './batch-file-fixture.ts'
import { findGroupedHeader } from './grouped-header.ts'
import { rawZip } from './hostile-zip-fixture.ts'
import { createJsonColumns } from './json-row.ts'
import { uploadLimits } from './limits.ts'
import { openOds } from './ods.ts'
import { rowOf, xlsxOf, zipOf } from './workbook-fixture.ts'
import { openZip } from './zip-archive.ts'

// Workbooks of a few kilobytes whose cells, rows or names are hundreds of megabytes.

const SHARED = '<c t="s"><v>0</v></c>'
const LONG_LINE = `the line is over ${uploadLimits().lineBytes} bytes`
const ODS_TYPE = 'application/vnd.oasis.opendocument.spreadsheet'

async function odsOf(rows: string): Promise<Buffer> {
  return await zipOf({
    mimetype: Buffer.from(ODS_TYPE),
    'content.xml': `<office:document-content><office:body><office:spreadsheet><table:table table:name="S">${rows}</table:table></office:spreadsheet></office:body></office:document-content>`,
  })
}

const odsRow = (cells: string, repeat = 1): string =>
  `<table:table-row table:number-rows-repeated="${repeat}">${cells}</table:table-row>`
const odsCell = (text: string): string =>
  `<table:table-cell><text:p>${text}</text:p></table:table-cell>`

test('a row of shared strings that is over the line limit is refused, others are not', async () => {
  const bytes = await xlsxOf({
    strings: `<si><t>${'x'.repeat(8_000)}</t></si>`,
    rows: `${rowOf('Email', 'Notes')}${rowOf('a@b.example')}<row>${SHARED.repeat(16_000)}</row>${rowOf('c@d.example')}<row><c t="inlineStr"><is><t>e@f.example</t></is></c>${SHARED.repeat(8)}</row>`,
  })
  const { rows } = await readBytes(bytes)
  expect(rows.map(({ kind }) => kind)).toEqual(['billable', 'refused', 'billable', 'billable'])
  expect(rows[1]).toMatchObject({ cells: [], error: LONG_LINE })
  expect(rows[3]?.cells.length).toBe(9)
})

test('a row of long texts is refused before all of them are stored', async () => {
  const bytes = await xlsxOf({
    rows: `${rowOf('Email')}${rowOf(...Array(200).fill('y'.repeat(8_000)))}${rowOf('a@b.example')}`,
  })
  const { rows, summary } = await readBytes(bytes)
  expect(rows).toMatchObject([{ cells: [], error: LONG_LINE }, { kind: 'billable' }])
  expect(summary.columns).toBe(1)
})

const RUNS = `<r><t>${'z'.repeat(60_000)}</t></r>`.repeat(20)

test('a text of many runs is a cell, and bounded like one', async () => {
  const inCell = await xlsxOf({ rows: `<row><c t="inlineStr"><is>${RUNS}</is></c></row>` })
  const shared = await xlsxOf({ rows: `<row>${SHARED}</row>`, strings: `<si>${RUNS}</si>` })
  const paragraphs = `<text:p>${'z'.repeat(60_000)}</text:p>`.repeat(20)
  const ods = await odsOf(odsRow(`<table:table-cell>${paragraphs}</table:table-cell>`))
  const empty = await odsOf(
    odsRow(`<table:table-cell>${'<text:p/>'.repeat(1_100_000)}</table:table-cell>`),
  )
  for (const bytes of [inCell, shared, ods, empty]) {
    await expect(readBytes(bytes)).rejects.toThrow('A cell of the workbook is over 1 MiB')
  }
})

test('repeated rows come in blocks of bounded size', async () => {
  const filled = odsRow(odsCell('a@b.example'), 50_000)
  const bytes = await odsOf((filled + odsRow('', 90_000)).repeat(3) + filled)
  const folder = await mkdtemp(join(tmpdir(), 'batch-file-'))
  try {
    const path = join(folder, 'repeated.ods')
    await writeFile(path, bytes)
    const signal = AbortSignal.timeout(20_000)
    await using workbook = await openOds(await openZip(path), uploadLimits(), signal)
    const sizes: number[] = []
    for (const sheet of workbook.sheets) {
      for await (const rows of workbook.rows(sheet, signal)) sizes.push(rows.length)
    }
    expect(Math.max(...sizes)).toBe(1_000)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(4 * 50_000 + 3 * 90_000)
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('an ODS row over the line limit is refused, as often as it is repeated', async () => {
  const long = odsRow(odsCell('x'.repeat(8_000)).repeat(20), 3)
  const { rows } = await readBytes(await odsOf(odsRow(odsCell('a@b.example')) + long))
  expect(rows.map(({ error }) => error)).toEqual([undefined, LONG_LINE, LONG_LINE, LONG_LINE])
})

test('the text of a workbook is bounded like that of a file', async () => {
  const row = `<row><c t="inlineStr"><is><t>a@b.example</t></is></c>${SHARED.repeat(7)}</row>`
  const strings = `<si><t>${'x'.repeat(8_000)}</t></si>`
  const bytes = await xlsxOf({ rows: rowOf('Email') + row.repeat(100), strings })
  const limits = { ...uploadLimits(), uploadBytes: 1_000_000 }
  expect(bytes.length).toBeLessThan(10_000)
  await expect(readBytes(bytes, { limits })).rejects.toThrow('more than 1000000 characters')
})

test('the names of a ZIP file are bounded together', async () => {
  const entries = Array.from({ length: 100 }, (_, at) => ({
    name: `${at}${'n'.repeat(60_000)}`,
    packed: Buffer.from([3, 0]),
    sizeBytes: 0,
  }))
  await expect(readBytes(rawZip(entries))).rejects.toThrow('names and comments of the ZIP file')
})

test('a long text above several columns is no group of a two-row header', () => {
  const found = (group: string): boolean => {
    const upper = ['Email', group, '', '']
    const lower = ['', 'Home', 'Work', 'Fax']
    const data = ['a@b.example', '+442079460123', '+442079460124', '+442079460125']
    return findGroupedHeader([upper, lower, data]) !== undefined
  }
  expect(found('Phones')).toBe(true)
  expect(found('P'.repeat(60_000))).toBe(false)
})

test('the keys of JSON records that become columns are no longer than a header', async () => {
  const lines = Array.from({ length: 20 }, (_, at) =>
    JSON.stringify({ email: `a${at}@b.example`, [`${at}${'k'.repeat(20_000)}`]: 1 }),
  )
  const { rows, summary } = await readBytes(lines.join('\n'), { fileName: 'file.ndjson' })
  expect(summary.header?.map((name) => name.length)).toEqual([5, 20_001, 20_001, 20_001])
  expect(summary.hasRest).toBe(true)
  expect(rows.every(({ kind }) => kind === 'billable')).toBe(true)
  const columns = createJsonColumns(['email'], { columns: 3, lineBytes: 100 })
  for (const key of ['a', 'b', 'c']) columns.add(key)
  expect(columns.names).toEqual(['email', 'a', 'b'])
})
