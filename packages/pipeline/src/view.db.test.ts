import { randomUUID } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { pageOfOwnBatches } from '@plumbline/db/batches/own-batches'
import {
  countUnfinished,
  pageOfBatches,
  readBatches,
  sumFileBytes,
} from '@plumbline/db/batches/rows'
import { storeRunningSums, sumsOfBatch, sumsOfPage } from '@plumbline/db/batches/sums'
import { closeFinishedBatches, leaseStages } from '@plumbline/db/batches/stages'
import { rowsRead } from '@plumbline/db/rows-read-fixture'
import { allowAnyTransition } from '@plumbline/testkit/any-transition'
import { openTestPipeline } from '@plumbline/testkit/pipeline'
import { cancelBatch } from './cancel.ts'
import { expireBatches } from './erase.ts'
import { runFinish } from './finish.ts'
import { pauseBatch } from './pause.ts'
import { createBatchReader, getBatch, listBatches } from './read.ts'
import { resultsText } from './results-fixture.ts'

const ROWS = 42

function contentOf(rows: number): string {
  const addresses = Array.from({ length: rows }, () => `${randomUUID()}@example.com`)
  return `email\n${addresses.join('\n')}\n`
}

test('the estimated time left is at least that until the last waiting task is due', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 1 } })
  const { pipeline, owner } = harness
  const { pool } = pipeline.db
  const { id } = await harness.read(contentOf(ROWS))
  const { id: other } = await harness.read(contentOf(1))
  const eta = async (): Promise<number | null> => (await getBatch(pipeline, owner, id)).eta_seconds
  expect(await eta()).toBeNull()
  await allowAnyTransition(pipeline.db)
  await pool.query(
    `update tasks set group_key = 'grey', due_at = clock_timestamp() + chunk_no * interval '1 min'
      where batch_id = $1 and chunk_no in (7, 14)`,
    [id],
  )
  await pool.query(
    `update tasks set due_at = clock_timestamp() + interval '1 day' where batch_id = $1`,
    [other],
  )
  await harness.answer()
  expect((await getBatch(pipeline, owner, id)).rows.done).toBe(ROWS - 2)
  const left = await eta()
  expect(left).toBeGreaterThan(13 * 60)
  expect(left).toBeLessThanOrEqual(14 * 60)
  await pool.query("update tasks set due_at = due_at - interval '1 hour' where batch_id = $1", [id])
  expect(await eta()).toBeLessThan(13 * 60)
})

test('the time of the last due task is read in one step of an index', async () => {
  await using harness = await openTestPipeline()
  const { rows } = await harness.pipeline.db.pool.query<{ 'QUERY PLAN': string }>(
    `explain select due_at from tasks where batch_id = 'x' and due_at is not null
      order by due_at desc limit 1`,
  )
  expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toMatch(/Index .*using tasks_due/)
})

test.each([
  ['nothing', 0, 0],
  ['one record', 1, Math.round(1000 / ROWS) / 1000],
  ['a half', ROWS / 2, 0.5],
])('a batch canceled after %s shows the answered share until its end', async (_, tasks, share) => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 1 } })
  const { pipeline, owner } = harness
  const { pool } = pipeline.db
  const { id } = await harness.read(contentOf(ROWS))
  await harness.answer(tasks)
  const progress = async (status: string): Promise<number> => {
    const view = await getBatch(pipeline, owner, id)
    expect(view.status).toBe(status)
    return view.progress
  }
  expect(await progress('running')).toBe(share)
  await cancelBatch(pipeline, owner, id)
  expect(await progress('canceling')).toBe(share)
  const { rows } = await pool.query<{ lease: number }>(
    `update batches set lease_until = clock_timestamp() + interval '1 min' returning lease`,
  )
  const job = { batchId: id, lease: rows[0]?.lease ?? 0 }
  await runFinish(pipeline, job, new AbortController().signal)
  expect(await progress('canceled')).toBe(share)
  await pool.query(`update batches set expires_at = clock_timestamp() - interval '1 s'`)
  expect(await expireBatches(pipeline)).toBe(1)
  expect(await progress('expired')).toBe(share)
})

test('an ended batch is shown without adding up its chunks', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 10 } })
  const { pipeline, owner } = harness
  const { id } = await harness.read(contentOf(ROWS))
  await harness.answer()
  await closeFinishedBatches(pipeline.db)
  const stages = await leaseStages(pipeline.db, pipeline.limits.leaseMs)
  for (const stage of stages) await runFinish(pipeline, stage, new AbortController().signal)
  const shown = await getBatch(pipeline, owner, id)
  expect(shown).toMatchObject({ status: 'completed', rows: { done: ROWS } })
  expect(shown.credits.used).toBeGreaterThan(0)
  await pipeline.db.pool.query('delete from chunks where batch_id = $1', [id])
  expect(await getBatch(pipeline, owner, id)).toEqual(shown)
  const page = { limit: 10, cursor: undefined }
  expect((await listBatches(pipeline, owner, page)).data).toEqual([shown])
})

test('the storage of an account is read from two indexes, however many batches it has', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const { pool } = pipeline.db
  await allowAnyTransition(pipeline.db)
  const { id } = await harness.read(contentOf(1))
  const { rows: columns } = await pool.query<{ names: string }>(
    `select string_agg(quote_ident(column_name), ', ') as names from information_schema.columns
     where table_name = 'batches' and column_name not in ('id', 'status') and is_generated = 'NEVER'`,
  )
  const names = columns[0]?.names ?? ''
  await pool.query(
    `insert into batches (id, status, ${names}) select 'kept' || n, 'analyzing', ${names}
     from batches, generate_series(1, 10000) n where id = $1`,
    [id],
  )
  await pool.query("update batches set status = 'completed' where id like 'kept%'")
  await pool.query('vacuum analyze batches')
  expect(await countUnfinished(pipeline.db, owner.accountId)).toBe(1)
  await pipeline.db.kysely.transaction().execute(async (tx) => {
    const before = await rowsRead(tx, 'batches')
    await countUnfinished(tx, owner.accountId)
    await sumFileBytes(tx, owner.accountId)
    expect((await rowsRead(tx, 'batches')) - before).toBeLessThan(20)
  })
})

test('a batch of very many tasks estimates its time from answered rows, and is canceled without counting the tasks', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 1 } })
  const { pipeline, owner } = harness
  const { pool } = pipeline.db
  const { id } = await harness.read(contentOf(ROWS))
  await harness.answer(ROWS / 2)
  await pool.query(
    `insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, indexes, size, group_key, due_at)
     select batch_id, account_id, mode, check_kind, depth, chunk_no, array[0], 1, 'mx:' || n,
       clock_timestamp() + interval '1 hour'
     from (select * from tasks limit 1) one, generate_series(1, 30000) n`,
  )
  // The waiting task is due in an hour.
  expect((await getBatch(pipeline, owner, id)).eta_seconds).toBeGreaterThan(3_500)
  await pool.query('vacuum analyze tasks')
  await pipeline.db.kysely.transaction().execute(async (tx) => {
    expect(await sumsOfBatch(tx, id)).toMatchObject({ isOpenCounted: false, open: {}, groups: [] })
  })
  await cancelBatch(pipeline, owner, id)
  await pipeline.db.kysely.transaction().execute(async (tx) => {
    const before = await rowsRead(tx, 'tasks')
    await sumsOfBatch(tx, id)
    expect((await rowsRead(tx, 'tasks')) - before).toBeLessThan(20)
  })
})

test('readers of a large batch share its sums for a second, but not its state', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 1 } })
  const { pipeline, owner } = harness
  const { id } = await harness.read(contentOf(ROWS))
  const read = createBatchReader(pipeline)
  const done = async (): Promise<number> => (await read(owner, id)).rows.done
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    expect(await done()).toBe(0)
    await harness.answer(1)
    expect(await done()).toBe(1)
    await pipeline.db.pool.query('update batches set rows_total = 100000')
    expect(await done()).toBe(1)
    await harness.answer(1)
    expect(await done()).toBe(1)
    vi.advanceTimersByTime(1_000)
    expect(await done()).toBe(2)
    await harness.answer(1)
    await pauseBatch(pipeline, owner, id)
    expect(await read(owner, id)).toMatchObject({ status: 'paused', rows: { done: 3 } })
  } finally {
    vi.useRealTimers()
  }
})

test('a listing shows the sums of a large batch from some seconds ago, and adds up no chunks', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 1 } })
  const { pipeline, owner } = harness
  const { db } = pipeline
  const { id } = await harness.read(contentOf(ROWS))
  await harness.answer(ROWS / 2)
  const page = { limit: 10, cursor: undefined }
  const listed = async () => (await listBatches(pipeline, owner, page)).data
  expect(await storeRunningSums(db)).toBe(0)
  await db.pool.query('update batches set rows_total = 100000')
  const shown = await getBatch(pipeline, owner, id)
  expect(shown.rows.done).toBe(ROWS / 2)
  expect(await storeRunningSums(db)).toBe(1)
  expect(await storeRunningSums(db)).toBe(0)
  await harness.answer(10)
  expect(await listed()).toMatchObject([{ id, rows: shown.rows, credits: shown.credits }])
  expect((await getBatch(pipeline, owner, id)).rows.done).toBeGreaterThan(ROWS / 2)
  const chunksRead = await db.kysely.transaction().execute(async (tx) => {
    const rows = await readBatches(tx, [id])
    const before = await rowsRead(tx, 'chunks')
    await sumsOfPage(tx, rows)
    return (await rowsRead(tx, 'chunks')) - before
  })
  expect(chunksRead).toBe(0)
  expect(await storeRunningSums(db, 0)).toBe(1)
  expect(await listed()).toMatchObject([{ rows: (await getBatch(pipeline, owner, id)).rows }])
  // They were stored before the clock went back by days.
  await db.pool.query(
    `update batches set running_sums = running_sums || jsonb_build_object('rowsDone', 7, 'at',
      extract(epoch from now() + interval '2 days') * 1000)`,
  )
  expect(await storeRunningSums(db)).toBe(1)
  expect(await storeRunningSums(db)).toBe(0)
  expect(await listed()).toMatchObject([{ rows: (await getBatch(pipeline, owner, id)).rows }])
  // The stored sums are too old, so the chunks are added up.
  await db.pool.query(
    `update batches set running_sums = running_sums || '{"rowsDone": 7, "at": 1}'`,
  )
  expect(await listed()).toMatchObject([{ rows: (await getBatch(pipeline, owner, id)).rows }])
})

test('a batch shows 200 characters of a name of its file, and its results have the name as it came', async () => {
  await using harness = await openTestPipeline()
  const { pipeline, owner } = harness
  const name = 'n'.repeat(60_000)
  const { id } = await harness.read(`${name}\na@a.example\n`, {
    requested: { header: true, mapping: { email: 0 } },
  })
  // As it may be in batches of earlier versions.
  await pipeline.db.pool.query(
    `update batches set entry = repeat('e', 60000), sheets = (
       select jsonb_agg('sheet ' || repeat('s', 194)) from generate_series(1, 1000))`,
  )
  const shown = await getBatch(pipeline, owner, id)
  expect(shown.mapping).toEqual({
    email: { column: 0, header: `${'n'.repeat(199)}…`, confidence: 1 },
  })
  expect(shown.file?.entry).toBe(`${'e'.repeat(199)}…`)
  expect(shown.file?.sheets).toHaveLength(5)
  const page = { limit: 10, cursor: undefined }
  const [listed] = (await listBatches(pipeline, owner, page)).data
  expect(listed).toMatchObject({ mapping: shown.mapping, file: shown.file })
  const results = await resultsText(harness, id, { format: 'csv' })
  expect(results.startsWith(`${name},`)).toBe(true)
})

test('listings and exports of batches read no header', async () => {
  await using harness = await openTestPipeline()
  const { db } = harness.pipeline
  await harness.read(`${'n'.repeat(60_000)}\na@a.example\n`, {
    requested: { header: true, mapping: { email: 0 } },
  })
  const { owner } = harness
  const pages = [
    (await pageOfBatches(db, owner, { limit: 10, after: undefined })).rows,
    await pageOfOwnBatches(db, owner, null, 10),
  ]
  for (const page of pages) {
    expect(page).toHaveLength(1)
    expect(JSON.stringify(page).length).toBeLessThan(5_000)
  }
})

test('a column is mapped by a name as long as it is shown', async () => {
  await using harness = await openTestPipeline()
  const name = 'n'.repeat(200)
  const { mapping } = await harness.read(`id,${name}\n1,a@a.example\n`, {
    requested: { mapping: { email: name } },
    autoStart: false,
  })
  expect(mapping.email).toEqual({ column: 1, header: name, confidence: 1 })
})
