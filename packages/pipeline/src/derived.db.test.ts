import { buffer } from 'node:stream/consumers'
import type { BatchView } from '@plumbline/contract/batch-view'
import { readBatch } from '@plumbline/db/batches/rows'
import { closeFinishedBatches } from '@plumbline/db/batches/stages'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { createScorer } from '@plumbline/scoring/score'
import { overlayWeights } from '@plumbline/scoring/weights'
import { losingDb } from '@plumbline/testkit/losing-db'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { rowOf, xlsxOf } from '@plumbline/intake/workbook-fixture'
import ExcelJS from 'exceljs'
import iconv from 'iconv-lite'
import Papa from 'papaparse'
import { describe, expect, test, vi } from 'vitest'
import { cancelBatch } from './cancel.ts'
import { deleteBatch } from './erase.ts'
import { runIntake } from './intake-stage.ts'
import { getBatch } from './read.ts'
import { recheckBatch, writeRecheck } from './recheck.ts'
import { rescoreBatch } from './rescore.ts'
import { resultsText } from './results-fixture.ts'
import { openResults, type ResultsRequest } from './results.ts'
import { openScorers } from './scorers.ts'

async function run(harness: TestPipeline, { id }: Pick<BatchView, 'id'>): Promise<BatchView> {
  await harness.workStages()
  await harness.pipeline.db.pool.query('update batches set lease_until = null')
  await harness.workStages()
  await harness.answer()
  await closeFinishedBatches(harness.pipeline.db)
  await harness.workStages()
  return await getBatch(harness.pipeline, harness.owner, id)
}

async function completed(
  harness: TestPipeline,
  content: string | Uint8Array,
  options: Parameters<TestPipeline['submit']>[1] = {},
): Promise<BatchView> {
  const view = await harness.read(content, options)
  return await run(harness, view)
}

async function tableOf(
  harness: TestPipeline,
  id: string,
  wanted: Partial<ResultsRequest> = {},
): Promise<readonly (readonly string[])[]> {
  const csv = await resultsText(harness, id, { format: 'csv', raw: true, ...wanted })
  return Papa.parse<string[]>(csv, { delimiter: ',', newline: '\r\n', skipEmptyLines: true }).data
}

/** The cells of the customer's columns in the workbook of a batch, without their names. */
async function sheetOf({ pipeline, owner }: TestPipeline, id: string): Promise<readonly unknown[]> {
  const request = { format: 'xlsx', only: [], raw: false, after: 0, columns: ['input'] } as const
  const workbook = new ExcelJS.Workbook()
  const bytes = await buffer((await openResults(pipeline, owner, id, request)).stream)
  // Safe because ExcelJS only reads it; its types expect a Buffer of an older Node.
  await workbook.xlsx.load(bytes as unknown as ArrayBuffer)
  const rows: unknown[] = []
  workbook.worksheets[0]?.eachRow(({ values }) => rows.push(values))
  return rows.slice(1)
}

function isPage(asked: unknown): boolean {
  return (asked as { readonly name?: string }).name === 'chunks.page'
}

const WISH = { chargeUnknown: true } as const
const ADDRESSES = Array.from({ length: 60 }, (_, no) => `user${no}@example.com`)
const LIST = [
  'Notes,E-mail,"last, first"',
  ...ADDRESSES.map((address, no) => `"n ""${no}""\n=1+1",${address},سيرة`),
  ',,',
  `again,${ADDRESSES[9]},`,
  'none,,',
].join('\n')

describe('a recheck', () => {
  test('checks the selected rows again, unchanged, and is charged for them', async () => {
    await using harness = await openTestPipeline({ limits: { chunkRecords: 7 } })
    const { pipeline, owner } = harness
    const first = await completed(harness, LIST)
    const only = ['unknown', 'risky']
    const made = await recheckBatch(pipeline, owner, first.id, { only, ...WISH })
    expect(made).toMatchObject({
      status: 'analyzing',
      origin: { batch: first.id, kind: 'recheck' },
    })
    const again = await run(harness, made)
    const chosen = await tableOf(harness, first.id, { only })
    expect(chosen.length).toBeGreaterThan(5)
    expect(again).toMatchObject({
      status: 'completed',
      mapping: { email: { column: 1 } },
      rows: { total: chosen.length - 1, refused: 0, blank: 0 },
    })
    expect(again.credits.used).toBe(again.rows.billable)
    expect(await tableOf(harness, again.id, { columns: ['input'] })).toEqual(
      chosen.map((row) => row.slice(0, 3)),
    )
    expect(await auditLedger(pipeline.db)).toEqual([])
  })

  test.each([
    ['list.ndjson', undefined],
    [null, 'records'],
  ] as const)('of %s keeps keys and values', async (fileName, format) => {
    await using harness = await openTestPipeline()
    const lines = ADDRESSES.map((email, no) => JSON.stringify({ email, ref: `r${no}` }))
    const first = await completed(harness, lines.join('\n'), {
      fileName,
      ...(format === undefined ? {} : { format }),
    })
    const only = ['check_again']
    const { pipeline, owner } = harness
    const again = await run(
      harness,
      await recheckBatch(pipeline, owner, first.id, { only, ...WISH }),
    )
    const columns = ['email', 'ref']
    expect(again.status).toBe('completed')
    expect(await tableOf(harness, again.id, { columns })).toEqual(
      await tableOf(harness, first.id, { only, columns }),
    )
  })

  test('of NDJSON keeps lines that are no object', async () => {
    await using harness = await openTestPipeline()
    const lines = ['no "object"', JSON.stringify({ email: ADDRESSES[0] }), '["x"]', '"y"']
    const asked = { fileName: 'list.ndjson' }
    const first = await completed(harness, lines.join('\n'), asked)
    const { pipeline, owner } = harness
    const only = ['done', 'refused']
    const made = await recheckBatch(pipeline, owner, first.id, { only, ...WISH })
    const again = await run(harness, made)
    expect(again.rows).toMatchObject({ total: 4, refused: 3 })
    const columns = ['email', 'input.rest', 'result.error']
    const table = await tableOf(harness, again.id, { columns })
    expect(table).toEqual(await tableOf(harness, first.id, { columns }))
    expect(table[1]?.[1]).toBe(lines[0])
  })

  test('reads a row of any length again that the first batch has read', async () => {
    await using harness = await openTestPipeline()
    const { pipeline, owner } = harness
    // Each quote is doubled where the row is copied as CSV, and each cell gets two more.
    const note = 'a"'.repeat(4_000)
    const list = ['E-mail', ...'abcdefg'].join('\t')
    const row = [ADDRESSES[0], ...Array.from({ length: 7 }, () => note)].join('\t')
    const first = await completed(harness, `${list}\n${row}\n`)
    expect(first.rows).toMatchObject({ total: 1, refused: 0 })
    const wish = { only: ['done'], ...WISH }
    const again = await run(harness, await recheckBatch(pipeline, owner, first.id, wish))
    expect(again.rows).toMatchObject({ total: 1, refused: 0, billable: 1 })
    const columns = ['input']
    expect(await tableOf(harness, again.id, { columns })).toEqual(
      await tableOf(harness, first.id, { columns }),
    )
  })

  test.each([
    [
      'list.ndjson',
      '{"email":"gone.example","phone":"+442079460123"}',
      '{"email":"kept@a.example"}',
    ],
    ['list.csv', 'gone.example,+442079460123', 'kept@a.example'],
  ])('of %s needs no column that its rows have no value for', async (fileName, row, other) => {
    await using harness = await openTestPipeline()
    const { pipeline, owner } = harness
    const asked = { fileName, product: 'contact-intel' } as const
    const first = await completed(harness, `${row}\n${other}\n`, asked)
    expect(first.mapping).toMatchObject({ email: {}, phone: {} })
    const [, ...rows] = await tableOf(harness, first.id, { columns: ['result.email.reason'] })
    const only = [rows[1]?.[0] ?? '']
    expect(rows[0]).not.toEqual(only)
    const made = await recheckBatch(pipeline, owner, first.id, { only, ...WISH })
    expect(await run(harness, made)).toMatchObject({ status: 'completed', rows: { total: 1 } })
  })

  test('reads a file again whose text is longer in UTF-8 than a file may be', async () => {
    const lines = ADDRESSES.map((address) => `${address};${'имя, фамилия '.repeat(3)}`)
    const list = iconv.encode(`E-mail;Имя\n${lines.join('\n')}\n`, 'windows-1251')
    await using harness = await openTestPipeline({ limits: { uploadBytes: list.length } })
    const { pipeline, owner } = harness
    const requested = { encoding: 'windows-1251' } as const
    const first = await completed(harness, list, { requested })
    const wish = { only: ['done'], ...WISH }
    const again = await run(harness, await recheckBatch(pipeline, owner, first.id, wish))
    expect(again).toMatchObject({ status: 'completed', rows: { total: ADDRESSES.length } })
  })

  test("selects rows by their age: their own if stored, else that of the chunk's settlement", async () => {
    await using harness = await openTestPipeline()
    const { pipeline, owner } = harness
    const plain = await completed(harness, LIST)
    const wish = { older_than_days: 30, start: false, ...WISH }
    const ready = async (id: string): Promise<BatchView> =>
      await run(harness, await recheckBatch(pipeline, owner, id, wish))
    expect(await ready(plain.id)).toMatchObject({ status: 'failed' })
    await pipeline.db.pool.query(`update chunks set settled_at = now() - interval '31 days'`)
    expect(await ready(plain.id)).toMatchObject({ status: 'ready', rows: { total: 61 } })
    // The instant engines date their outcomes at the start of 2026, and a batch that explains
    // stores that.
    const told = await completed(harness, LIST, { explain: true })
    expect(await ready(told.id)).toMatchObject({ status: 'ready', rows: { total: 61 } })
  })

  test('that is stopped reads no further, also while no row matches', async () => {
    await using harness = await openTestPipeline({ limits: { chunkRecords: 2 } })
    const { pipeline, owner } = harness
    const first = await completed(harness, LIST)
    const only = ['mailbox_full']
    const made = await recheckBatch(pipeline, owner, first.id, { only, ...WISH })
    const batch = await readBatch(pipeline.db, made.id)
    if (batch === undefined) throw new Error('the recheck is gone')
    const stop = new AbortController()
    const query = pipeline.db.pool.query.bind(pipeline.db.pool)
    let pagesRead = 0
    const pages = vi.spyOn(pipeline.db.pool, 'query').mockImplementation((...asked: unknown[]) => {
      if (isPage(asked[0]) && ++pagesRead === 3) stop.abort()
      return query(...(asked as Parameters<typeof query>))
    })
    const asked = { of: first.id, only, olderThanDays: null }
    await expect(writeRecheck(pipeline, batch, asked, stop.signal)).rejects.toThrow('aborted')
    expect(pagesRead).toBeLessThan(6)
    pages.mockRestore()
  })

  test('of rows that are erased meanwhile fails with that reason, and charges nothing', async () => {
    await using harness = await openTestPipeline()
    const { pipeline, owner } = harness
    const first = await completed(harness, LIST)
    const made = await recheckBatch(pipeline, owner, first.id, { only: ['done'], ...WISH })
    await deleteBatch(pipeline, owner, first.id)
    expect(await run(harness, made)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('erased') },
      credits: { used: 0, held: 0 },
    })
  })

  test('of rows that do not exist fails with that reason, and charges nothing', async () => {
    await using harness = await openTestPipeline()
    const { pipeline, owner } = harness
    const first = await completed(harness, LIST)
    const made = await recheckBatch(pipeline, owner, first.id, { only: ['canceled'], ...WISH })
    expect(await run(harness, made)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('No row of that batch matches') },
      credits: { used: 0, held: 0 },
    })
  })

  test('is refused for a batch that has not ended, and for another account', async () => {
    await using harness = await openTestPipeline()
    const { pipeline, owner } = harness
    const { id } = await harness.read(LIST)
    const wish = { only: ['unknown'], ...WISH }
    await expect(recheckBatch(pipeline, owner, id, wish)).rejects.toMatchObject({
      code: 'conflict',
    })
    const other = { ...owner, mode: 'test' } as const
    await expect(recheckBatch(pipeline, other, id, wish)).rejects.toMatchObject({
      code: 'not_found',
    })
  })
})

describe('a rescore', () => {
  const light = overlayWeights(
    JSON.stringify({ version: 'light', groups: { 'ip.anonymity': { vpn: 0 } } }),
    'the test',
  )
  const rows = Array.from({ length: 40 }, (_, no) => `bob${no}@example.com,203.0.113.${no}`)
  const scored = `email,ip\n${[...rows, rows[3], ','].join('\n')}\n`

  test('scores the same outcomes with other weights, without checks or charges', async () => {
    await using harness = await openTestPipeline({ limits: { chunkRecords: 7 } })
    const { pipeline, owner } = harness
    const first = await completed(harness, scored, { product: 'fraud-signals' })
    await openScorers(pipeline.db, light, createScorer)
    const made = await rescoreBatch(pipeline, owner, first.id, { weights: light.version })
    const again = await run(harness, made)
    expect(again).toMatchObject({
      status: 'completed',
      weights: light.version,
      origin: { batch: first.id, kind: 'rescore' },
      rows: first.rows,
      credits: { estimate: 0, held: 0, used: 0 },
      progress: 1,
    })
    expect(again.verdicts).not.toEqual(first.verdicts)
    expect(Object.values(again.verdicts).reduce((sum, count) => sum + count, 0)).toBe(40)
    const columns = ['input', 'result.email.status', 'result.ip.reason', 'result.error']
    const facts = await tableOf(harness, first.id, { columns })
    expect(await tableOf(harness, again.id, { columns })).toEqual(facts)
    const scores = ['result.fraud_score', 'result.advice']
    const [before, after] = [first, again].map(({ id }) =>
      tableOf(harness, id, { columns: scores }),
    )
    expect(await after).not.toEqual(await before)
    const charged = await tableOf(harness, again.id, { columns: ['result.credits_charged'] })
    expect(new Set(charged.slice(1).flat())).toEqual(new Set(['0']))
    expect(await auditLedger(pipeline.db)).toEqual([])
    await deleteBatch(pipeline, owner, first.id)
    expect(await tableOf(harness, again.id, { columns })).toEqual(facts)
  })

  test('that is canceled before its rows are copied has scores by its own weights alone', async () => {
    await using harness = await openTestPipeline()
    const { pipeline, owner } = harness
    const first = await completed(harness, scored, { product: 'fraud-signals' })
    await openScorers(pipeline.db, light, createScorer)
    const { id } = await rescoreBatch(pipeline, owner, first.id, { weights: light.version })
    await cancelBatch(pipeline, owner, id)
    const again = await run(harness, { id })
    expect(again).toMatchObject({ status: 'canceled', weights: light.version })
    expect(again.verdicts).not.toEqual(first.verdicts)
    const levels = await tableOf(harness, id, { columns: ['result.risk_level'] })
    // The last two rows: a duplicate, which is not counted, and one without values.
    const counted = Object.groupBy(levels.slice(1, 41).flat(), (level) => level)
    for (const [level, count] of Object.entries(again.verdicts)) {
      expect(counted[level]?.length ?? 0).toBe(count)
    }
  })

  test('of a canceled batch scores what was done, also if chunks were left untouched', async () => {
    await using harness = await openTestPipeline({ limits: { chunkRecords: 14 } })
    const { pipeline, owner } = harness
    const begun = await harness.read(scored, { product: 'fraud-signals' })
    await harness.answer(1)
    await cancelBatch(pipeline, owner, begun.id)
    await harness.workStages()
    const first = await getBatch(pipeline, owner, begun.id)
    expect(first).toMatchObject({ status: 'canceled', rows: { total: 42 } })
    await openScorers(pipeline.db, light, createScorer)
    const made = await rescoreBatch(pipeline, owner, first.id, { weights: light.version })
    const again = await run(harness, made)
    expect(again).toMatchObject({ status: 'completed', error: null, rows: first.rows })
    const columns = ['input', 'result.email.status', 'result.ip.reason', 'result.error']
    expect(await tableOf(harness, again.id, { columns })).toEqual(
      await tableOf(harness, first.id, { columns }),
    )
  })

  test('has all rows, even if those of a commit were lost', async () => {
    await using harness = await openTestPipeline({ limits: { chunkRecords: 4 } })
    const { pipeline, owner } = harness
    const first = await completed(harness, scored, { product: 'fraud-signals' })
    const { id } = await rescoreBatch(pipeline, owner, first.id, {})
    const db = losingDb(pipeline.db, (transaction) => transaction === 1)
    const never = new AbortController().signal
    const copied = runIntake({ ...pipeline, db }, { batchId: id, lease: 1 }, never)
    await expect(copied).rejects.toThrow('rows are stored of 42')
    expect(await run(harness, { id })).toMatchObject({ status: 'completed', rows: first.rows })
  })

  test('is refused for unknown weights, and for products without a score', async () => {
    await using harness = await openTestPipeline()
    const { pipeline, owner } = harness
    const first = await completed(harness, scored, { product: 'fraud-signals' })
    const emails = await completed(harness, LIST)
    const refused = { code: 'unprocessable' }
    await expect(
      rescoreBatch(pipeline, owner, first.id, { weights: 'none' }),
    ).rejects.toMatchObject(refused)
    await expect(rescoreBatch(pipeline, owner, emails.id, {})).rejects.toMatchObject(refused)
  })

  test('of outcomes that are erased meanwhile fails with that reason', async () => {
    await using harness = await openTestPipeline()
    const { pipeline, owner } = harness
    const first = await completed(harness, scored, { product: 'fraud-signals' })
    const made = await rescoreBatch(pipeline, owner, first.id, {})
    await deleteBatch(pipeline, owner, first.id)
    expect(await run(harness, made)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('erased') },
    })
  })
})

test('cells of a workbook keep their types in a recheck and a rescore', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const cells = ['bob@example.com', '203.0.113.7', '1234', '2024-01-31']
  const row = `<row>${cells.map((cell) => `<c t="str"><v>${cell}</v></c>`).join('')}</row>`
  const sheet = `${rowOf('email', 'ip', 'code', 'day')}${row}`
  const asked = { fileName: 'list.xlsx', product: 'fraud-signals' } as const
  const first = await completed(harness, await xlsxOf({ sheets: { sheet } }), asked)
  const wish = { only: ['done'], ...WISH }
  const checked = await run(harness, await recheckBatch(pipeline, owner, first.id, wish))
  const scored = await run(harness, await rescoreBatch(pipeline, owner, first.id, {}))
  for (const { id } of [first, checked, scored]) {
    expect(await sheetOf(harness, id)).toEqual([[undefined, ...cells]])
  }
})
