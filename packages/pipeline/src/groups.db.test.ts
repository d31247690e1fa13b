import { storeTaskOutcomes } from '@plumbline/db/batches/settle'
import { leaseTasks, type LeasedTask } from '@plumbline/db/batches/lease-tasks'
import { claimTask } from '@plumbline/db/batches/tasks'
import type { Tx } from '@plumbline/db/database'
import { expect, test } from 'vitest'
import { allowAnyTransition } from '@plumbline/testkit/any-transition'
import { PATIENT } from '@plumbline/testkit/patience'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'

const GROUP = 'mx:a'
const OPTIONS = { slots: { email: 10, phone: 0, ip: 0, domain: 0 }, reserve: 0, leaseMs: 60_000 }

/** Two running batches of one record; the task of the second is claimed. */
async function openHarness(): Promise<TestPipeline & { inHand: LeasedTask }> {
  const harness = await openTestPipeline()
  const { pool } = harness.pipeline.db
  await harness.read('email\nada@example.com\n')
  await allowAnyTransition(harness.pipeline.db)
  await pool.query(`update tasks set group_key = $1, due_at = now() + interval '1 minute'`, [GROUP])
  await pool.query(`insert into task_groups values ('email', $1, now())`, [GROUP])
  await harness.read('email\ngrace@example.com\n')
  const [inHand] = await leaseTasks(harness.pipeline.db, OPTIONS)
  if (inHand === undefined) throw new Error('no task went out')
  return { ...harness, inHand }
}

/** Stores the subjects of a task as waiting in the group, for this long. */
async function bringBack(tx: Tx, task: LeasedTask, afterMs: number): Promise<void> {
  const waits = {
    group: GROUP,
    afterMs,
    reason: 'no_room',
    holdsGroup: true,
    indexes: [0],
    states: [null],
  }
  await storeTaskOutcomes(tx, {
    task: { ...task, chunkNo: 0 },
    held: [0],
    indexes: [],
    count: 0,
    outcomes: Buffer.alloc(0),
    waiting: [waits],
    showsReplies: true,
    stays: null,
  })
}

test('a task added to a skipped group is dispatched when it is due', async () => {
  await using harness = await openHarness()
  const { db } = harness.pipeline
  await leaseTasks(db, OPTIONS)
  await db.kysely.transaction().execute((tx) => bringBack(tx, harness.inHand, 0))
  expect(await leaseTasks(db, OPTIONS)).toMatchObject([{ batchId: harness.inHand.batchId }])
})

test('a group is not skipped over tasks that are being added to it', async () => {
  await using harness = await openHarness()
  const { db } = harness.pipeline
  await db.kysely.transaction().execute(async (tx) => {
    await bringBack(tx, harness.inHand, 0)
    await leaseTasks(db, OPTIONS)
  })
  expect(await leaseTasks(db, OPTIONS)).toMatchObject([{ batchId: harness.inHand.batchId }])
})

test('a group is not skipped over tasks that were added since it was read', async () => {
  await using harness = await openHarness()
  const { db } = harness.pipeline
  await db.pool.query(`
    update task_groups set quiet_until = '-infinity';
    create schema kept;
    alter function groups_in_turn set schema kept;
    create function groups_in_turn(kind text, most integer, is_reserve boolean, busy text[])
    returns table (group_key text, version xid, is_out boolean, task bigint, account text)
    language plpgsql as $$
    begin
      return query select * from kept.groups_in_turn(kind, most, is_reserve, busy);
      perform pg_advisory_xact_lock_shared(1);
    end $$`)
  const reader = await db.pool.connect()
  await reader.query('select pg_advisory_lock(1)')
  const round = leaseTasks(db, OPTIONS)
  const waiting =
    "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
  await expect.poll(async () => (await db.pool.query(waiting)).rowCount, PATIENT).toBe(1)
  await db.kysely.transaction().execute((tx) => bringBack(tx, harness.inHand, 0))
  await reader.query('select pg_advisory_unlock(1)')
  reader.release()
  expect(await round).toEqual([])
  expect(await leaseTasks(db, OPTIONS)).toMatchObject([{ batchId: harness.inHand.batchId }])
})

test('a group continues when its dispatched task has ended', async () => {
  await using harness = await openHarness()
  const { db } = harness.pipeline
  await db.pool.query(`update tasks set due_at = now() where group_key is not null`)
  await db.pool.query(`update task_groups set quiet_until = '-infinity'`)
  await db.pool.query(`
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, indexes, size, group_key, due_at)
    select batch_id, account_id, mode, check_kind, depth, 1, '{0}', 1, group_key, now()
    from tasks where group_key is not null`)
  const [first, ...more] = await leaseTasks(db, OPTIONS)
  if (first === undefined) throw new Error('no task went out')
  const task = await claimTask(db, first, OPTIONS.leaseMs)
  if (task === undefined) throw new Error('the task was not claimed')
  expect([...more, ...(await leaseTasks(db, OPTIONS))]).toEqual([])
  await db.kysely.transaction().execute((tx) =>
    storeTaskOutcomes(tx, {
      task,
      held: [0],
      indexes: [0],
      count: 1,
      outcomes: Buffer.alloc(0),
      waiting: [],
      showsReplies: true,
      stays: null,
    }),
  )
  expect(await leaseTasks(db, OPTIONS)).toHaveLength(1)
})
