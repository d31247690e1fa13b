import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import ExcelJS from 'exceljs'
import { findBatch } from '@plumbline/db/batches/rows'
import Papa from 'papaparse'
import { expect, test, vi } from 'vitest'
import { fromBuffer, type Entry, type ZipFile } from 'yauzl'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { unguarded } from '@plumbline/intake/csv-cell'
import { completed } from './completed-batch-fixture.ts'
import { pagesOfChunks } from './chunk-pages.ts'
import { openDuplicateOutcomes } from './duplicate-outcomes.ts'
import { openResults, type CsvFile, type Results, type ResultsRequest } from './results.ts'
import { createRowFormatter } from './row-formatter.ts'
import { PATIENT } from '@plumbline/testkit/patience'

const PLAIN: CsvFile = { delimiter: ',', bom: false, sep: false, encoding: 'utf-8' }

async function open(
  harness: TestPipeline,
  id: string,
  wanted: Partial<ResultsRequest>,
): Promise<Results> {
  const request = { format: 'csv', only: [], raw: false, after: 0, ...wanted } as const
  return await openResults(harness.pipeline, harness.owner, id, request)
}

async function bytesOf(
  harness: TestPipeline,
  id: string,
  wanted: Partial<ResultsRequest>,
): Promise<Buffer> {
  return await buffer((await open(harness, id, wanted)).stream)
}

async function tableOf(
  harness: TestPipeline,
  id: string,
  wanted: Partial<ResultsRequest>,
): Promise<readonly (readonly string[])[]> {
  const csv = (await bytesOf(harness, id, wanted)).toString()
  const { delimiter = ',' } = wanted.csv ?? {}
  return Papa.parse<string[]>(csv, { delimiter, newline: '\r\n', skipEmptyLines: true }).data
}

const MIXED = [
  'email,note,"last, first"',
  ...Array.from({ length: 60 }, (_, no) => `user${no}@example.com,n${no},x`),
  ',no address,y',
  'not an address,Grüße 漢,z',
  'user3@example.com,again,=1+1',
]

test('`only` selects rows of any of several verdicts, advices, reasons and statuses', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 7 } })
  const id = await completed(harness, `${MIXED.join('\n')}\n`)
  const all = await tableOf(harness, id, {})
  const [header = [], ...rows] = all
  const at = (name: string): number => header.indexOf(name)
  const shown = async (...only: string[]) => (await tableOf(harness, id, { only })).slice(1)
  const where = (hold: (row: readonly string[]) => boolean) => rows.filter(hold)
  const advice = at('result.advice')
  const reason = at('result.email.reason')
  expect(await shown('send')).toEqual(where((row) => row[advice] === 'send'))
  expect(await shown('caution', 'check_again', 'refused')).toEqual(
    where(
      (row) =>
        ['caution', 'check_again'].includes(row[advice] ?? '') ||
        row[at('result.error')] === 'email: is missing',
    ),
  )
  expect(await shown('invalid_syntax', 'timeout')).toEqual(
    where((row) => ['invalid_syntax', 'timeout'].includes(row[reason] ?? '')),
  )
  expect((await shown('invalid_syntax')).length).toBe(1)
  expect((await shown('send', 'caution', 'do_not_send', 'check_again')).length).toBe(62)
})

test('columns are the requested ones, in their order, by name, number or group', async () => {
  await using harness = await openTestPipeline()
  const id = await completed(harness, `${MIXED.join('\n')}\n`)
  const columns = ['result.advice', 'last, first', '0', 'result.row']
  const [names, first] = await tableOf(harness, id, { columns })
  expect(names).toEqual(['result.advice', 'last, first', 'email', 'result.row'])
  expect(first?.slice(1)).toEqual(['x', 'user0@example.com', '1'])
  const [alike] = await tableOf(harness, id, { columns: ['Email', '\u200elast, first '] })
  expect(alike).toEqual(['email', 'last, first'])
  const [all] = await tableOf(harness, id, {})
  const [sides] = await tableOf(harness, id, { columns: ['result', 'input'] })
  expect(sides).toEqual([...(all?.slice(3) ?? []), ...(all?.slice(0, 3) ?? [])])
  for (const odd of ['9', 'nothing', 'result.phone', '']) {
    await expect(open(harness, id, { columns: [odd] })).rejects.toThrow('no column of this batch')
  }
  for (const twice of [
    ['input', 'input'],
    ['email', '0'],
    ['result.row', 'result.row'],
  ]) {
    await expect(open(harness, id, { columns: twice })).rejects.toThrow(/names "[^"]+" twice/)
  }
})

test('a row of one column is a line that no reader takes for none, also if its cell is empty', async () => {
  await using harness = await openTestPipeline()
  const id = await completed(harness, 'email,note\na@b.example,\n,x\n')
  const lines = async (columns: readonly string[], raw: boolean) =>
    (await bytesOf(harness, id, { columns, raw })).toString().split('\r\n')
  for (const raw of [false, true]) {
    expect(await lines(['note'], raw)).toEqual(['note', '""', 'x', ''])
    expect((await lines(['result.email.status'], raw)).slice(2)).toEqual(['""', ''])
    expect(await lines(['note', 'email'], raw)).toEqual(['note,email', ',a@b.example', 'x,', ''])
  }
})

test.each([';', '\t', '|'])(
  'cells are read back unchanged and none is a formula, separated by %j',
  async (delimiter) => {
    await using harness = await openTestPipeline()
    const cells = ['=1+1', 'a|=1+1', 'a;b', 'a|"b', 'x\ty', '|@x', '-1', '+441632960123']
    const content = Papa.unparse([['email', 'note'], ...cells.map((cell) => ['a@b.example', cell])])
    const { id } = await harness.read(content)
    await harness.answer()
    const table = await tableOf(harness, id, { csv: { ...PLAIN, delimiter } })
    const notes = table.slice(1).map(([, note = '']) => note)
    expect(notes.map((note) => unguarded(note, delimiter === '|'))).toEqual(cells)
    for (const note of notes.flatMap((cell) => cell.split(delimiter))) {
      expect(note).not.toMatch(/^[=@]|^[+-](?!\d+$)/)
    }
  },
)

test('byte order marks and other encodings are written as requested', async () => {
  await using harness = await openTestPipeline()
  const id = await completed(harness, 'email,name\na@b.example,Grüße €\nc@d.example,漢字 ☃\n')
  const plain = await bytesOf(harness, id, {})
  const of = async (csv: Partial<CsvFile>) =>
    await bytesOf(harness, id, { csv: { ...PLAIN, ...csv } })
  expect(await of({ bom: true })).toEqual(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), plain]))
  const semicolons = (await of({ sep: true, delimiter: ';' })).toString()
  expect(semicolons).toMatch(/^sep=;\r\nemail;name;/)
  const wide = await of({ encoding: 'utf-16le', bom: true })
  expect(wide.subarray(0, 2)).toEqual(Buffer.from([0xff, 0xfe]))
  expect(wide.subarray(2).toString('utf16le')).toBe(plain.toString())
  const western = await of({ encoding: 'windows-1252' })
  expect(new TextDecoder('windows-1252').decode(western)).toContain('a@b.example,Grüße €,')
  expect(western.toString('latin1')).toContain('c@d.example,?? ?,')
  const eastern = await of({ encoding: 'gb18030' })
  expect(new TextDecoder('gb18030').decode(eastern)).toBe(plain.toString())
})

test('the refused rows are available before the start, with their numbers', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 3 } })
  const { id, status } = await harness.read(`${MIXED.join('\n')}\n,second,\n`, { autoStart: false })
  expect(status).toBe('ready')
  const expected = [
    ['email', 'note', 'last, first', 'result.row', 'result.error'],
    ['', 'no address', 'y', '61', 'email: is missing'],
    ['', 'second', '', '64', 'email: is missing'],
  ]
  expect(await tableOf(harness, id, { refused: true })).toEqual(expected)
  const lines = (await bytesOf(harness, id, { refused: true, format: 'ndjson' })).toString()
  expect(
    lines
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { row: number }).row),
  ).toEqual([61, 64])
  const sheet = await sheetOf(await bytesOf(harness, id, { refused: true, format: 'xlsx' }))
  expect(sheet.rowCount).toBe(3)
})

test('an archive has each row once, in the file of its advice', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 7 } })
  const id = await completed(harness, `${MIXED.join('\n')}\n`)
  const files = await filesIn(await bytesOf(harness, id, { format: 'zip' }))
  expect([...files.keys()]).toEqual([
    'send.csv',
    'caution.csv',
    'do_not_send.csv',
    'check_again.csv',
  ])
  for (const [name, content] of files) {
    const only = [name.replace('.csv', '')]
    expect(content.toString()).toBe((await bytesOf(harness, id, { only })).toString())
  }
  const phone = await completed(harness, 'phone\n+14155550100\n', { product: 'phone' })
  await expect(open(harness, phone, { format: 'zip' })).rejects.toThrow('have no advice')
})

test('a workbook has every cell with its type, its header frozen and filtered', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 7 } })
  const content = [
    'email,id,signed up,note',
    'a@b.example,007,2024-01-31,=HYPERLINK("http://evil.example")',
    'c@d.example,12,2024-02-29,<b>&',
  ]
  const id = await completed(harness, `${content.join('\n')}\n`)
  const sheet = await sheetOf(await bytesOf(harness, id, { format: 'xlsx' }))
  const csv = await tableOf(harness, id, {})
  const values = (row: number) => (sheet.getRow(row).values as unknown[]).slice(1)
  expect(values(1)).toEqual(csv[0])
  expect(values(2).slice(0, 4)).toEqual([
    'a@b.example',
    '007',
    new Date('2024-01-31T00:00:00Z'),
    '=HYPERLINK("http://evil.example")',
  ])
  expect(values(3).slice(1, 4)).toEqual([12, new Date('2024-02-29T00:00:00Z'), '<b>&'])
  expect(values(3)[csv[0]?.indexOf('result.valid') ?? -1]).toBeTypeOf('boolean')
  expect(sheet.views[0]).toMatchObject({ state: 'frozen', ySplit: 1 })
  expect(sheet.autoFilter).toMatch(/^A1:[A-Z]+3$/)
})

test('columns of an uploaded workbook have their type in the result', async () => {
  await using harness = await openTestPipeline()
  const book = new ExcelJS.Workbook()
  const made = book.addWorksheet('Customers')
  made.addRow(['email', 'postal code', 'rate', 'since', 'at', 'active'])
  made.addRow(['a@b.example', '01067', 45_351 / 7, new Date('2024-02-29'), 0.75, true])
  made.addRow(['c@d.example', '10115', -0.5, new Date('1999-12-31'), 0.25, false])
  made.getColumn(5).numFmt = 'h:mm:ss'
  const bytes = Buffer.from(await book.xlsx.writeBuffer())
  const id = await completed(harness, bytes, { fileName: 'list.xlsx' })
  const before = await sheetOf(bytes)
  const after = await sheetOf(await bytesOf(harness, id, { format: 'xlsx' }))
  const own = (sheet: ExcelJS.Worksheet, number: number) =>
    (sheet.getRow(number).values as unknown[]).slice(1, 7)
  expect(own(after, 2)).toEqual([
    'a@b.example',
    '01067',
    expect.closeTo(45_351 / 7),
    new Date('2024-02-29'),
    expect.any(Date),
    true,
  ])
  for (const number of [1, 2, 3]) {
    const [first, second] = [own(before, number), own(after, number)]
    expect(second.map((cell) => typeof cell)).toEqual(first.map((cell) => typeof cell))
    expect(second.toSpliced(2, 1)).toEqual(first.toSpliced(2, 1))
  }
})

test('a workbook is refused if the rows may not fit on a sheet, and CSV is offered', async () => {
  await using harness = await openTestPipeline()
  const id = await completed(harness, `${MIXED.join('\n')}\n`)
  await harness.pipeline.db.pool.query(
    'update batches set rows_total = 1048576, rows_billable = 1048510 where id = $1',
    [id],
  )
  await expect(open(harness, id, { format: 'xlsx' })).rejects.toThrow('format=csv')
  await expect(open(harness, id, { format: 'xlsx', only: ['timeout'] })).resolves.toBeDefined()
  const risky = await open(harness, id, { format: 'xlsx', only: ['risky', 'refused'] })
  risky.stream.destroy()
})

test('a workbook that is not read to its end leaves nothing open', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 10 } })
  const half = Array.from({ length: 2_000 }, () => `${randomBytes(20).toString('hex')}@example.com`)
  const id = await completed(harness, `email\n${[...half, ...half].join('\n')}\n`)
  for (const format of ['xlsx', 'zip', 'csv'] as const) {
    const { stream } = await open(harness, id, { format, raw: true })
    // Stop reading here: the rest, which cannot be compressed, is larger than any buffer.
    await once(stream, 'readable')
    await vi.waitFor(async () => expect(await repeatsOf(harness)).toHaveLength(1), PATIENT)
    stream.destroy()
    await once(stream, 'close')
    await vi.waitFor(async () => expect(await repeatsOf(harness)).toEqual([]), PATIENT)
  }
})

test.each(['csv', 'ndjson', 'xlsx'] as const)(
  'a download as %s whose client is gone reads no further, also while no row matches',
  async (format) => {
    await using harness = await openTestPipeline({ limits: { chunkRecords: 2 } })
    const id = await completed(harness, `${MIXED.join('\n')}\n`)
    let turns = 0
    let stream: Readable | undefined
    const turn = async (): Promise<void> => {
      turns += 1
      if (turns === 3) stream?.destroy()
      await nextTurn()
    }
    const request = { format, only: ['mailbox_full'], raw: false, after: 0 } as const
    ;({ stream } = await openResults(harness.pipeline, harness.owner, id, request, turn))
    const closed = once(stream, 'close')
    stream.resume()
    await closed
    expect(turns).toBe(3)
  },
)

test('a range of a finished file has exactly the requested bytes', async () => {
  await using harness = await openTestPipeline()
  const id = await completed(harness, `${MIXED.join('\n')}\n`)
  const whole = await bytesOf(harness, id, {})
  const told: unknown[] = []
  const part = await open(harness, id, {
    partOf: (file) => {
      told.push(file)
      return { start: 10, end: 29 }
    },
  })
  expect(await buffer(part.stream)).toEqual(whole.subarray(10, 30))
  expect(told).toMatchObject([{ bytes: whole.length }])
  expect(await text((await open(harness, id, { partOf: () => 'none' })).stream)).toBe('')
})

async function repeatsOf({ pipeline }: TestPipeline): Promise<readonly string[]> {
  return (await readdir(pipeline.scratchDir)).filter((name) => name.startsWith('duplicates-'))
}

async function sheetOf(file: Buffer): Promise<ExcelJS.Worksheet> {
  const workbook = new ExcelJS.Workbook()
  // Safe because ExcelJS only reads it; its types expect a Buffer of an older Node.
  await workbook.xlsx.load(file as unknown as ExcelJS.Buffer)
  const [sheet] = workbook.worksheets
  if (sheet === undefined) throw new Error('the workbook has no sheet')
  return sheet
}

async function filesIn(archive: Buffer): Promise<ReadonlyMap<string, Buffer>> {
  const zip = await promisify<Buffer, { lazyEntries: boolean }, ZipFile>(fromBuffer)(archive, {
    lazyEntries: true,
  })
  const files = new Map<string, Buffer>()
  zip.on('entry', (entry: Entry) => {
    zip.openReadStream(entry, (error, stream) => {
      if (error !== null) throw error
      void buffer(stream).then((content) => {
        files.set(entry.fileName, content)
        zip.readEntry()
      })
    })
  })
  zip.readEntry()
  await once(zip, 'end')
  return files
}

test('lines that repeat long names come in pieces, not a chunk at once', async () => {
  await using harness = await openTestPipeline()
  const rows = Array.from({ length: 60 }, (_, at) => `user${at}@example.com,`)
  const id = await completed(harness, `email,${'n'.repeat(60_000)}\n${rows.join('\n')}\n`)
  const batch = await findBatch(harness.pipeline.db, harness.owner, id)
  if (batch === undefined) throw new Error('the batch is gone')
  const tools = {
    scorer: harness.pipeline.scorers.current,
    duplicates: openDuplicateOutcomes(null, ''),
  }
  const format = { form: { kind: 'ndjson' }, only: null } as const
  const sizes: number[] = []
  for await (const page of pagesOfChunks(harness.pipeline, id)) {
    for (const chunk of page) {
      const { lines } = createRowFormatter(batch, format, tools)
      for (const piece of lines(chunk, 0)) sizes.push(piece.length)
    }
  }
  expect(Math.max(...sizes)).toBeLessThan(256 * 1_024 + 61_000)
  expect(sizes.length).toBeGreaterThan(10)
})
