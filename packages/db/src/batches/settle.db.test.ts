import { PATIENT } from '@plumbline/testkit/patience'
import { expect, test } from 'vitest'
import type { Db } from '../database.ts'
import { storeTaskOutcomes, type TaskOutcomes, type WaitingSubjects } from './settle.ts'
import { add, lease, openTwoAccounts } from './tasks-fixture.ts'
import { claimTask, type ClaimedTask } from './tasks.ts'

const MINUTE_MS = 60_000
const GROUP = 'mx:a'

/** Two accounts, of which the first has a chunk with four subjects. */
async function openChunk(): Promise<AsyncDisposable & { readonly db: Db }> {
  const place = await openTwoAccounts()
  await place.db.pool.query(`
    insert into chunks (batch_id, no, first_row, row_count, billable_count, email_count,
      phone_count, ip_count, domain_count, remaining, subjects, cells)
    values ('bat_a', 0, 0, 4, 4, 4, 0, 0, 0, 4, '', '')`)
  return place
}

/** Leases and claims a task with these subjects, the leased one of every group. */
async function claimed(db: Db, indexes: readonly number[]): Promise<ClaimedTask> {
  const taskId = await add(db)
  await db.pool.query(
    'update tasks set indexes = $2, size = cardinality($2::int[]) where id = $1',
    [taskId, indexes],
  )
  await lease(db, taskId, 1)
  await db.pool.query('update task_groups set out_task = $1', [taskId])
  const task = await claimTask(db, { taskId, lease: 1 }, MINUTE_MS)
  if (task === undefined) throw new Error('the task was not claimed')
  return task
}

/** Stores what a worker brings for a task; returns whether it did. */
async function store(
  db: Db,
  task: ClaimedTask,
  held: readonly number[],
  brought: Partial<TaskOutcomes>,
): Promise<boolean> {
  const nothing = { indexes: [], count: 0, outcomes: Buffer.from(''), waiting: [], stays: null }
  const stored = await db.kysely
    .transaction()
    .execute((tx) =>
      storeTaskOutcomes(tx, { task, held, showsReplies: true, ...nothing, ...brought }),
    )
  return stored !== undefined
}

/** Claims a task with these subjects, and stores what a worker brings for it. */
async function bring(
  db: Db,
  indexes: readonly number[],
  brought: Partial<TaskOutcomes>,
): Promise<{ readonly taskId: number; readonly isStored: boolean }> {
  const task = await claimed(db, indexes)
  return { taskId: task.taskId, isStored: await store(db, task, indexes, brought) }
}

const WAITS: WaitingSubjects = {
  group: GROUP,
  reason: 'limit',
  afterMs: 0,
  holdsGroup: true,
  indexes: [0],
  states: [null],
}

const waits = (minutes: number, more: Partial<WaitingSubjects> = {}): Partial<TaskOutcomes> => ({
  waiting: [{ ...WAITS, afterMs: minutes * MINUTE_MS, ...more }],
})

/** The group in minutes from now, rounded. */
async function groupIn(db: Db): Promise<unknown> {
  const { rows } = await db.pool.query(`
    select round(extract(epoch from next_at - now()) / 60)::int as "nextIn",
      round(extract(epoch from quiet_until - now()) / 60)::int as "quietFor", out_task as out, opened
    from task_groups`)
  return rows[0]
}

test('a group is held as long as its longest wait, and looked at again when the first of its subjects is due', async () => {
  await using place = await openChunk()
  const { db } = place
  await bring(db, [0], waits(30))
  const held = { nextIn: 30, quietFor: 30, out: null, opened: false }
  expect(await groupIn(db)).toEqual(held)
  await bring(db, [1], waits(10))
  expect(await groupIn(db)).toEqual({ ...held, quietFor: 10 })
  await bring(db, [2], waits(50))
  expect(await groupIn(db)).toEqual({ ...held, nextIn: 50, quietFor: 10 })
})

test('a group is not held by a subject that waits for itself alone', async () => {
  await using place = await openChunk()
  await bring(place.db, [0], waits(30, { holdsGroup: false }))
  expect(await groupIn(place.db)).toMatchObject({ nextIn: 0, quietFor: 30 })
})

test('a group whose leased task waits in it again is closed and has none; one whose task was answered is free', async () => {
  await using place = await openChunk()
  const { db } = place
  await bring(db, [0], waits(0))
  await db.pool.query('update task_groups set opened = true')
  await bring(db, [1], waits(20))
  expect(await groupIn(db)).toMatchObject({ nextIn: 20, quietFor: 0, out: null, opened: false })
  await db.pool.query(`update task_groups set quiet_until = now() + interval '1 hour'`)
  const answered = { indexes: [2], count: 1, outcomes: Buffer.from('A') }
  const saved = { indexes: [3], states: null }
  const { taskId } = await bring(db, [2, 3], { ...answered, stays: saved })
  expect(await groupIn(db)).toMatchObject({ quietFor: 60, out: taskId })
  await db.pool.query('delete from tasks where lease_until is not null')
  await bring(db, [3], { ...answered, indexes: [3] })
  const { rows } = await db.pool.query('select out_task, quiet_until::text from task_groups')
  expect(rows).toEqual([{ out_task: null, quiet_until: '-infinity' }])
})

test.each(['that ends', 'that goes on'])(
  'nothing is stored for a task %s if it has other subjects than its worker, as after a lost save',
  async (name) => {
    await using place = await openChunk()
    const { db } = place
    const answered = { held: [1], indexes: [1], count: 1, outcomes: Buffer.from('A') }
    const stays = name === 'that ends' ? null : { indexes: [1], states: null }
    expect(await bring(db, [0, 1], { ...answered, stays })).toMatchObject({ isStored: false })
    const { rows } = await db.pool.query(`
      select t.indexes, c.remaining, (select count(*)::int from parts) as parts
      from tasks t join chunks c on c.batch_id = t.batch_id and c.no = t.chunk_no`)
    expect(rows).toEqual([{ indexes: [0, 1], remaining: 4, parts: 0 }])
  },
)

test('groups are changed in one order, so that two arrivals cannot wait for each other', async () => {
  await using place = await openChunk()
  const { db } = place
  const both = ['mx:b', 'mx:a'].map((group, at) => ({ ...WAITS, group, indexes: [at] }))
  await bring(db, [0, 1], { waiting: both })
  const task = await claimed(db, [2, 3])
  const other = await db.pool.connect()
  await other.query(`begin; select from task_groups where group_key = 'mx:a' for update`)
  const arrival = store(db, task, [2, 3], { waiting: both })
  const waiting =
    "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
  await expect.poll(async () => (await db.pool.query(waiting)).rowCount, PATIENT).toBe(1)
  const { rows } = await other.query(
    'select group_key from task_groups order by 1 for update skip locked',
  )
  expect(rows).toEqual([{ group_key: 'mx:a' }, { group_key: 'mx:b' }])
  await other.query('rollback')
  other.release()
  expect(await arrival).toBe(true)
})
