import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { readRepairs } from '@plumbline/db/batches/reconcile'
import { allowAnyTransition } from '@plumbline/testkit/any-transition'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { expect, test } from 'vitest'
import { cancelBatch } from './cancel.ts'
import { getBatch } from './read.ts'
import { reconcile, reconcileFiles } from './reconcile.ts'
import { makeTasks } from './start.ts'
import { requireOwnStore } from './sweep-store.ts'

const ROWS = 9
const CONTENT = `email\n${Array.from({ length: ROWS }, (_, no) => `u${no}@example.com\n`).join('')}`

async function openHarness(): Promise<TestPipeline & { id: string }> {
  const harness = await openTestPipeline({ limits: { chunkRecords: 3 } })
  const { id } = await harness.read(CONTENT)
  return { ...harness, id }
}

/** Twice, as only inconsistencies found by two searches are repaired. */
async function reconcileTwice(
  { pipeline }: TestPipeline,
  round: typeof reconcile = reconcile,
): Promise<number> {
  expect(await round(pipeline, { holder: 'one', graceMs: 0 })).toBe(0)
  return await round(pipeline, { holder: 'one', graceMs: 0 })
}

async function expectCompleted(harness: TestPipeline & { id: string }): Promise<void> {
  await harness.answer()
  await harness.workStages()
  expect(await getBatch(harness.pipeline, harness.owner, harness.id)).toMatchObject({
    status: 'completed',
    rows: { done: ROWS },
    credits: { used: ROWS, released: 0, held: 0 },
  })
  expect(await auditLedger(harness.pipeline.db)).toEqual([])
}

test('a healthy batch is not changed, also while it runs', async () => {
  await using harness = await openHarness()
  expect(await reconcileTwice(harness)).toBe(0)
  await harness.answer(1)
  expect(await reconcileTwice(harness)).toBe(0)
  await expectCompleted(harness)
  expect(await reconcileTwice(harness)).toBe(0)
  expect(await readRepairs(harness.pipeline.db)).toEqual([])
})

test('a chunk whose task is lost gets a new one, once it was seen for a minute', async () => {
  await using harness = await openHarness()
  const { pool } = harness.pipeline.db
  await harness.answer(1)
  await pool.query('delete from tasks where chunk_no = 1')
  expect(await reconcile(harness.pipeline)).toBe(0)
  expect(await reconcile(harness.pipeline)).toBe(0)
  await pool.query(`update reconciler_findings set seen_at = seen_at - interval '61 s'`)
  expect(await reconcile(harness.pipeline)).toBe(1)
  expect(await readRepairs(harness.pipeline.db)).toEqual([{ kind: 'chunk_without_task', count: 1 }])
  await expectCompleted(harness)
})

test('chunks get new tasks in one round, oldest batch first, each in its own transaction', async () => {
  await using harness = await openHarness()
  const { pool } = harness.pipeline.db
  const { id: oldest } = await harness.read(CONTENT)
  // Its rows come after those of the other batch in every table.
  await pool.query(`update batches set created_at = created_at - interval '1 day' where id = $1`, [
    oldest,
  ])
  for (const [id, count] of [
    [harness.id, 10],
    [oldest, 15],
  ] as const) {
    await pool.query(
      `insert into chunks select (jsonb_populate_record(c, jsonb_build_object('no', added))).*
       from chunks c, generate_series(3, $2::int - 1) added where c.batch_id = $1 and c.no = 0`,
      [id, count],
    )
  }
  await pool.query('delete from tasks')
  expect(await reconcileTwice(harness)).toBe(25)
  const { rows: made } = await pool.query<{ id: string; no: number }>(
    'select batch_id as id, chunk_no as no from tasks order by tasks.id',
  )
  const chunksOf = (id: string, count: number): typeof made =>
    Array.from({ length: count }, (_, no) => ({ id, no }))
  expect(made).toEqual([...chunksOf(oldest, 15), ...chunksOf(harness.id, 10)])
  const { rows } = await pool.query(
    `select max(chunks)::int as most from (
       select count(*) as chunks from tasks group by xmin::text) transactions`,
  )
  expect(rows).toEqual([{ most: 1 }])
  expect(await reconcile(harness.pipeline, { holder: 'one', graceMs: 0 })).toBe(0)
  expect(await readRepairs(harness.pipeline.db)).toEqual([
    { kind: 'chunk_without_task', count: 25 },
  ])
})

test('a complete chunk that was not settled is settled and charged once', async () => {
  await using harness = await openHarness()
  const { pool } = harness.pipeline.db
  await pool.query(`
    create table kept as select * from tasks where chunk_no = 2;
    delete from tasks where chunk_no = 2`)
  await harness.answer()
  await allowAnyTransition(harness.pipeline.db)
  await pool.query(`
    insert into parts (batch_id, chunk_no, check_kind, indexes, outcomes)
    select batch_id, 2, check_kind, indexes, outcomes from parts where chunk_no = 0`)
  expect(await reconcileTwice(harness)).toBe(1)
  expect(await readRepairs(harness.pipeline.db)).toEqual([{ kind: 'chunk_without_task', count: 1 }])
  await expectCompleted(harness)
})

test('the hold of an ended batch is released', async () => {
  await using harness = await openHarness()
  const { pool } = harness.pipeline.db
  await allowAnyTransition(harness.pipeline.db)
  await pool.query(`update batches set status = 'canceled'`)
  expect(await reconcileTwice(harness)).toBe(1)
  const { rows } = await pool.query(
    'select released::int, closed_at is not null as closed from credit_holds',
  )
  expect(rows).toEqual([{ released: ROWS, closed: true }])
  expect(await readRepairs(harness.pipeline.db)).toEqual([
    { kind: 'hold_of_ended_batch', count: 1 },
  ])
  expect(await auditLedger(harness.pipeline.db)).toEqual([])
})

test('a task whose lease ends in hours after a jump of the clock is dispatched again', async () => {
  await using harness = await openHarness()
  const { pool } = harness.pipeline.db
  await allowAnyTransition(harness.pipeline.db)
  await pool.query(`update tasks set lease_until = now() + interval '6 hours' where chunk_no = 0`)
  expect(await reconcileTwice(harness)).toBe(1)
  expect(await readRepairs(harness.pipeline.db)).toEqual([{ kind: 'lease_without_end', count: 1 }])
  await expectCompleted(harness)
})

test('a stage whose lease ends in hours after a jump of the clock is leased to another worker', async () => {
  await using harness = await openTestPipeline({ limits: { chunkRecords: 3 } })
  const { db } = harness.pipeline
  const { id } = await harness.submit(CONTENT)
  // As a worker leaves it that claimed the stage and was killed.
  await db.pool.query(
    `update batches set lease = lease + 1, lease_until = now() + interval '6 hours'`,
  )
  await harness.workStages()
  expect((await getBatch(harness.pipeline, harness.owner, id)).status).toBe('analyzing')
  expect(await reconcileTwice(harness)).toBe(1)
  expect(await readRepairs(db)).toEqual([{ kind: 'lease_without_end', count: 1 }])
  await harness.workStages()
  while (await makeTasks(db)) {
    // One jump after the other.
  }
  await expectCompleted({ ...harness, id })
})

test('tasks and groups that are delayed for days after a jump of the clock are dispatched again', async () => {
  await using harness = await openHarness()
  const { pool } = harness.pipeline.db
  await allowAnyTransition(harness.pipeline.db)
  await pool.query(`update tasks set due_at = now() + interval '2 days' where chunk_no = 0`)
  await pool.query(`
    update tasks set due_at = now() + interval '2 days', group_key = 'host:mx' where chunk_no = 1`)
  await pool.query(`
    insert into task_groups (check_kind, group_key, next_at)
    values ('email', 'host:mx', now() + interval '2 days')`)
  expect(await reconcileTwice(harness)).toBe(3)
  expect(await readRepairs(harness.pipeline.db)).toEqual([{ kind: 'rest_without_end', count: 3 }])
  await expectCompleted(harness)
})

test('of thousands of delays of a large batch and one of a small, all end in one round', async () => {
  await using harness = await openHarness()
  const { pool } = harness.pipeline.db
  await allowAnyTransition(harness.pipeline.db)
  const { id } = await harness.read(CONTENT)
  await pool.query(
    `insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, indexes, size, due_at)
     select batch_id, account_id, mode, check_kind, depth, chunk_no, '{0}', 1, now() + interval '2 days'
     from tasks, generate_series(1, 4000) where batch_id <> $1 and chunk_no = 0`,
    [id],
  )
  await pool.query(
    `update tasks set due_at = now() + interval '2 days' where batch_id = $1 and chunk_no = 0`,
    [id],
  )
  expect(await reconcileTwice(harness)).toBe(4_001)
  const { rowCount } = await pool.query('select from tasks where due_at > now()')
  expect(rowCount).toBe(0)
})

test('the missing group of a waiting task is created', async () => {
  await using harness = await openHarness()
  const { pool } = harness.pipeline.db
  await allowAnyTransition(harness.pipeline.db)
  await pool.query(`update tasks set group_key = 'mx:a', due_at = now() where chunk_no = 1`)
  expect(await reconcileTwice(harness)).toBe(1)
  expect(await readRepairs(harness.pipeline.db)).toEqual([{ kind: 'task_without_group', count: 1 }])
  await expectCompleted(harness)
})

test('an inconsistency that ends before it was seen for a minute is neither repaired nor counted', async () => {
  await using harness = await openHarness()
  const { db } = harness.pipeline
  await allowAnyTransition(db)
  await db.pool.query(`update tasks set lease_until = now() + interval '6 hours'`)
  expect(await reconcile(harness.pipeline)).toBe(0)
  await db.pool.query(`update tasks set lease_until = null`)
  await db.pool.query(`update reconciler_findings set seen_at = seen_at - interval '61 s'`)
  expect(await reconcile(harness.pipeline)).toBe(0)
  expect((await db.pool.query('select from reconciler_findings')).rowCount).toBe(0)
  expect(await readRepairs(db)).toEqual([])
  await expectCompleted(harness)
})

test('one process searches, and others do not', async () => {
  await using harness = await openHarness()
  await harness.pipeline.db.pool.query('delete from tasks')
  expect(await reconcile(harness.pipeline, { holder: 'one', graceMs: 0 })).toBe(0)
  expect(await reconcile(harness.pipeline, { holder: 'other', graceMs: 0 })).toBe(0)
  expect(await reconcile(harness.pipeline, { holder: 'one', graceMs: 0 })).toBe(3)
})

test('findings from before the clock went back are found again', async () => {
  await using harness = await openHarness()
  const { pool } = harness.pipeline.db
  await pool.query('delete from tasks')
  const options = { holder: 'one', graceMs: 60_000 }
  expect(await reconcile(harness.pipeline, options)).toBe(0)
  await pool.query(`update reconciler_findings set seen_at = seen_at + interval '2 days'`)
  expect(await reconcile(harness.pipeline, options)).toBe(0)
  await pool.query(`update reconciler_findings set seen_at = seen_at - interval '61 s'`)
  expect(await reconcile(harness.pipeline, options)).toBe(3)
  await expectCompleted(harness)
})

test('a batch whose file is lost before it is read fails with that reason; others are read', async () => {
  await using harness = await openTestPipeline()
  const { db } = harness.pipeline
  await requireOwnStore(harness.pipeline)
  const lost = await harness.submit(CONTENT)
  const canceled = await harness.submit(CONTENT)
  const there = await harness.submit(CONTENT)
  await cancelBatch(harness.pipeline, harness.owner, canceled.id)
  for (const { id } of [lost, canceled]) await rm(join(harness.files, 'uploads', id))
  expect(await reconcileTwice(harness, reconcileFiles)).toBe(0)
  await sinceLong(harness)
  expect(await reconcileTwice(harness, reconcileFiles)).toBe(2)
  for (const { id } of [lost, canceled]) {
    expect(await getBatch(harness.pipeline, harness.owner, id)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringMatching(/lost.*Send it again/) },
    })
  }
  expect(await readRepairs(db)).toEqual([{ kind: 'batch_without_file', count: 2 }])
  expect((await getBatch(harness.pipeline, harness.owner, there.id)).status).toBe('analyzing')
})

test('no batch fails if the whole store is missing, as a disk that is not mounted', async () => {
  await using harness = await openTestPipeline()
  await requireOwnStore(harness.pipeline)
  const { id } = await harness.submit(CONTENT)
  await sinceLong(harness)
  await rename(harness.files, `${harness.files}-away`)
  expect(await reconcileTwice(harness, reconcileFiles)).toBe(0)
  await rm(harness.files, { recursive: true, force: true })
  await rename(`${harness.files}-away`, harness.files)
  expect((await getBatch(harness.pipeline, harness.owner, id)).status).toBe('analyzing')
  expect(await readRepairs(harness.pipeline.db)).toEqual([])
})

/** As if every batch had waited for its intake for long. */
async function sinceLong({ pipeline }: TestPipeline): Promise<void> {
  await pipeline.db.pool.query(
    `update batches set ats = ats || jsonb_build_object(status, '2026-01-01T00:00:00Z')`,
  )
}
