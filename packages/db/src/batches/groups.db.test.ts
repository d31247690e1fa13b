import { expect, test } from 'vitest'
import { rowsReadBy } from '../rows-read-fixture.ts'
import { advanceGroups, sweepGroups } from './groups.ts'
import { leaseTasks } from './lease-tasks.ts'
import { add, idsOf, lease, openTwoAccounts } from './tasks-fixture.ts'

const OPTIONS = {
  slots: { email: 4, phone: 0, ip: 0, domain: 0 },
  reserve: 0,
  leaseMs: 60_000,
} as const

test('an account whose waiting records fell due after thousands of another has its turn', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  await db.pool.query(`
    insert into task_groups (check_kind, group_key, next_at)
    select 'email', 'mx:' || no, now() - interval '1 min' from generate_series(1, 5000) no;
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size, group_key, due_at)
    select 'bat_a', 'a', 'live', 'email', 'full', 0, 1, group_key, next_at from task_groups;
    insert into task_groups (check_kind, group_key, next_at) values
      ('email', 'mx:late', now() - interval '1 s'), ('email', 'mx:full', now() + interval '1 min')`)
  await lease(db, await add(db), 1)
  const late = await add(db, { group: 'mx:late', due: 0, account: 'b' })
  await add(db, { group: 'mx:full', due: -1, account: 'b' })
  expect(await advanceGroups(db, '')).toBe('')
  const { rows } = await db.pool.query(
    `select group_key from task_groups where next_at = '-infinity'`,
  )
  expect(rows).toEqual([{ group_key: 'mx:late' }])
  const leased = await leaseTasks(db, OPTIONS)
  expect(leased.map(({ taskId }) => taskId)).toContain(late)
})

test('a group that waits for capacity is not brought forward, nor any if all due ones are read at once', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  await db.pool.query(`insert into task_groups (check_kind, group_key, next_at) values
    ('email', 'mx:1', now()), ('email', 'mx:2', now())`)
  for (const group of ['mx:1', 'mx:2']) await add(db, { group, due: -1 })
  await advanceGroups(db, '')
  const { rows } = await db.pool.query(`select from task_groups where next_at = '-infinity'`)
  expect(rows).toEqual([])
})

test('due tasks of another check of the batch are not read, however many they are', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  await db.pool.query(`
    insert into task_groups (check_kind, group_key, next_at)
    select 'email', 'mx:' || no, now() - interval '1 min' from generate_series(1, 3) no;
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size, group_key, due_at)
    select 'bat_a', 'a', 'live', 'domain', 'full', no, 1, 'rdap:x', now() - interval '1 min'
    from generate_series(1, 5000) no;
    analyze tasks`)
  const read = await rowsReadBy(db, ['tasks'], (one) => advanceGroups(one, ''))
  expect(read).toBeLessThan(50)
})

test('groups that nothing waits for are deleted, however many, and those with tasks stay', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  await db.pool.query(`
    insert into task_groups (check_kind, group_key, next_at)
    select 'email', 'mx:' || no, now() - interval '1 h' from generate_series(1, 5000) no;
    insert into task_groups (check_kind, group_key, next_at)
    values ('domain', 'rdap:new', now()), ('domain', 'rdap:old', now() - interval '1 h')`)
  const kept = await add(db, { group: 'mx:4321', due: -1 })
  await sweepGroups(db, new AbortController().signal)
  const { rows } = await db.pool.query('select group_key from task_groups order by 1')
  expect(rows).toEqual([{ group_key: 'mx:4321' }, { group_key: 'rdap:new' }])
  expect(idsOf((await db.pool.query('select id from tasks')).rows)).toEqual([kept])
})

test('a sweep of groups reads one task of each group, however many wait', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  await db.pool.query(`
    insert into task_groups (check_kind, group_key, next_at)
    select 'email', 'mx:' || no, now() - interval '1 h' from generate_series(1, 5) no;
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size, group_key, due_at)
    select 'bat_a', 'a', 'live', 'email', 'full', 0, 1, group_key, next_at
    from task_groups, generate_series(1, 4000);
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size)
    select 'bat_a', 'a', 'live', 'email', 'full', no, 1 from generate_series(1, 10000) no;
    analyze tasks`)
  const read = await rowsReadBy(db, ['tasks'], (one) =>
    sweepGroups(one, new AbortController().signal),
  )
  expect(read).toBeLessThan(50)
})
