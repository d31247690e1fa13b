import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import { withCachedPlans } from './query-plans.ts'

/** Its cost depends on the value, so that Postgres by default would plan it for each. */
const STATEMENT = {
  name: 'kept',
  text: 'select count(*)::int as n from generate_series(1, $1::int) g, pg_class',
}

test('a statement is planned once, and again on request', async () => {
  await using db = await openTestDatabase(1)
  const plans = async (): Promise<unknown> => {
    const { rows } = await db.pool.query(
      `select generic_plans, custom_plans from pg_prepared_statements where name = 'kept'`,
    )
    return rows[0]
  }
  for (let n = 1; n <= 8; n++)
    await withCachedPlans(db, n === 5, (run) => run({ ...STATEMENT, values: [n % 2] }))
  expect(await plans()).toEqual({ generic_plans: 8, custom_plans: 0 })
  expect((await db.pool.query('show synchronous_commit')).rows).toEqual([
    { synchronous_commit: 'on' },
  ])
  expect((await db.pool.query('show plan_cache_mode')).rows).toEqual([{ plan_cache_mode: 'auto' }])
})

test('a failed statement leaves nothing behind, on its connection or in the database', async () => {
  await using db = await openTestDatabase(1)
  await db.pool.query('create table made (n integer primary key)')
  const add = { name: 'add', text: 'insert into made values ($1), (1) returning n' }
  await expect(withCachedPlans(db, false, (run) => run({ ...add, values: [1] }))).rejects.toThrow(
    /duplicate/,
  )
  const added = await withCachedPlans(db, false, (run) => run({ ...add, values: [2] }))
  expect(added).toEqual([{ n: 2 }, { n: 1 }])
  expect((await db.pool.query('select pg_current_xact_id_if_assigned() as id')).rows).toEqual([
    { id: null },
  ])
})
