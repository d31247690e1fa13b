import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { claimKey, storeResponse } from '@plumbline/db/idempotency'
import { allowAnyTransition } from '@plumbline/testkit/any-transition'
import { losingDb } from '@plumbline/testkit/losing-db'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { findPreview } from '@plumbline/db/batches/previews'
import { readOpenRemovals } from '@plumbline/db/file-store'
import { cancelBatch } from './cancel.ts'
import { deleteBatch, eraseBatches, expireBatches } from './erase.ts'
import { getBatch } from './read.ts'
import { retryRemovals } from './remove-files.ts'

/**
 * More chunks than one statement erases, and not a whole number of statements; the last row
 * duplicates the first.
 */
const ROWS = 450
const CONTENT = `email\n${Array.from({ length: ROWS - 1 }, (_, no) => `u${no}@example.com\n`).join('')}u0@example.com\n`

async function openHarness(): Promise<TestPipeline> {
  const harness = await openTestPipeline({ limits: { chunkRecords: 1 } })
  await allowAnyTransition(harness.pipeline.db)
  return harness
}

async function rowsLeft({ pipeline }: TestPipeline): Promise<unknown> {
  const { rows } = await pipeline.db.pool.query(
    `select (select count(*)::int from batches) as batches, (select count(*)::int from chunks) as chunks,
      (select count(*)::int from parts) as parts, (select count(*)::int from tasks) as tasks,
      (select count(*)::int from repeated_rows) as repeated`,
  )
  return rows[0]
}

test('a deleted batch leaves no rows, however many chunks it has', async () => {
  await using harness = await openHarness()
  const { id } = await harness.read(CONTENT)
  await harness.answer()
  expect(await rowsLeft(harness)).toEqual({
    batches: 1,
    chunks: ROWS,
    parts: ROWS - 1,
    tasks: 0,
    repeated: 1,
  })
  await harness.pipeline.db.pool.query(`update batches set status = 'completed'`)
  await deleteBatch(harness.pipeline, harness.owner, id)
  await expect(getBatch(harness.pipeline, harness.owner, id)).rejects.toThrow('no batch')
  expect(await rowsLeft(harness)).toMatchObject({ batches: 1, chunks: ROWS - 200 })
  await eraseBatches(harness.pipeline)
  expect(await rowsLeft(harness)).toEqual({
    batches: 0,
    chunks: 0,
    parts: 0,
    tasks: 0,
    repeated: 0,
  })
})

test('a batch whose deletion was lost with its commit keeps its rows and preview', async () => {
  await using harness = await openHarness()
  const { pipeline, owner } = harness
  const { id } = await harness.read(CONTENT, { autoStart: false })
  const preview = await findPreview(pipeline.db, id)
  const db = losingDb(pipeline.db, (transaction) => transaction === 1)
  await deleteBatch({ ...pipeline, db }, owner, id)
  expect(await rowsLeft(harness)).toMatchObject({ batches: 1, chunks: ROWS, repeated: 1 })
  expect(preview).toBeDefined()
  expect(await findPreview(pipeline.db, id)).toEqual(preview)
})

test.each(['deleted', 'expired'])(
  'files that killed attempts left of the result of a %s batch are removed with it',
  async (how) => {
    await using harness = await openHarness()
    const { pipeline, owner } = harness
    const { id } = await harness.read('email\nada@example.com\n')
    const folder = join(harness.files, 'results')
    await mkdir(folder, { recursive: true })
    const left = [`${id}-1.csv.part`, `${id}-2.csv`, `${id}-3.csv.part`]
    for (const name of left) await writeFile(join(folder, name), 'email\nada@example.com\n')
    await pipeline.db.pool.query(
      `update batches set status = 'completed', lease = 3, result_key = $1,
        expires_at = clock_timestamp() - interval '1 s'`,
      [`results/${id}-2.csv`],
    )
    if (how === 'deleted') await deleteBatch(pipeline, owner, id)
    else {
      expect(await expireBatches(pipeline)).toBe(1)
      await retryRemovals(pipeline)
    }
    expect(await readdir(folder)).toEqual([])
    expect(await readdir(join(harness.files, 'uploads'))).toEqual([])
    expect(await readOpenRemovals(pipeline.db)).toMatchObject({ count: 0 })
  },
)

test('an expired batch leaves only its counts', async () => {
  await using harness = await openHarness()
  const { id } = await harness.read(CONTENT)
  await harness.answer()
  await harness.pipeline.db.pool.query(
    `update batches set status = 'completed', expires_at = clock_timestamp() - interval '1 s'`,
  )
  expect(await expireBatches(harness.pipeline)).toBe(1)
  await eraseBatches(harness.pipeline)
  expect(await rowsLeft(harness)).toEqual({
    batches: 1,
    chunks: 0,
    parts: 0,
    tasks: 0,
    repeated: 0,
  })
  expect(await getBatch(harness.pipeline, harness.owner, id)).toMatchObject({
    status: 'expired',
    rows: { total: ROWS, done: ROWS },
    credits: { used: ROWS - 1 },
  })
})

test('a canceled batch has no tasks left, however many there were', async () => {
  await using harness = await openHarness()
  const { id } = await harness.read(CONTENT)
  await harness.answer(100)
  await cancelBatch(harness.pipeline, harness.owner, id)
  await harness.workStages()
  expect(await getBatch(harness.pipeline, harness.owner, id)).toMatchObject({
    status: 'canceled',
    credits: { used: 100, released: ROWS - 1 - 100 },
  })
  expect(await rowsLeft(harness)).toEqual({
    batches: 1,
    chunks: ROWS,
    parts: 100,
    tasks: 0,
    repeated: 1,
  })
})

test('concurrent workers share expired batches: none waits for another, none is erased twice', async () => {
  await using harness = await openHarness()
  const { pipeline, owner } = harness
  const ids: string[] = []
  for (let no = 0; no < 6; no += 1) ids.push((await harness.read('email\na@b.example\n')).id)
  await pipeline.db.pool.query(
    `update batches set status = 'completed', expires_at = clock_timestamp() - interval '1 s'`,
  )
  const counts = await Promise.all([1, 2, 3].map(() => expireBatches(pipeline)))
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(6)
  for (const id of ids) {
    expect(await getBatch(pipeline, owner, id)).toMatchObject({ status: 'expired' })
  }
})

test('an interrupted erasure continues, and leaves batches to the process that is erasing them', async () => {
  await using harness = await openHarness()
  const { pipeline, owner } = harness
  const { id } = await harness.read(CONTENT, { autoStart: false })
  await deleteBatch(pipeline, owner, id)
  await eraseBatches(pipeline, AbortSignal.abort())
  expect(await rowsLeft(harness)).toMatchObject({ batches: 1, chunks: ROWS - 200 })
  const other = await pipeline.db.pool.connect()
  await other.query('begin; select from chunks where no < 210 for update')
  await eraseBatches(pipeline)
  expect(await rowsLeft(harness)).toMatchObject({ batches: 1, chunks: 10 })
  await other.query('rollback')
  other.release()
  await eraseBatches(pipeline)
  expect(await rowsLeft(harness)).toMatchObject({ batches: 0, chunks: 0, repeated: 0 })
})

test('a batch whose file cannot be removed does not block the erasure of another', async () => {
  await using harness = await openHarness()
  const { pipeline, owner } = harness
  const ids: string[] = []
  for (let no = 0; no < 3; no += 1) ids.push((await harness.read('email\na@b.example\n')).id)
  await pipeline.db.pool.query(
    `update batches set status = 'completed', expires_at = clock_timestamp() - interval '1 s'`,
  )
  const storage = {
    ...pipeline.storage,
    remove: async ([key = '']: readonly string[]) => {
      if (key === `uploads/${ids[1]}`) throw new Error('the store is away')
    },
  }
  expect(await expireBatches(pipeline)).toBe(3)
  await retryRemovals({ ...pipeline, storage })
  const views = await Promise.all(ids.map((id) => getBatch(pipeline, owner, id)))
  expect(views.map(({ status }) => status)).toEqual(['expired', 'expired', 'expired'])
  const { rows } = await pipeline.db.pool.query('select key from file_removals')
  expect(rows).toContainEqual({ key: `uploads/${ids[1]}` })
  expect(rows.filter(({ key }) => !String(key).includes(ids[1] ?? ''))).toEqual([])
})

test('a batch that waits to be started is kept for a day, however short the retention is', async () => {
  await using harness = await openHarness()
  const { id } = await harness.read(CONTENT, { autoStart: false, retentionDays: 0 })
  expect(await expireBatches(harness.pipeline)).toBe(0)
  const { status, expires_at } = await getBatch(harness.pipeline, harness.owner, id)
  expect(status).toBe('ready')
  expect(Date.parse(expires_at ?? '') - Date.now()).toBeGreaterThan(23 * 3_600_000)
})

test('removals that the store has not confirmed stay recorded', async () => {
  await using harness = await openHarness()
  const { pipeline, owner } = harness
  const { id } = await harness.read('email\na@b.example\n')
  await pipeline.db.pool.query(`update batches set status = 'completed'`)
  let asked = 0
  const broken = {
    ...pipeline.storage,
    remove: async () => {
      asked += 1
      throw new Error('SlowDown')
    },
  }
  await deleteBatch({ ...pipeline, storage: broken }, owner, id)
  expect(asked).toBe(1)
  // Of all these files the attempts left only the upload.
  await pipeline.db.pool.query(`delete from file_removals where key not like 'uploads/%'`)
  expect(await readOpenRemovals(pipeline.db)).toMatchObject({ count: 1 })
  // Not again at once: retries are delayed.
  expect(await retryRemovals({ ...pipeline, storage: broken })).toBe(0)
  expect(asked).toBe(1)
  for (let tries = 1; tries <= 30; tries += 1) {
    const { rowCount } = await pipeline.db.pool.query(
      `select from file_removals where next_at > clock_timestamp() + interval '61 minutes'`,
    )
    expect(rowCount).toBe(0)
    await pipeline.db.pool.query('update file_removals set next_at = clock_timestamp()')
    expect(await retryRemovals({ ...pipeline, storage: broken })).toBe(0)
  }
  expect(asked).toBe(31)
  await pipeline.db.pool.query('update file_removals set next_at = clock_timestamp()')
  await pipeline.storage.open(`uploads/${id}`).then((file) => file.destroy())
  expect(await retryRemovals(pipeline)).toBe(1)
  await expect(pipeline.storage.open(`uploads/${id}`)).rejects.toThrow('ENOENT')
  expect(await readOpenRemovals(pipeline.db)).toEqual({ count: 0, oldestSeconds: 0 })
})

test('the end of the retention empties stored responses that show the batch', async () => {
  await using harness = await openHarness()
  const { db } = harness.pipeline
  const { id } = await harness.submit('email\nada@example.com\n')
  const call = {
    ...harness.owner,
    path: '/v1/batches',
    key: 'k',
    fingerprint: Buffer.from('same'),
    opKey: 'call:1',
  }
  const terms = { runMs: 60_000, isRefunded: 'false' }
  await claimKey(db, call, terms)
  const answer = { status: 202, location: `/v1/batches/${id}`, body: '{"name":"Spring"}' }
  await db.kysely.transaction().execute((tx) => storeResponse(tx, call, { ...answer, batchId: id }))
  await db.pool.query(
    `update batches set status = 'completed', expires_at = clock_timestamp() - interval '1 s'`,
  )
  expect(await expireBatches(harness.pipeline)).toBe(1)
  expect(await claimKey(db, { ...call, opKey: 'call:2' }, terms)).toEqual({
    kind: 'erased',
  })
})
