import { expect, test } from 'vitest'
import { inTransaction } from '../database.ts'
import { rowsRead } from '../rows-read-fixture.ts'
import { delaysWithoutEnd } from './reconcile.ts'
import { openTwoAccounts } from './tasks-fixture.ts'

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
