import type { BatchKnown } from '@plumbline/contract/known-verdicts'
import type { BatchView } from '@plumbline/contract/batch-view'
import { closeFinishedBatches } from '@plumbline/db/batches/stages'
import { createPostgresMemory } from '@plumbline/db/memory'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { findMarks, readPacked, readTables } from '@plumbline/testkit/marks'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import Papa from 'papaparse'
import { describe, expect, test, vi } from 'vitest'
import { cancelBatch } from './cancel.ts'
import { changeBatch } from './change.ts'
import { beginErasure } from './erasure.ts'
import { runIntake } from './intake-stage.ts'
import { previewBatch } from './preview.ts'
import { getBatch } from './read.ts'
import { readKnown } from './read-known.ts'
import { recheckBatch } from './recheck.ts'
import { resultsText } from './results-fixture.ts'
import type { ResultsRequest } from './results.ts'
import { sampleBatch } from './sample.ts'
import type { Submission } from './submit.ts'
import { workErasure } from './work-erasures.ts'

// A batch that accepts another service's verdicts on its addresses.

const NEVER = new AbortController().signal
const TODAY = new Date().toISOString().slice(0, 10)
const KNOWN = { requested: { known: 30, knownAt: TODAY } } as const
const SMALL = { limits: { chunkRecords: 7 } } as const

/**
 * 120 rows with a definite verdict, 10 without, a duplicate of a known one, a blank and a refused
 * one.
 */
const LIST = [
  'Email,Name,ZB Status,ZB Sub Status',
  ...Array.from({ length: 120 }, (_, no) => `p${no}@a.example,سيرة ${no},${wordOf(no)},`),
  ...Array.from({ length: 10 }, (_, no) => `q${no}@a.example,"=1+${no}",catch-all,`),
  'P0@A.EXAMPLE,,,'.replace('P0', 'p0'),
  ',,,',
  ',nobody,valid,',
].join('\r\n')

function wordOf(no: number): string {
  return no % 3 === 0 ? 'invalid' : 'valid'
}

async function run({ pipeline, workStages, answer }: TestPipeline): Promise<void> {
  for (let round = 0; round < 3; round++) {
    await answer()
    await closeFinishedBatches(pipeline.db)
    await pipeline.db.pool.query('update batches set lease_until = null')
    await workStages()
  }
  expect(await auditLedger(pipeline.db)).toEqual([])
}

async function completed(
  harness: TestPipeline,
  options: Partial<Submission> = {},
): Promise<BatchView> {
  const { id } = await harness.read(LIST, { ...KNOWN, ...options })
  await run(harness)
  return await getBatch(harness.pipeline, harness.owner, id)
}

async function known({ pipeline, owner }: TestPipeline, id: string): Promise<BatchKnown> {
  return await readKnown(pipeline, owner, id)
}

async function textOf(
  harness: TestPipeline,
  id: string,
  wanted: Partial<ResultsRequest> = {},
): Promise<string> {
  return await resultsText(harness, id, { raw: true, ...wanted })
}

interface Line {
  readonly row: number
  readonly status: string
  readonly result: object | null
  readonly advice: string | null
  readonly credits_charged: number
  readonly error: string | null
}

async function linesOf(
  harness: TestPipeline,
  id: string,
  wanted: Partial<ResultsRequest> = {},
): Promise<readonly Line[]> {
  const lines = (await textOf(harness, id, wanted)).split('\n').filter((line) => line !== '')
  // Safe because NDJSON results have this shape.
  return lines.map((line) => JSON.parse(line) as Line)
}

describe("a batch that accepts another service's verdicts", () => {
  test('checks 50 of the known rows and all others, is charged for these, and counts add up', async () => {
    await using harness = await openTestPipeline(SMALL)
    const view = await completed(harness)
    expect(view).toMatchObject({
      status: 'completed',
      rows: {
        total: 133,
        blank: 1,
        refused: 1,
        duplicate: 0,
        // The 120 rows less the 50 that are checked, and the duplicate.
        known: 71,
        billable: 60,
        done: 133,
      },
      credits: { estimate: 60, used: 60, held: 0, released: 0 },
    })
    const told = Object.values(view.verdicts).reduce((sum, count) => sum + count, 0)
    expect(told).toBe(60)
  })

  test('shows known rows at their positions, in every format, without result and uncharged', async () => {
    await using harness = await openTestPipeline(SMALL)
    const { id } = await completed(harness)
    const lines = await linesOf(harness, id)
    expect(lines.map(({ row }) => row)).toEqual(Array.from({ length: 133 }, (_, at) => at + 1))
    const kept = lines.filter(({ status }) => status === 'known')
    expect(kept).toHaveLength(71)
    for (const line of kept) {
      const word = line.row === 131 ? undefined : wordOf(line.row - 1)
      const said = `known: ZeroBounce says ${word} of ${TODAY}; not asked and not charged`
      const error = word === undefined ? 'known: the same address as in row 1' : said
      expect(line).toMatchObject({ result: null, advice: null, credits_charged: 0, error })
    }
    expect(await linesOf(harness, id, { only: ['known'] })).toEqual(kept)
    expect(await linesOf(harness, id, { only: ['done'] })).toHaveLength(60)
    const { data } = Papa.parse<Record<string, string>>(
      await textOf(harness, id, { format: 'csv' }),
      { header: true, skipEmptyLines: true },
    )
    expect(data).toHaveLength(133)
    for (const { row, error } of kept) {
      const cells = Object.entries(data[row - 1] ?? {})
      const ours = cells.filter(([name, cell]) => name.startsWith('result.') && cell !== '')
      expect(Object.fromEntries(ours)).toEqual({
        'result.credits_charged': '0',
        'result.error': error,
      })
    }
    expect((await textOf(harness, id, { format: 'xlsx' })).length).toBeGreaterThan(1_000)
  })

  test('shows for each checked known row the other verdict, its own, and whether they agree', async () => {
    await using harness = await openTestPipeline(SMALL)
    const { id } = await completed(harness)
    const view = await known(harness, id)
    const { agreed, disagreed, undecided } = view.rows
    expect(view).toMatchObject({
      vendor: 'zerobounce',
      columns: { verdict: { column: 2, header: 'ZB Status' }, at: null },
      days: 30,
      rows: { known: 71, asked: 50, answered: 50 },
    })
    expect(agreed + disagreed + undecided).toBe(50)
    expect(view.asked.filter(({ agrees }) => agrees === false)).toHaveLength(disagreed)
    // The test engines judge by a hash of the address, so that each kind occurs.
    expect(Math.min(agreed, disagreed, undecided)).toBeGreaterThan(0)
    const lines = await linesOf(harness, id)
    for (const { row, said, found, agrees } of view.asked) {
      expect(said).toMatchObject({ word: wordOf(row - 1), at: TODAY })
      expect(lines[row - 1]).toMatchObject({ status: 'done', credits_charged: 1 })
      const isDefinite = found?.verdict === 'deliverable' || found?.verdict === 'undeliverable'
      expect(agrees).toBe(isDefinite ? found.verdict === said.verdict : null)
    }
  })

  test('waits for a turn before each chunk that it decodes', async () => {
    await using harness = await openTestPipeline(SMALL)
    const { id } = await harness.read(LIST, { ...KNOWN, autoStart: false })
    const turn = vi.fn<() => Promise<void>>(async () => {})
    const { asked } = await readKnown(harness.pipeline, harness.owner, id, turn)
    const chunks = new Set(asked.map(({ row }) => Math.floor((row - 1) / 7)))
    expect(turn).toHaveBeenCalledTimes(chunks.size)
  })

  test('selects the same rows each time it is read, from the whole batch', async () => {
    await using harness = await openTestPipeline(SMALL)
    const { pipeline, owner } = harness
    const { id } = await harness.read(LIST, { ...KNOWN, autoStart: false })
    const rowsOf = async (): Promise<readonly number[]> =>
      (await known(harness, id)).asked.map(({ row }) => row)
    const first = await rowsOf()
    expect(first).toHaveLength(50)
    expect(Math.max(...first) - Math.min(...first)).toBeGreaterThan(60)
    await changeBatch(pipeline, owner, id, { header: true })
    await expect(known(harness, id)).rejects.toMatchObject({ code: 'conflict' })
    await run(harness)
    expect(await rowsOf()).toEqual(first)
  })

  test('checks all known rows if there are no more than 50', async () => {
    await using harness = await openTestPipeline()
    const rows = Array.from({ length: 8 }, (_, no) => `p${no}@a.example,deliverable`)
    const { id } = await harness.read(['email,Bouncer Status', ...rows].join('\n'), KNOWN)
    await run(harness)
    expect(await getBatch(harness.pipeline, harness.owner, id)).toMatchObject({
      status: 'completed',
      rows: { total: 8, known: 0, billable: 8, done: 8 },
      credits: { used: 8 },
    })
    expect((await known(harness, id)).rows).toMatchObject({ known: 0, asked: 8, answered: 8 })
  })
})

describe('before it starts', () => {
  test('the preview shows the number of known rows and the cost of the rest, and PATCH removes the option', async () => {
    await using harness = await openTestPipeline(SMALL)
    const { pipeline, owner } = harness
    const { id } = await harness.read(LIST, { ...KNOWN, autoStart: false })
    const options = { patienceMs: 0, signal: new AbortController().signal }
    expect(await previewBatch(pipeline, owner, id, options)).toMatchObject({
      counted: true,
      known: { days: 30, at: TODAY },
      rows: { total: 133, known: 71, billable: 60 },
      cost: { credits: 60, parts: [{ part: 'email', records: 60 }] },
    })
    await changeBatch(pipeline, owner, id, { known: null })
    await run(harness)
    expect(await previewBatch(pipeline, owner, id, options)).toMatchObject({
      known: null,
      rows: { total: 133, known: 0, duplicate: 1, billable: 130 },
      cost: { credits: 130 },
    })
    await expect(known(harness, id)).rejects.toMatchObject({ code: 'conflict' })
    await changeBatch(pipeline, owner, id, { known: '7d', known_at: TODAY })
    await run(harness)
    expect(await getBatch(pipeline, owner, id)).toMatchObject({ rows: { known: 71 } })
  })

  test('a missing column or date of verdicts stops a dry run at ready with the change to make', async () => {
    await using harness = await openTestPipeline()
    const { pipeline, owner } = harness
    const { id } = await harness.read(LIST, { requested: { known: 30 }, autoStart: false })
    expect(await getBatch(pipeline, owner, id)).toMatchObject({
      status: 'ready',
      error: { message: expect.stringContaining('send the day as known_at') },
    })
    const options = { patienceMs: 0, signal: new AbortController().signal }
    expect(await previewBatch(pipeline, owner, id, options)).toMatchObject({
      known: { days: 30, at: null },
      columns: [{ header: 'Email' }, {}, {}, {}],
    })
    await changeBatch(pipeline, owner, id, { known_at: TODAY })
    await run(harness)
    expect(await getBatch(pipeline, owner, id)).toMatchObject({ error: null, rows: { known: 71 } })
    const other = await harness.read('email\na@a.example\n', KNOWN)
    expect(other).toMatchObject({ status: 'failed', credits: { used: 0, held: 0 } })
  })

  test('a change to a product without such verdicts removes the option, and rejects a new one', async () => {
    await using harness = await openTestPipeline()
    const { pipeline, owner } = harness
    const list = 'email,domain,ZB Status\na@a.example,a.example,valid\n'
    const { id } = await harness.read(list, { ...KNOWN, autoStart: false })
    await expect(
      changeBatch(pipeline, owner, id, { product: 'domain', known: '3d' }),
    ).rejects.toMatchObject({ code: 'bad_request' })
    await changeBatch(pipeline, owner, id, { product: 'domain' })
    await expect(changeBatch(pipeline, owner, id, { known_at: TODAY })).rejects.toMatchObject({
      code: 'bad_request',
    })
    await run(harness)
    const view = await getBatch(pipeline, owner, id)
    expect(view).toMatchObject({ status: 'ready', error: null, rows: { known: 0, billable: 1 } })
  })

  test('an intake that dies halfway leaves nothing behind: the next one has the same counts', async () => {
    await using harness = await openTestPipeline(SMALL)
    const { pipeline, owner } = harness
    const { id } = await harness.submit(LIST, { ...KNOWN, autoStart: false })
    const gone = new AbortController()
    const reading = runIntake(pipeline, { batchId: id, lease: 1 }, gone.signal)
    gone.abort()
    await reading.catch(() => {})
    await pipeline.db.pool.query('update batches set lease_until = null')
    await harness.workStages()
    expect(await getBatch(pipeline, owner, id)).toMatchObject({
      status: 'ready',
      rows: { total: 133, known: 71, billable: 60 },
      credits: { estimate: 60 },
    })
  })
})

test('a sample, the start and a cancel charge a row once, and known rows never', async () => {
  await using harness = await openTestPipeline(SMALL)
  const { pipeline, owner } = harness
  const { id } = await harness.read(LIST, { ...KNOWN, autoStart: false })
  await sampleBatch(pipeline, owner, id)
  await run(harness)
  await cancelBatch(pipeline, owner, id)
  await run(harness)
  const view = await getBatch(pipeline, owner, id)
  expect(view).toMatchObject({ status: 'canceled', credits: { used: 50, held: 0 } })
  const lines = await linesOf(harness, id)
  const count = (status: string): number => lines.filter((line) => line.status === status).length
  expect([count('known'), count('done'), count('canceled')]).toEqual([71, 50, 10])
  const { asked, answered } = (await known(harness, id)).rows
  expect(asked).toBe(50)
  expect(answered).toBeLessThan(50)
})

test('a recheck checks known rows too, and charges them', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const { id } = await completed(harness)
  const made = await recheckBatch(pipeline, owner, id, { only: ['known'], chargeUnknown: true })
  await harness.workStages()
  await run(harness)
  expect(await getBatch(pipeline, owner, made.id)).toMatchObject({
    status: 'completed',
    rows: { total: 71, known: 0, refused: 0 },
  })
})

test('an erased value leaves no trace in known rows', async () => {
  await using harness = await openTestPipeline(SMALL)
  const { pipeline, owner } = harness
  const { id } = await completed(harness, { name: 'of p7@a.example' })
  const kept = (await linesOf(harness, id)).filter(({ status }) => status === 'known')
  const [first, second] = kept.map(({ row }) => `p${row - 1}@a.example`)
  const email = [first ?? '', second ?? '']
  await beginErasure(pipeline, owner, { email }, async () => {})
  const memory = createPostgresMemory(pipeline.db)
  const namesOf = () => ({ memory: [], durable: [] })
  while (await workErasure({ pipeline, facts: { memory, durable: memory, namesOf } }, NEVER)) {
    // Until none waits.
  }
  const find = findMarks(email, email)
  const stored = [...(await readTables(pipeline.db)), ...(await readPacked(pipeline.db))]
  expect(stored.flatMap(({ place, text: held }) => find(place, held))).toEqual([])
  const lines = (await linesOf(harness, id)).filter(({ status }) => status === 'known')
  expect(lines).toHaveLength(71)
  expect(lines.slice(0, 2).map(({ error }) => error)).toEqual([
    expect.stringMatching(/^known: ZeroBounce says .*erased: /),
    expect.stringMatching(/^known: ZeroBounce says .*erased: /),
  ])
})
