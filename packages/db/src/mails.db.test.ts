import { createTestDatabase } from '@plumbline/testkit/postgres'
import { expect, test } from 'vitest'
import { openDatabase, type Db } from './database.ts'
import { leaseMails } from './mails.ts'

test('a round of the outbox reads what it takes and what has expired, not all that waits', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test' })
  await db.pool.query(`
    insert into mails (kind, sealed, next_at, expires_at)
    select 'batch_ended', '', now() + n * interval '1 second' - interval '1 hour',
      now() + n * interval '1 minute' - interval '150 seconds'
    from generate_series(1, 20000) n`)
  await db.pool.query('vacuum analyze mails')
  const client = await db.pool.connect()
  try {
    await client.query('begin')
    // Safe because only `query` is called.
    const one = { ...db, pool: client as unknown as Db['pool'] }
    const { mails, givenUp } = await leaseMails(one, { count: 10, leaseMs: 1_000 })
    expect(mails).toHaveLength(10)
    expect(givenUp).toHaveLength(2)
    const { rows } = await client.query<{ read: number }>(`
      select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read
      from pg_stat_xact_user_tables where relname = 'mails'`)
    expect(rows[0]?.read).toBeLessThan(100)
  } finally {
    client.release(true)
  }
})
