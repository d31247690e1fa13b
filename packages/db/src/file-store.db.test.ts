import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import { takeRemovals } from './file-store.ts'
import { rowsReadBy } from './rows-read-fixture.ts'

test('removals that are due later are not read when others are taken', async () => {
  await using db = await openTestDatabase()
  await db.pool.query(`
    insert into file_removals (key, next_at)
    select no::text, now() + (no - 3) * interval '1 minute' from generate_series(1, 5000) no`)
  await db.pool.query('vacuum analyze file_removals')
  const read = await rowsReadBy(db, ['file_removals'], async (one) => {
    const taken = await takeRemovals(one, 100)
    expect(taken.toSorted()).toEqual(['1', '2', '3'])
  })
  expect(read).toBeLessThan(50)
})
