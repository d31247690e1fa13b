import { text } from 'node:stream/consumers'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import Papa from 'papaparse'
import { expect, test, vi } from 'vitest'
import { readBatch } from '@plumbline/db/batches/rows'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { cancelBatch, failBatch } from './cancel.ts'
import { valueText } from '@plumbline/intake/json-row'
import { resultsText } from './results-fixture.ts'
import { openResults } from './results.ts'

const ROWS = 300
const HALF = ROWS / 2

/**
 * A batch whose second half duplicates the first, each of its chunks with rows of all earlier
 * chunks.
 */
function halfRepeated(): string {
  const first = Array.from({ length: HALF }, (_, no) => `user${no}@example.com`)
  const second = first.map((_, no) => first[(no * 47) % HALF])
  return `email\n${[...first, ...second].join('\n')}\n`
}

async function linesAfter(harness: TestPipeline, id: string, after: number): Promise<string[]> {
  return (await resultsText(harness, id, { after, follows: true })).split('\n').slice(0, -1)
}

test('a download from the middle finds the outcomes of earlier rows, each of their chunks once', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 10 } })
  const { id } = await harness.read(halfRepeated())
  await harness.answer()
  const all = await linesAfter(harness, id, 0)
  expect(all).toHaveLength(ROWS)
  const statements = vi.spyOn(harness.pipeline.db.pool, 'query')
  expect(await linesAfter(harness, id, HALF)).toEqual(all.slice(HALF))
  const asked = statements.mock.calls.flatMap(([query]) => earlierChunksIn(query))
  expect(asked.toSorted((one, other) => one - other)).toEqual(
    Array.from({ length: 15 }, (_, no) => no),
  )
  expect(await linesAfter(harness, id, 294)).toEqual(all.slice(294))
  expect(await linesAfter(harness, id, ROWS)).toEqual([])
})

test('a download from the middle waits for its turn before each earlier chunk that it decodes', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 10 } })
  const { pipeline, owner } = harness
  const { id } = await harness.read(halfRepeated())
  await harness.answer()
  const request = { format: 'ndjson', only: [], raw: false, after: HALF } as const
  let turns = 0
  const turn = async (): Promise<void> => {
    turns += 1
    await nextTurn()
  }
  await text((await openResults(pipeline, owner, id, request, turn)).stream)
  const [atStart, earlierChunks, chunks] = [1, 15, 15]
  expect(turns).toBeGreaterThanOrEqual(atStart + earlierChunks + chunks)
})

test('a duplicate of an open row is not shown as canceled', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 10 } })
  const { id } = await harness.read(`${halfRepeated()}last@example.com\n`)
  await harness.pipeline.db.pool.query('delete from tasks where chunk_no < 15')
  await harness.answer()
  expect(await linesAfter(harness, id, HALF)).toEqual([])
  const [last] = await linesAfter(harness, id, ROWS)
  expect(last).toContain('"status":"done"')
})

test.each(['csv', 'ndjson'] as const)(
  'rows without outcomes because of a cancel say so in %s, before their other errors',
  async (format) => {
    await using harness = await openTestPipeline({ limits: { chunkRecords: 2 } })
    const content = 'email,phone\na@b.example,\n,\nc@d.example,oops\n,+14155550100\nc@d.example,\n'
    const { id } = await harness.read(content, { product: 'deliverability' })
    await harness.pipeline.db.pool.query('delete from tasks where chunk_no > 0')
    await harness.answer()
    await cancelBatch(harness.pipeline, harness.owner, id)
    await harness.workStages()
    const text = await resultsText(harness, id, { format })
    const errors =
      format === 'csv'
        ? Papa.parse<string[]>(text)
            .data.slice(1, -1)
            .map((row) => row.at(-1))
        : text.split('\n').slice(0, -1).map(errorIn)
    const canceled = 'canceled: the batch was canceled before this record was answered'
    const none = format === 'csv' ? '' : null
    expect(errors).toEqual([
      none,
      none,
      `${canceled}; phone: is not a phone number`,
      'email: is missing',
      canceled,
    ])
  },
)

test('values of a JSON batch without a column are in `input.rest`, and invalid lines are unchanged', async () => {
  await using harness = await openTestPipeline({ limits: { columns: 2 } })
  const content = [
    '{"email":"a@b.example","n":1}',
    'no, "object"',
    '{"email":"c@d.example","x":[7]}',
  ]
  const { id } = await harness.read(content.join('\n'), { fileName: 'a.ndjson' })
  await harness.answer()
  const csv = Papa.parse<string[]>(await resultsText(harness, id, { format: 'csv' })).data
  expect(csv.slice(0, 4).map((cells) => [...cells.slice(0, 3), cells.at(-1)])).toEqual([
    ['email', 'n', 'input.rest', 'result.error'],
    ['a@b.example', '1', '', ''],
    ['', '', 'no, "object"', 'the line is not a JSON object'],
    ['c@d.example', '', '{"x":[7]}', ''],
  ])
  const inputs = (await resultsText(harness, id)).split('\n').slice(0, -1).map(inputIn)
  expect(inputs).toEqual([
    { email: 'a@b.example', n: 1 },
    'no, "object"',
    { email: 'c@d.example', x: [7] },
  ])
})

test('cells beyond the column limit are joined into one more column', async () => {
  await using harness = await openTestPipeline({ limits: { columns: 2 } })
  const { id } = await harness.read('email,name\na@b.example,Ann\nc@d.example,Cy,"x,y",=1\n')
  await harness.answer()
  const csv = Papa.parse<string[]>(await resultsText(harness, id, { format: 'csv' })).data
  expect(csv.slice(0, 3).map((cells) => [...cells.slice(0, 3), cells.at(-1)])).toEqual([
    ['email', 'name', 'input.rest', 'result.error'],
    ['a@b.example', 'Ann', '', ''],
    ['c@d.example', 'Cy', `"x,y",'=1`, 'the record has 4 columns; the most is 2'],
  ])
  const [, wide] = (await resultsText(harness, id)).split('\n').map(inputIn)
  expect(wide).toEqual(['c@d.example', 'Cy', '"x,y",=1'])
})

test('CSV after a row has no header line, and a verdict that the product does not have selects no row', async () => {
  await using harness = await openTestPipeline()
  const content = 'email,note\na@b.example,"two\nlines"\nc@d.example,x\n'
  const { id } = await harness.read(content)
  await harness.answer()
  const csv = await resultsText(harness, id, { format: 'csv' })
  const after = await resultsText(harness, id, { format: 'csv', after: 1 })
  expect(after).toMatch(/^c@d\.example,x,/)
  expect(csv.endsWith(after)).toBe(true)
  expect(await resultsText(harness, id, { only: ['low', 'medium', 'high'] })).toBe('')
})

test.each([
  ['batch.csv', 'email,name\na@b.example,Ann\n', 'c@d.example,'],
  ['batch.txt', 'a@b.example\n', ''],
  ['batch.ndjson', '{"email":"a@b.example"}\n', '{"email":"c@d.example"}'],
])('of a line over the limit in %s no content is stored', async (fileName, start, line) => {
  await using harness = await openTestPipeline()
  for (const chars of [100_000, 200_000]) {
    const { id } = await harness.read(start + line.padEnd(chars), { fileName })
    await harness.answer()
    const lines = (await resultsText(harness, id)).split('\n')
    const error = 'the line is over 65536 bytes'
    const none = { result: null, advice: null, why: null, suggestion: null, credits_charged: 0 }
    const kept = { row: 2, ref: null, input: null, status: 'refused', ...none }
    expect(JSON.parse(lines[1] ?? '')).toEqual({ ...kept, error })
    const [, , last = []] = Papa.parse<string[]>(
      await resultsText(harness, id, { format: 'csv' }),
    ).data
    expect(last.filter((cell) => cell !== '')).toEqual(['0', error])
  }
})

const CELL = fc.oneof(
  { arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }), weight: 3 },
  {
    arbitrary: fc.constantFrom(
      '',
      ' ',
      '"',
      '""',
      ',',
      '\n',
      '\r\n',
      '=1+1',
      "'=1",
      '+1',
      '\ufeff',
      ' a ',
    ),
    weight: 2,
  },
)

test('whatever the cells of a batch contain, its results have the same cells', async () => {
  await using harness = await openTestPipeline({ limits: { unfinishedBatches: 1_000_000 } })
  const tables = fc.array(fc.tuple(CELL, CELL, CELL), { minLength: 1, maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(tables, async (cells) => {
      // The first column has no address, so that every row is refused and available at once.
      const rows = cells.map((row) => ['', ...row.map((cell) => cell.replaceAll('\0', '')), 'end'])
      const content = Papa.unparse([['email', 'a', 'b', 'c', 'd'], ...rows], { quotes: true })
      const { id } = await harness.read(content, {
        requested: { mapping: { email: 'email' }, header: true },
      })
      const csv = await rowsOf(harness, id)
      expect(csv.slice(1, -1).map((row) => row.slice(0, 5))).toEqual(rows)
      const inputs = (await resultsText(harness, id)).split('\n').slice(0, -1).map(inputIn)
      expect(inputs.map((input) => Object.values(Object(input)))).toEqual(rows)
    }),
    { numRuns: 25 },
  )
})

test('whatever the values of a JSON batch are, its results have the same values', async () => {
  await using harness = await openTestPipeline({
    limits: { unfinishedBatches: 1_000_000, columns: 4 },
  })
  const record = fc.dictionary(
    fc.constantFrom('a', 'b', 'c', 'd', 'e', '__proto__', 'f\0'),
    fc.jsonValue(),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 20 }), async (records) => {
      const lines = [{ email: null, a: 'x' }, ...records].map((one) => JSON.stringify(one))
      const { id } = await harness.read(lines.join('\n'), {
        fileName: 'a.ndjson',
        requested: { mapping: { email: 'email' } },
      })
      const [names = [], ...rows] = await rowsOf(harness, id)
      const own = names.slice(0, names.indexOf('result.email'))
      for (const [no, line] of lines.entries()) {
        const shown = recordIn(own, rows[no] ?? [])
        for (const [key, value] of Object.entries(JSON.parse(line) as object)) {
          expect([key, shown.get(key)]).toEqual([key, valueText(value)])
        }
      }
    }),
    { numRuns: 25 },
  )
})

async function rowsOf(harness: TestPipeline, id: string): Promise<readonly (readonly string[])[]> {
  const csv = await resultsText(harness, id, { format: 'csv', raw: true })
  return Papa.parse<string[]>(csv, { delimiter: ',', newline: '\r\n' }).data
}

/** The texts of a CSV row by key. */
function recordIn(names: readonly string[], cells: readonly string[]): Map<string, string> {
  const shown = new Map<string, string>()
  for (const [at, name] of names.entries()) {
    const cell = cells[at] ?? ''
    if (name !== 'input.rest') shown.set(name, cell)
    else if (cell !== '') {
      const rest = JSON.parse(cell) as object
      for (const [key, value] of Object.entries(rest)) shown.set(key, valueText(value))
    }
  }
  return shown
}

function inputIn(line: string): unknown {
  const { input } = line === '' ? {} : (JSON.parse(line) as { readonly input?: unknown })
  return input
}

function errorIn(line: string): unknown {
  return (JSON.parse(line) as { readonly error?: unknown }).error
}

/** Numbers of the chunks that a statement reads because later rows duplicate their rows. */
function earlierChunksIn(query: unknown): readonly number[] {
  const named = query as { readonly name?: string; readonly values?: [string, number[]] }
  return named.name === 'chunks.answers' ? (named.values?.[1] ?? []) : []
}

test('a batch that failed after it was read gives no file of refused rows, which are erased', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const { id } = await harness.read('email\nada@example.com\n')
  const row = await readBatch(pipeline.db, id)
  await failBatch(
    pipeline,
    { batchId: id, lease: row?.lease ?? 0 },
    { error: 'Internal Server Error', message: 'x' },
  )
  for (const refused of [true, false]) {
    const request = { format: 'csv', only: [], raw: false, after: 0, refused } as const
    await expect(openResults(pipeline, owner, id, request)).rejects.toMatchObject({
      code: 'conflict',
    })
  }
})
