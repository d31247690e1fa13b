import { expect, test } from 'vitest'
import type { Db } from '../database.ts'
import { leaseTasks, type LeasedTask } from './lease-tasks.ts'
import { returnPausedTask } from './pause.ts'
import { storeTaskOutcomes } from './settle.ts'
import { add, lease, openTwoAccounts, type TaskColumns } from './tasks-fixture.ts'
import {
  claimTask,
  renewTasks,
  retryTaskLater,
  returnTask,
  splitTask,
  type ClaimedTask,
  type TaskFence,
} from './tasks.ts'
import { renewUnclaimed, returnUnclaimed } from './unclaimed.ts'

const LEASE_MS = 60_000

/** Two accounts with a running batch of two chunks each. */
async function openChunks(): Promise<AsyncDisposable & { readonly db: Db }> {
  const place = await openTwoAccounts()
  await place.db.pool.query(`
    insert into chunks (batch_id, no, first_row, row_count, billable_count, email_count,
      phone_count, ip_count, domain_count, remaining, subjects, cells)
    select b.id, no, 0, 1, 1, 1, 1, 0, 0, 2, '', '' from batches b, generate_series(0, 1) no`)
  return place
}

/** Adds, leases and claims a task of one subject. */
async function claimed(db: Db, columns: TaskColumns = {}): Promise<ClaimedTask> {
  const taskId = await add(db, columns)
  await lease(db, taskId, 1)
  const task = await claimTask(db, { taskId, lease: 1 }, LEASE_MS)
  if (task === undefined) throw new Error(`task ${taskId} was not claimed`)
  return task
}

/** Everything that a worker writes for a task that it holds. */
const WRITES: Readonly<Record<string, (db: Db, task: TaskFence) => Promise<unknown>>> = {
  'a renewal': async (db, task) => await renewTasks(db, [task], LEASE_MS * 2),
  'a return': async (db, task) => await returnTask(db, task),
  'a retry': async (db, task) => await retryTaskLater(db, task, 1_000),
  'a split': async (db, task) =>
    await splitTask(db, task, [{ indexes: [0], states: null, attempts: 1 }]),
  'a save': async (db, task) => await store(db, task, null),
  'a save of some': async (db, task) => await store(db, task, { indexes: [0], states: null }),
}

async function store(
  db: Db,
  task: TaskFence,
  stays: { indexes: readonly number[]; states: null } | null,
): Promise<unknown> {
  const brought = {
    task,
    held: [0],
    indexes: [0],
    count: 1,
    outcomes: Buffer.from('A'),
    waiting: [],
    showsReplies: true,
  }
  return await db.kysely.transaction().execute((tx) => storeTaskOutcomes(tx, { ...brought, stays }))
}

async function tasksAndParts(db: Db): Promise<readonly unknown[]> {
  const { rows } = await db.pool.query<Record<string, unknown>>(`
    select to_jsonb(t) as row from tasks t union all select to_jsonb(p) from parts p`)
  return rows
}

test.each([
  { name: 'batch', lost: { account: 'a' }, next: { account: 'b' } },
  { name: 'chunk', lost: { chunk: 0 }, next: { chunk: 1 } },
  { name: 'check', lost: { check: 'email' }, next: { check: 'phone' } },
] as const)(
  'a task whose number is issued again for another $name after a failover gets no writes of the lost one',
  async ({ lost, next }) => {
    await using place = await openChunks()
    const { db } = place
    const before = await claimed(db, lost)
    // The standby has neither the task nor its number.
    await db.pool.query(`delete from tasks`)
    await db.pool.query(`select setval('tasks_id_seq', $1, false)`, [before.taskId])
    const after = await claimed(db, next)
    expect([after.taskId, after.lease]).toEqual([before.taskId, before.lease])
    const rows = await tasksAndParts(db)
    for (const [name, write] of Object.entries(WRITES)) {
      await write(db, before)
      expect({ name, rows: await tasksAndParts(db) }).toEqual({ name, rows })
    }
    expect(await renewTasks(db, [before], LEASE_MS)).toEqual(new Set())
    expect(await renewTasks(db, [after], LEASE_MS)).toEqual(new Set([after.taskId]))
  },
)

test('a task whose lease ran out is not renewed, and gets no writes once another worker has it', async () => {
  await using place = await openChunks()
  const { db } = place
  const before = await claimed(db)
  await db.pool.query('update tasks set lease_until = null')
  expect(await renewTasks(db, [before], LEASE_MS)).toEqual(new Set())
  await lease(db, before.taskId, 1)
  const again = { taskId: before.taskId, lease: before.lease + 1 }
  expect(await claimTask(db, { ...again, lease: before.lease }, LEASE_MS)).toBeUndefined()
  const after = await claimTask(db, again, LEASE_MS)
  if (after === undefined) throw new Error('the task was not claimed again')
  const rows = await tasksAndParts(db)
  for (const [name, write] of Object.entries(WRITES)) {
    await write(db, before)
    expect({ name, rows: await tasksAndParts(db) }).toEqual({ name, rows })
  }
  expect(await renewTasks(db, [before], LEASE_MS)).toEqual(new Set())
  expect(await renewTasks(db, [after], LEASE_MS)).toEqual(new Set([after.taskId]))
})

test.each<[string, (db: Db, task: TaskFence) => Promise<unknown>]>([
  ['returned', returnTask],
  ['to be retried', (db, task) => retryTaskLater(db, task, 0)],
  ['lost', (db) => db.pool.query(`update tasks set lease_until = now() - interval '1 s'`)],
])('the number after that of its claim is the next of a task that is %s', async (_, comeBack) => {
  await using place = await openChunks()
  const { db } = place
  const task = await claimed(db)
  await comeBack(db, task)
  const slots = { email: 1, phone: 0, ip: 0, domain: 0 }
  let leased: readonly LeasedTask[] = []
  // The first round makes it ready.
  for (let round = 0; round < 2 && leased.length === 0; round += 1) {
    leased = await leaseTasks(db, { slots, reserve: 0, leaseMs: LEASE_MS })
  }
  // By this the dispatcher finds the job of the claim.
  expect(leased).toMatchObject([{ taskId: task.taskId, lease: task.lease + 1 }])
})

test('a job that lost its task, or whose task was claimed, neither renews nor returns it', async () => {
  await using place = await openChunks()
  const { db } = place
  const taskId = await add(db)
  await lease(db, taskId, -1)
  await lease(db, taskId, -1)
  await db.pool.query('update tasks set claimed = false')
  const of = { taskId, batchId: 'bat_a', check: 'email', halted: false } as const
  const unchangedBy = async (job: { readonly lease: number }): Promise<void> => {
    const before = await tasksAndParts(db)
    await renewUnclaimed(db, [{ ...of, ...job }], LEASE_MS)
    await returnUnclaimed(db, [{ ...of, ...job }])
    await returnPausedTask(db, { taskId, ...job })
    expect(await tasksAndParts(db)).toEqual(before)
  }
  await unchangedBy({ lease: 1 })
  await returnUnclaimed(db, [{ ...of, lease: 2 }])
  expect(await claimTask(db, { taskId, lease: 2 }, LEASE_MS)).toBeUndefined()
  await lease(db, taskId, 1)
  expect(await claimTask(db, { taskId, lease: 3 }, LEASE_MS)).toMatchObject({ lease: 4 })
  await unchangedBy({ lease: 3 })
  await unchangedBy({ lease: 4 })
  // That a batch is paused ends no claim of another job.
  await db.pool.query(`update batches set status = 'paused'`)
  await unchangedBy({ lease: 3 })
})

test('each write finds its task by its number, however many tasks its chunk has', async () => {
  await using place = await openChunks()
  const { db } = place
  // As after many short batches: a chunk is expected to have one task.
  await db.pool.query(`
    insert into batches (id, account_id, mode, product, status, explain, charge_unknown, auto_start,
      retention_days, requested, source_key, file_bytes, ats)
    select 'bat_' || no, 'a', 'live', 'email', 'analyzing', false, true, true, 30, '{}', 'u', 1, '{}'
    from generate_series(1, 1000) no;
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size)
    select 'bat_' || no, 'a', 'live', 'email', 'full', 0, 1 from generate_series(1, 1000) no;
    analyze tasks;
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, indexes, size)
    select 'bat_a', 'a', 'live', 'email', 'full', 0, array[no], 1 from generate_series(1, 500) no`)
  const reads = new Map<string, number>()
  for (const [name, write] of Object.entries(WRITES)) {
    const task = await claimed(db)
    const before = await tasksRead(db)
    await write(db, task)
    reads.set(name, (await tasksRead(db)) - before)
  }
  expect([...reads].filter(([, count]) => count > 10)).toEqual([])
})

/** Tasks that were read so far on the pool's connection, which is one if it is used in turn. */
async function tasksRead({ pool }: Db): Promise<number> {
  await pool.query(`select pg_stat_force_next_flush()`)
  const { rows } = await pool.query<{ count: number }>(`
    select seq_tup_read + idx_tup_fetch as count from pg_stat_user_tables
    where relname = 'tasks'`)
  return Number(rows[0]?.count)
}
