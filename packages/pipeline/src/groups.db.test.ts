import { quietGroups } from '@plumbline/db/batches/groups'
import { storeTaskOutcomes } from '@plumbline/db/batches/settle'
import { leaseTasks, type LeasedTask } from '@plumbline/db/batches/lease-tasks'
import type { Tx } from '@plumbline/db/database'
import { expect, test } from 'vitest'
import { allowAnyMove } from '@plumbline/testkit/any-move'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'

const GROUP = 'mx:a'
const OPTIONS = { slots: { email: 10, phone: 0, ip: 0, domain: 0 }, reserve: 0, leaseMs: 60_000 }

/** Two running batches of one record; the task of the second is in hand. */
async function openHarness(): Promise<TestPipeline & { inHand: LeasedTask }> {
  const harness = await openTestPipeline()
  const { pool } = harness.pipeline.db
  await harness.read('email\nada@example.com\n')
  await allowAnyMove(harness.pipeline.db)
  await pool.query(`update tasks set group_key = $1, due_at = now() + interval '1 minute'`, [GROUP])
  await pool.query(`insert into task_groups values ('email', $1, now())`, [GROUP])
  await harness.read('email\ngrace@example.com\n')
  const [inHand] = await leaseTasks(harness.pipeline.db, OPTIONS)
  if (inHand === undefined) throw new Error('no task went out')
  return { ...harness, inHand }
}

/** Brings a task back that has to wait by the group, for so long. */
async function bringBack(tx: Tx, { taskId, lease }: LeasedTask, afterMs: number): Promise<void> {
  const waits = {
    group: GROUP,
    afterMs,
    reason: 'no_room',
    holdsGroup: false,
    indexes: [0],
    states: [null],
  }
  await storeTaskOutcomes(tx, {
    taskId,
    lease,
    size: 1,
    indexes: [],
    count: 0,
    outcomes: Buffer.alloc(0),
    waiting: [waits],
    stays: null,
  })
}

/** Seconds for which the group is not looked at, by the database's clock. */
async function quietSeconds({ pipeline }: TestPipeline): Promise<number> {
  const { rows } = await pipeline.db.pool.query<{ quiet: number }>(
    `select extract(epoch from greatest(quiet_until, now()) - now())::float8 as quiet from task_groups`,
  )
  return rows[0]?.quiet ?? 0
}

test('a group is quiet until something of it is due, and then goes out', async () => {
  await using harness = await openHarness()
  const { pool } = harness.pipeline.db
  await quietGroups(harness.pipeline.db)
  const quiet = await quietSeconds(harness)
  expect(quiet).toBeGreaterThan(50)
  expect(quiet).toBeLessThanOrEqual(60)
  await pool.query(`
    with earlier as (update task_groups set quiet_until = quiet_until - interval '1 minute')
    update tasks set due_at = due_at - interval '1 minute' where group_key is not null`)
  await quietGroups(harness.pipeline.db)
  expect(await leaseTasks(harness.pipeline.db, OPTIONS)).toHaveLength(1)
})

test('what is put into a quiet group goes out when it is due', async () => {
  await using harness = await openHarness()
  const { kysely } = harness.pipeline.db
  await quietGroups(harness.pipeline.db)
  await kysely.transaction().execute((tx) => bringBack(tx, harness.inHand, 0))
  expect(await leaseTasks(harness.pipeline.db, OPTIONS)).toMatchObject([
    { batchId: harness.inHand.batchId },
  ])
})

test('a group is not quieted over what is being put into it', async () => {
  await using harness = await openHarness()
  const { kysely } = harness.pipeline.db
  await kysely.transaction().execute(async (tx) => {
    await bringBack(tx, harness.inHand, 0)
    await quietGroups(harness.pipeline.db)
  })
  expect(await leaseTasks(harness.pipeline.db, OPTIONS)).toMatchObject([
    { batchId: harness.inHand.batchId },
  ])
})

test('a group of which a task is out stays awake', async () => {
  await using harness = await openHarness()
  const { pool } = harness.pipeline.db
  await pool.query(
    `update tasks set lease_until = now() - interval '1 s' where group_key is not null`,
  )
  await quietGroups(harness.pipeline.db)
  expect(await quietSeconds(harness)).toBe(0)
})
