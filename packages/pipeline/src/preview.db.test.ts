import { batchPreview, type BatchPreview } from '@plumbline/contract/batch-preview'
import { zipOf } from '@plumbline/intake/workbook-fixture'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { expect, test, vi } from 'vitest'
import { changeBatch } from './change.ts'
import { deleteBatch } from './erase.ts'
import { runIntake } from './intake-stage.ts'
import { previewBatch } from './preview.ts'
import { getBatch } from './read.ts'
import { startBatch } from './start.ts'

const FILE = [
  'Nom;Courriel;Téléphone;Note',
  'Ada;ada@a.example;+14155550100;x',
  ';;;',
  'Bob;;+14155550101;no address',
  'Cy;cy@a.example;12;short phone',
  'Ada B.;ada@a.example;+1 415 555 0100;again',
  `Dee;dee@a.example;;${'é'.repeat(200)}`,
].join('\n')

async function preview(harness: TestPipeline, id: string): Promise<BatchPreview> {
  const { signal } = new AbortController()
  const options = { patienceMs: 0, signal }
  return batchPreview.parse(await previewBatch(harness.pipeline, harness.owner, id, options))
}

const dryRun = { autoStart: false, product: 'contact-intel' } as const

test('a preview has columns, first rows, refused and duplicate rows, and the cost', async () => {
  await using harness = await openTestPipeline()
  const { id } = await harness.read(FILE, dryRun)
  const shown = await preview(harness, id)
  expect(shown.file).toEqual({
    format: 'csv',
    encoding: 'utf-8',
    delimiter: ';',
    sheet: null,
    header_row: 1,
  })
  expect(shown.columns).toEqual([
    expect.objectContaining({ header: 'Nom', kind: 'text', field: null }),
    expect.objectContaining({ header: 'Courriel', kind: 'email', field: 'email' }),
    expect.objectContaining({ header: 'Téléphone', kind: 'phone', field: 'phone' }),
    expect.objectContaining({ header: 'Note', kind: 'text', field: null }),
  ])
  expect(shown.columns[1]?.values).toEqual(['ada@a.example', 'cy@a.example', 'dee@a.example'])
  expect(shown.first_rows[0]).toEqual(['Ada', 'ada@a.example', '+14155550100', 'x'])
  expect(shown.first_rows.at(-1)?.[3]).toHaveLength(100)
  expect(shown.rows).toEqual({
    total: 6,
    blank: 1,
    refused: 1,
    duplicate: 1,
    known: 0,
    billable: 3,
  })
  expect(shown.known).toBeNull()
  expect(shown.refused).toEqual([
    {
      reason: 'email: is missing',
      count: 1,
      examples: [{ row: 3, cells: ['Bob', '', '+14155550101', 'no address'] }],
    },
  ])
  expect(shown.repeats).toEqual([{ row: 5, of_row: 1 }])
  expect(shown.cost).toMatchObject({
    parts: [
      { part: 'email', records: 3, price: 1, credits: 3 },
      { part: 'phone', records: 1, price: 2, credits: 2 },
    ],
    cap_discount: 0,
    credits: 5,
    balance: 25_000,
    balance_after: 24_995,
  })
})

test('the start of a file is shown while its rows are still counted', async () => {
  await using harness = await openTestPipeline()
  const { id } = await harness.submit(FILE, dryRun)
  await expect(preview(harness, id)).rejects.toMatchObject({ code: 'conflict' })
  // Its rows are not counted: the worker stops when it begins to, with the limit of unpaid ones.
  const stop = new AbortController()
  const { limits } = harness.pipeline
  const stopping = {
    ...harness.pipeline,
    limits: Object.defineProperty({ ...limits }, 'unpaidRowsPerDay', {
      enumerable: false,
      get: () => {
        stop.abort()
        return limits.unpaidRowsPerDay
      },
    }),
  }
  await runIntake(stopping, { batchId: id, lease: 1 }, stop.signal)
  expect(await preview(harness, id)).toMatchObject({
    status: 'analyzing',
    counted: false,
    rows: null,
    refused: null,
    repeats: null,
    cost: null,
    columns: [{ header: 'Nom' }, {}, {}, {}],
  })
})

test('a preview that is waited for is looked for less and less often', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const { id } = await harness.submit(FILE, dryRun)
  const connects = vi.spyOn(pipeline.db.pool, 'connect')
  const options = { patienceMs: 1_000, signal: new AbortController().signal }
  await expect(previewBatch(pipeline, owner, id, options)).rejects.toMatchObject({
    code: 'conflict',
    retryAfterSeconds: 1,
  })
  // After 0, 50, 150, 350, 750 and 1,150 ms.
  expect(connects.mock.calls.length).toBeLessThanOrEqual(6)
})

test('a batch without a file is refused a preview at once', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const { id } = await harness.submit(FILE, dryRun)
  await pipeline.db.pool.query(
    `update batches set requested = requested || '{"rescore": {}}' where id = $1`,
    [id],
  )
  const connects = vi.spyOn(pipeline.db.pool, 'connect')
  const options = { patienceMs: 60_000, signal: new AbortController().signal }
  await expect(previewBatch(pipeline, owner, id, options)).rejects.toMatchObject({
    code: 'conflict',
    message: 'There is no preview: no file is read for this batch.',
  })
  expect(connects).toHaveBeenCalledTimes(1)
})

test('a preview that is asked while the batch is changed is as it was before', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const { id } = await harness.read(FILE, dryRun)
  const before = await preview(harness, id)
  const { pool } = pipeline.db
  const connect = pool.connect.bind(pool)
  let count = 0
  const connectLate = async () => {
    count += 1
    // The first use of the database has ended, the second has not begun.
    if (count === 2) await changeBatch(pipeline, owner, id, { product: 'email' })
    return await connect()
  }
  // Safe because a call without a callback is one for a promise.
  pool.connect = ((done?: Parameters<typeof connect>[0]) =>
    done === undefined ? connectLate() : connect(done)) as typeof pool.connect
  expect(await preview(harness, id)).toEqual(before)
})

test('a preview works without credits, and shows how many are missing', async () => {
  await using harness = await openTestPipeline()
  const { id } = await harness.read(FILE, dryRun)
  await harness.pipeline.db.pool.query('update credit_accounts set allowance = 0')
  const { cost } = await preview(harness, id)
  expect(cost).toMatchObject({ credits: 5, balance: 0, balance_after: -5 })
})

test('a changed batch is read again, holds no credits, and waits at ready even if it is to start automatically', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const { id, status } = await harness.read(FILE, { product: 'email', maxCredits: 1 })
  expect(status).toBe('ready')
  const changed = await changeBatch(pipeline, owner, id, {
    product: 'phone',
    mapping: { phone: 'Téléphone' },
    default_country: 'US',
    max_credits: null,
  })
  expect(changed).toMatchObject({ status: 'analyzing', product: 'phone', rows: { total: 0 } })
  await expect(preview(harness, id)).rejects.toMatchObject({ code: 'conflict' })
  await expect(startBatch(pipeline, owner, id)).rejects.toMatchObject({ code: 'conflict' })
  await harness.workStages()
  const ready = await getBatch(pipeline, owner, id)
  expect(ready).toMatchObject({ status: 'ready', credits: { estimate: 6, held: 0 }, error: null })
  expect((await preview(harness, id)).cost).toMatchObject({ credits: 6 })
  expect(await startBatch(pipeline, owner, id)).toMatchObject({ credits: { held: 6 } })
  await expect(changeBatch(pipeline, owner, id, { product: 'email' })).rejects.toMatchObject({
    code: 'conflict',
  })
  expect(await auditLedger(pipeline.db)).toEqual([])
})

test('a name and a credit limit are changed without reading the file again', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const { id, error } = await harness.read(FILE, { product: 'email', maxCredits: 1 })
  expect(error).not.toBeNull()
  const changed = await changeBatch(pipeline, owner, id, { name: 'قائمة <b>', max_credits: 9 })
  expect(changed).toMatchObject({ status: 'ready', name: 'قائمة <b>', error: null })
  expect((await preview(harness, id)).counted).toBe(true)
})

test('a dry run without recognized columns waits with the list of columns, and a change corrects it', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const file = 'a,b\nx,one at a.example\ny,two at b.example\n'
  const { id, ...batch } = await harness.read(file, { autoStart: false })
  const fault = { error: 'Unprocessable Content', field: 'mapping' }
  expect(batch).toMatchObject({ status: 'ready', error: fault })
  const shown = await preview(harness, id)
  expect(shown.columns.map(({ header, field }) => [header, field])).toEqual([
    ['a', null],
    ['b', null],
  ])
  expect(shown).toMatchObject({ counted: false, cost: null, error: { message: /column/ } })
  await expect(startBatch(pipeline, owner, id)).rejects.toMatchObject({
    message: expect.stringContaining('PATCH'),
  })
  await changeBatch(pipeline, owner, id, { mapping: { email: 'c' } })
  await harness.workStages()
  expect(await getBatch(pipeline, owner, id)).toMatchObject({ status: 'ready', rows: { total: 0 } })
  await changeBatch(pipeline, owner, id, { mapping: { email: 'b' } })
  await harness.workStages()
  expect(await getBatch(pipeline, owner, id)).toMatchObject({
    status: 'ready',
    error: null,
    rows: { billable: 2 },
  })
})

test('a dry run of an archive with several files waits with their names, and a change selects one', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const archive = await zipOf({
    'readme.txt': 'hello',
    'list \u202e<b>.csv': FILE,
    'bad\u0007name.csv': FILE,
  })
  const { id, ...batch } = await harness.read(archive, { autoStart: false })
  const entries = ['readme.txt', 'list \u202e<b>.csv']
  expect(batch).toMatchObject({ status: 'ready', error: { field: 'entry', entries } })
  await expect(preview(harness, id)).rejects.toMatchObject({ code: 'conflict' })
  await expect(startBatch(pipeline, owner, id)).rejects.toMatchObject({ code: 'conflict' })
  const [, entry] = entries
  await changeBatch(pipeline, owner, id, { entry })
  await harness.workStages()
  const read = await getBatch(pipeline, owner, id)
  expect(read).toMatchObject({ status: 'ready', error: null, file: { entry: 'list <b>.csv' } })
  expect((await preview(harness, id)).counted).toBe(true)
  await changeBatch(pipeline, owner, id, { entry: null })
  await harness.workStages()
  expect(await getBatch(pipeline, owner, id)).toMatchObject({ error: { field: 'entry', entries } })
})

test('a change that makes a file unreadable can be undone', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const { id } = await harness.read('email;x\na@a.example;"1\n2"\nb@a.example;","\n', {
    autoStart: false,
  })
  await changeBatch(pipeline, owner, id, { delimiter: ',' })
  await harness.workStages()
  const broken = await getBatch(pipeline, owner, id)
  expect(broken.status).toBe('ready')
  await changeBatch(pipeline, owner, id, { delimiter: null })
  await harness.workStages()
  expect(await getBatch(pipeline, owner, id)).toMatchObject({
    error: null,
    file: { delimiter: ';' },
    rows: { billable: 2 },
  })
})

test('a reading that is outdated by a change stores nothing', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const { id } = await harness.submit(FILE, dryRun)
  const { storage } = pipeline
  const overtaken = {
    ...pipeline,
    storage: {
      ...storage,
      local: async (key: string) => {
        await changeBatch(pipeline, owner, id, { product: 'email' })
        return await storage.local(key)
      },
    },
  }
  await runIntake(overtaken, { batchId: id, lease: 1 }, new AbortController().signal)
  expect(await getBatch(pipeline, owner, id)).toMatchObject({ status: 'analyzing' })
  await expect(preview(harness, id)).rejects.toMatchObject({ code: 'conflict' })
  await harness.workStages()
  expect(await preview(harness, id)).toMatchObject({ product: 'email', cost: { credits: 3 } })
})

test('a batch is changed a bounded number of times, and options of files do not apply to records', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const { id } = await harness.read(FILE, dryRun)
  await pipeline.db.pool.query('update batches set change_count = 100')
  await expect(changeBatch(pipeline, owner, id, { header: true })).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('upload'),
  })
  const records = await harness.read('{"email":"a@a.example"}\n', {
    autoStart: false,
    fileName: null,
    requested: { format: 'records' },
  })
  await expect(changeBatch(pipeline, owner, records.id, { sheet: 1 })).rejects.toMatchObject({
    code: 'bad_request',
  })
  await deleteBatch(pipeline, owner, id)
  const { rows } = await pipeline.db.pool.query('select batch_id from batch_previews')
  expect(rows).toEqual([{ batch_id: records.id }])
})
