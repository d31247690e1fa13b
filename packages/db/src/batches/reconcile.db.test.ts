import { expect, test } from 'vitest'
import { inTransaction } from '../database.ts'
import { rowsRead } from '../rows-read-fixture.ts'
import {
  chunksWithoutTask,
  createMissingTasks,
  delaysWithoutEnd,
  storeFindings,
} from './reconcile.ts'
import { add, openTwoAccounts } from './tasks-fixture.ts'

test('a search for delays of days reads none of the tasks that wait for less', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  await db.pool.query(`
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size, group_key, due_at)
    select 'bat_a', 'a', 'live', 'email', 'full', 0, 1, 'mx:a', now() + no * interval '1 second'
    from generate_series(1, 5000) no`)
  await db.pool.query(`
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size, group_key, due_at)
    values ('bat_a', 'a', 'live', 'email', 'full', 0, 1, 'mx:a', now() + interval '3 days')`)
  await db.pool.query('vacuum analyze tasks')
  await inTransaction(db, async (tx) => {
    expect(await delaysWithoutEnd({ ...db, kysely: tx })).toHaveLength(1)
    expect(await rowsRead(tx, 'tasks')).toBeLessThan(50)
  })
})

test('a chunk gets tasks for what has neither outcome nor task, and only if it is open and has none', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  await db.pool.query(`
    insert into chunks (batch_id, no, first_row, row_count, billable_count, email_count,
      phone_count, ip_count, domain_count, remaining, subjects, cells, settled_at)
    select 'bat_a', no, 0, 4, 4, 4, 2, 1, 0, 7, '', '', case when no = 2 then now() end
    from generate_series(0, 3) no;
    insert into parts (batch_id, chunk_no, check_kind, indexes, outcomes) values
      ('bat_a', 0, 'email', array[2], ''), ('bat_a', 0, 'email', array[0], ''), ('bat_a', 0, 'ip', null, '');
    -- The tasks of chunks from 3 on are still to be created.
    update batches set tasks_from = 3 where id = 'bat_a'`)
  await add(db, { chunk: 1 })
  expect(await chunksWithoutTask(db)).toEqual(['bat_a/0'])
  const missing = (no: number): Promise<number | undefined> =>
    inTransaction(db, (tx) => createMissingTasks(tx, 'bat_a', no, 'basic'))
  expect([await missing(0), await missing(0), await missing(1), await missing(2)]).toEqual([
    4,
    undefined,
    undefined,
    undefined,
  ])
  const { rows } = await db.pool.query(`
    select t.check_kind as check, t.indexes, t.size, c.remaining
    from tasks t join chunks c on c.batch_id = t.batch_id and c.no = t.chunk_no
    where t.chunk_no = 0 order by t.check_kind`)
  expect(rows).toEqual([
    { check: 'email', indexes: [1, 3], size: 2, remaining: 4 },
    { check: 'phone', indexes: [0, 1], size: 2, remaining: 4 },
  ])
  await db.pool.query(`delete from tasks; update batches set status = 'paused'`)
  expect(await chunksWithoutTask(db)).toEqual([])
})

test('of 2,500 findings the first 2,000 are repaired in one round, the others at once in the next', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  // Their order is not that of their names.
  const found = Array.from({ length: 2_500 }, (_, no) => `bat_a/${2_500 - no}`)
  const lasting = async (subjects: readonly string[]): Promise<readonly string[]> =>
    await storeFindings(db, 'chunk_without_task', subjects, 0)
  // Found by one search only.
  expect(await lasting(found)).toEqual([])
  expect(await lasting(found)).toEqual(found.slice(0, 2_000))
  // Recorded by an earlier search, so that they need not wait for another minute.
  expect(await lasting(found.slice(2_000))).toEqual(found.slice(2_000))
})
