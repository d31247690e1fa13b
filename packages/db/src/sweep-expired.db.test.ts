import { expect, test } from 'vitest'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { openDatabase } from './database.ts'
import { sweepExpired, sweepLongStored } from './sweep-expired.ts'

test('everything that has expired is deleted, however much it is, and nothing else', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test' })
  await db.pool.query(`
    insert into memory_entries
    select n::text, '1', now() + case when n <= 3 then 1 else -1 end * interval '1 minute'
    from generate_series(1, 25000) n`)
  await db.pool.query(`
    insert into idempotency_keys
      (account_id, mode, path, key, fingerprint, op_key, claimed_at, expires_at)
    select 'acc_1', 'live', '/v1/email', n::text, '', n::text, now(),
      now() + case when n <= 2 then 1 else -1 end * interval '1 hour'
    from generate_series(1, 25000) n`)
  await db.pool.query(`
    insert into stray_files (key, seen_at)
    select n::text, now() - n * interval '200 days' from generate_series(1, 3) n`)
  await sweepExpired(db, new AbortController().signal)
  await sweepLongStored(db, new AbortController().signal)
  const { rows } = await db.pool.query(`
    select (select count(*) from memory_entries) as facts,
      (select count(*) from idempotency_keys) as keys,
      (select count(*) from stray_files) as strays`)
  expect(rows).toEqual([{ facts: 3, keys: 2, strays: 1 }])
})
