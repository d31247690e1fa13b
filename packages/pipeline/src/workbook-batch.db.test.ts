import { openTestPipeline } from '@plumbline/testkit/pipeline'
import iconv from 'iconv-lite'
import { expect, test } from 'vitest'
import { rowOf, xlsxOf, zipOf } from '@plumbline/intake/workbook-fixture'

const SHEETS = {
  Notes: rowOf('Fill in the next sheet'),
  'قائمة b': `${rowOf('Email', 'Count')}<row><c t="str"><v>ann@a.example</v></c><c><v>2</v></c></row>`,
}

test('a workbook in an archive is read into a batch that names the sheet and file', async () => {
  await using harness = await openTestPipeline()
  const bytes = await zipOf({ 'list.xlsx': await xlsxOf({ sheets: SHEETS }), 'readme.txt': 'x' })
  const batch = await harness.read(bytes, {
    fileName: 'all.zip',
    requested: { entry: 'list.xlsx' },
  })
  expect(batch).toMatchObject({
    rows: { total: 1, billable: 1 },
    file: {
      encoding: null,
      encoding_confidence: null,
      delimiter: null,
      sheet: 'قائمة b',
      sheets: Object.keys(SHEETS),
      entry: 'list.xlsx',
    },
    error: null,
  })
  const { rows } = await harness.pipeline.db.pool.query('select column_types from batches')
  expect(rows).toEqual([{ column_types: ['text', 'number'] }])
})

test('the first sheets of very many are stored and shown', async () => {
  await using harness = await openTestPipeline()
  const names = Array.from({ length: 500 }, (_, no) => `Sheet ${1000 + no}`)
  const sheets = Object.fromEntries(names.map((name) => [name, rowOf('ann@a.example')]))
  const batch = await harness.read(await xlsxOf({ sheets }), { fileName: 'list.xlsx' })
  expect(batch.file?.sheets).toEqual(names.slice(0, 100))
  const { rows } = await harness.pipeline.db.pool.query('select sheets from batches')
  expect(rows).toEqual([{ sheets: names.slice(0, 100) }])
})

test('a sheet whose long name is cut within a character is read', async () => {
  await using harness = await openTestPipeline()
  const name = `${'x'.repeat(254)}😀`
  const bytes = await xlsxOf({ sheets: { [name]: rowOf('ann@a.example') } })
  const batch = await harness.read(bytes, { fileName: 'list.xlsx' })
  expect(batch.file?.sheets).toEqual([`${'x'.repeat(254)}\ufffd`])
})

test('a file of an archive whose name has a NUL is read', async () => {
  await using harness = await openTestPipeline()
  const bytes = await zipOf({ 'a\0b.csv': 'email\nann@a.example\n' })
  const batch = await harness.read(bytes, { fileName: 'all.zip' })
  expect(batch).toMatchObject({ rows: { total: 1 }, file: { entry: 'a\ufffdb.csv' } })
})

test('an archive of several files fails with their names, and holds no credits', async () => {
  await using harness = await openTestPipeline()
  const batch = await harness.read(await zipOf({ 'a.csv': 'x', 'b.csv': 'x' }), {
    fileName: 'all.zip',
  })
  expect(batch).toMatchObject({ status: 'failed', credits: { held: 0, used: 0 } })
  expect(batch.error?.message).toMatch(/`entry`: "a.csv", "b.csv"/)
})

test('the encoding of a text is shown with its confidence, and can be set', async () => {
  await using harness = await openTestPipeline()
  const names = ['Łódź', 'Świętokrzyska', 'Gdańsk', 'Małgorzata Wiśniewska']
  const text = ['email,name', ...names.map((name, at) => `u${at}@a.example,${name}`), ''].join('\n')
  const found = await harness.read(iconv.encode(text, 'windows-1250'))
  expect(found.file).toMatchObject({ encoding: 'windows-1250' })
  expect(found.file?.encoding_confidence).toBeGreaterThan(0.5)
  const told = await harness.read(iconv.encode(text, 'iso-8859-2'), {
    requested: { encoding: 'iso-8859-2' },
  })
  expect(told.file).toMatchObject({ encoding: 'iso-8859-2', encoding_confidence: 1 })
})
