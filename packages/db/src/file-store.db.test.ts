import { createTestDatabase } from '@plumbline/testkit/postgres'
import { expect, test } from 'vitest'
import { openDatabase, type Db } from './database.ts'
import { takeRemovals } from './file-store.ts'

test('removals that are due later are not read when others are taken', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test' })
  await db.pool.query(`
    insert into file_removals (key, next_at)
    select no::text, now() + (no - 3) * interval '1 minute' from generate_series(1, 5000) no`)
  await db.pool.query('vacuum analyze file_removals')
  const client = await db.pool.connect()
  try {
    await client.query('begin')
    // Safe because only `query` is called.
    const taken = await takeRemovals({ ...db, pool: client as unknown as Db['pool'] }, 100)
    expect(taken.toSorted()).toEqual(['1', '2', '3'])
    const { rows } = await client.query<{ read: number }>(`
      select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read
      from pg_stat_xact_user_tables where relname = 'file_removals'`)
    expect(rows[0]?.read).toBeLessThan(50)
  } finally {
    client.release(true)
  }
})
