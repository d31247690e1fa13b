import { expect, test } from 'vitest'
import type { Db } from '../database.ts'
import { cutStatement, mergeStatement, type MergePart } from './merge-waiting.ts'
import { storeTaskOutcomes } from './settle.ts'
import { add, idsOf, lease, openTwoAccounts } from './tasks-fixture.ts'

type Rows = readonly Record<string, unknown>[]

/** A task's group and subjects; the state of a subject is an object with its number. */
interface Subjects {
  readonly group: string
  readonly indexes: readonly number[]
  readonly chunk?: number
  /** Minutes from now. */
  readonly due?: number
  /** Whether it was leased from its group, with fencing number 1. */
  readonly isLeased?: boolean
}

/** Inserts a task with its subjects and its group; returns its id. */
async function addSubjects(db: Db, task: Subjects): Promise<number> {
  const { group, indexes, chunk = 0, due = -1, isLeased = false } = task
  const id = await add(db, { group, chunk, due })
  await db.pool.query('update tasks set indexes = $2, size = $3, states = $4 where id = $1', [
    id,
    indexes,
    indexes.length,
    JSON.stringify(indexes.map((no) => ({ no }))),
  ])
  await db.pool.query(
    `insert into task_groups (check_kind, group_key, next_at) values ('email', $1, now())
     on conflict do nothing`,
    [group],
  )
  if (isLeased) {
    await db.pool.query(
      `update tasks set lease = 1, lease_until = now() + interval '1 min', claimed = false,
         group_key = null, due_at = null where id = $1`,
      [id],
    )
  }
  return id
}

/** Leased tasks, in the form of the statement's parameters. */
interface Given {
  readonly ids: readonly number[]
  readonly groups: readonly string[]
  readonly leases?: readonly number[]
  readonly most?: number
  readonly large?: number
}

/** The rows of a part of the merging statement; its changes are rolled back. */
async function merge(db: Db, part: MergePart, given: Given): Promise<Rows> {
  const { ids, groups, leases = ids.map(() => 1), most = 64, large = 256 } = given
  const values = [ids, groups, most, 60_000, leases, large]
  return await takenBack(db, mergeStatement(part), values)
}

async function takenBack(db: Db, text: string, values: unknown[]): Promise<Rows> {
  const client = await db.pool.connect()
  try {
    await client.query('begin')
    const { rows } = await client.query<Record<string, unknown>>(text, values)
    await client.query('rollback')
    return rows
  } finally {
    client.release()
  }
}

const statesOf = (...numbers: readonly number[]): unknown[] => numbers.map((no) => ({ no }))

/** Two leased tasks of a chunk, one that is tried for a silent service, and waiting tasks. */
async function fill(db: Db): Promise<Given & { readonly waiting: number }> {
  const ids = [
    await addSubjects(db, { group: 'mx:1', indexes: [1], isLeased: true }),
    await addSubjects(db, { group: 'mx:2', indexes: [2, 3], isLeased: true }),
    await addSubjects(db, { group: 'silence:dns', indexes: [4], isLeased: true }),
  ]
  const waiting = await addSubjects(db, { group: 'mx:3', indexes: [5, 6] })
  await addSubjects(db, { group: 'mx:4', indexes: [7], due: 5 })
  await addSubjects(db, { group: 'mx:3', indexes: [1], chunk: 9 })
  await addSubjects(db, { group: 'silence:dns', indexes: [8] })
  return { ids, groups: ['mx:1', 'mx:2', 'silence:dns'], waiting }
}

test('cut, others and kept: all subjects but the first go back into their group, with their states', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const ids = [
    await addSubjects(db, { group: 'silence:dns', indexes: [3, 5, 8], isLeased: true }),
    await addSubjects(db, { group: 'silence:dns', indexes: [1, 2], isLeased: true }),
  ]
  const run = (part: Parameters<typeof cutStatement>[0]): Promise<Rows> =>
    takenBack(db, cutStatement(part), [ids, ['silence:dns', 'silence:dns'], 2])
  expect(await run('cut')).toMatchObject([{ id: ids[0], waited_by: 'silence:dns', size: 3 }])
  expect(await run('others')).toMatchObject([
    { group_key: 'silence:dns', indexes: [8], size: 1, states: statesOf(8) },
  ])
  expect(await run('kept')).toEqual([
    { id: ids[0], indexes: [3, 5], size: 2, states: statesOf(3, 5) },
  ])
  await db.pool.query('update tasks set claimed = true')
  expect(await run('cut')).toEqual([])
})

test('listed: tasks that are leased with the given number and not claimed', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const given = await fill(db)
  expect(idsOf(await merge(db, 'listed', given))).toEqual(given.ids)
  expect(idsOf(await merge(db, 'listed', { ...given, leases: [1, 2, 1] }))).toEqual([
    given.ids[0],
    given.ids[2],
  ])
  await db.pool.query('update tasks set claimed = true where id = $1', [given.ids[0]])
  expect(idsOf(await merge(db, 'listed', given))).toEqual(given.ids.slice(1))
})

test('leaders, followers and share: the first task of a chunk takes in the others, except for a silent service', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const given = await fill(db)
  const [first, second] = given.ids
  expect(idsOf(await merge(db, 'leaders', given))).toEqual([first])
  expect(await merge(db, 'followers', given)).toMatchObject([{ id: second, leader: first }])
  expect(await merge(db, 'share', given)).toEqual([{ most: 64 }])
  const other = await addSubjects(db, { group: 'mx:5', indexes: [2], chunk: 4, isLeased: true })
  const more = { ...given, ids: [...given.ids, other], groups: [...given.groups, 'mx:5'] }
  expect(idsOf(await merge(db, 'leaders', more))).toEqual([first, other])
  expect(await merge(db, 'share', more)).toEqual([{ most: 32 }])
})

test('also: followers, and due tasks of the chunk from groups with capacity, up to the share', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const given = await fill(db)
  const [first, second] = given.ids
  const joined = [
    { id: second, leader: first, was_waiting: false },
    { id: given.waiting, leader: first, was_waiting: true },
  ]
  expect(await merge(db, 'also', given)).toMatchObject(joined)
  expect(await merge(db, 'also', { ...given, most: 0 })).toMatchObject(joined.slice(0, 1))
  for (const change of [
    `update task_groups set next_at = now() + interval '1 min' where group_key = 'mx:3'`,
    `update task_groups set quiet_until = now() + interval '1 min' where group_key = 'mx:3'`,
    `update task_groups set opened = true where group_key = 'mx:3'`,
    `update task_groups set out_task = ${given.ids[2]} where group_key = 'mx:3'`,
  ]) {
    await db.pool.query(
      `update task_groups set next_at = now(), quiet_until = '-infinity', opened = false, out_task = null`,
    )
    await db.pool.query(change)
    expect([change, await merge(db, 'also', given)]).toMatchObject([change, joined.slice(0, 1)])
  }
})

test('also: tasks that another transaction has locked are skipped', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const given = await fill(db)
  const other = await db.pool.connect()
  await other.query(`begin; select from tasks where id = ${given.waiting} for update`)
  expect(idsOf(await merge(db, 'also', given))).toEqual([given.ids[1]])
  await other.query('rollback')
  other.release()
})

test('gone and grown: merged tasks are one task, with the states of the subjects in their order', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const given = await fill(db)
  const [first, second] = given.ids
  await db.pool.query('update tasks set attempts = 3 where id = $1', [given.waiting])
  await db.pool.query('update tasks set states = null where id = $1', [first])
  expect(idsOf(await merge(db, 'gone', given)).toSorted()).toEqual([second, given.waiting])
  expect(await merge(db, 'grown', given)).toEqual([
    {
      id: first,
      indexes: [1, 2, 3, 5, 6],
      size: 5,
      states: [null, ...statesOf(2, 3, 5, 6)],
      attempts: 3,
    },
  ])
})

test('groups and ours: whether more tasks wait in each group than were taken out of it', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const given = await fill(db)
  const [first, , silent] = given.ids
  const sorted = async (part: MergePart): Promise<unknown[]> =>
    (await merge(db, part, given))
      .map((row) => [row['group_key'], row['more'], row['leader']])
      .toSorted((one, other) => (String(one) < String(other) ? -1 : 1))
  const all = [
    ['mx:1', false, first],
    ['mx:2', false, first],
    ['mx:3', true, first],
    ['silence:dns', true, silent],
  ]
  expect(await sorted('groups')).toEqual(all)
  const other = await db.pool.connect()
  await other.query(`begin; select from task_groups where group_key = 'mx:1' for update`)
  expect(await sorted('ours')).toEqual(all.slice(1))
  await other.query('rollback')
  other.release()
})

test('forgotten and out: groups without other tasks are deleted, the others note their leased task', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const given = await fill(db)
  const [first, , silent] = given.ids
  const keysOf = (rows: Rows): unknown[] => rows.map((row) => row['group_key']).toSorted()
  expect(keysOf(await merge(db, 'forgotten', given))).toEqual(['mx:1', 'mx:2'])
  const out = await merge(db, 'out', given)
  expect(keysOf(out)).toEqual(['mx:3', 'silence:dns'])
  expect(out).toEqual(
    expect.arrayContaining([
      { group_key: 'mx:3', out_task: first, last_account_id: 'a' },
      { group_key: 'silence:dns', out_task: silent, last_account_id: 'a' },
    ]),
  )
})

test('a group that a task is put into while its last one is merged is not deleted', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const task = await addSubjects(db, { group: 'mx:1', indexes: [1], isLeased: true })
  const other = await add(db, { chunk: 1 })
  await lease(db, other, 1)
  // The statement as it is, but waiting for a lock once it has its snapshot.
  const text = mergeStatement('out').replace(
    'not t.claimed',
    'not t.claimed and pg_advisory_xact_lock(1) is not null',
  )
  const gate = await db.pool.connect()
  await gate.query('select pg_advisory_lock(1)')
  const merging = db.pool.query(text, [[task], ['mx:1'], 64, 60_000, [1], 256])
  const isWaiting = `select from pg_locks where locktype = 'advisory' and not granted
    and database = (select oid from pg_database where datname = current_database())`
  await expect.poll(async () => (await gate.query(isWaiting)).rowCount).toBe(1)
  await db.kysely.transaction().execute((tx) =>
    storeTaskOutcomes(tx, {
      task: { taskId: other, lease: 1, batchId: 'bat_a', chunkNo: 1, check: 'email' },
      showsReplies: true,
      held: [0],
      indexes: [],
      count: 0,
      outcomes: Buffer.alloc(0),
      waiting: [
        {
          group: 'mx:1',
          reason: 'greylisted',
          afterMs: 1_000,
          holdsGroup: true,
          indexes: [0],
          states: [null],
        },
      ],
      stays: null,
    }),
  )
  await gate.query('select pg_advisory_unlock(1)')
  gate.release()
  await merging
  // As if the task had come before: the group is skipped for as long as the merged task is leased.
  const { rows } = await db.pool.query('select group_key, out_task from task_groups')
  expect(rows).toEqual([{ group_key: 'mx:1', out_task: task }])
})

test('merged: followers are left out; a task grows if it took its full share and is not large', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  const given = await fill(db)
  const [first, , silent] = given.ids
  const grows = async (options: Partial<Given>): Promise<unknown> =>
    (await merge(db, 'merged', { ...given, ...options })).find(({ id }) => id === first)?.['grows']
  expect(idsOf(await merge(db, 'merged', given))).toEqual([first, silent])
  expect(await grows({})).toBe(false)
  expect(await grows({ most: 1 })).toBe(true)
  // One subject of its own, two of the follower and two from waiting tasks.
  expect(await grows({ most: 1, large: 6 })).toBe(true)
  expect(await grows({ most: 1, large: 5 })).toBe(false)
})
