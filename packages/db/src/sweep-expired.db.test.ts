import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import { rowsReadBy } from './rows-read-fixture.ts'
import { sweepExpired, sweepFormerMailboxes, sweepLongStored } from './sweep-expired.ts'

test('everything that has expired is deleted, however much it is, and nothing else', async () => {
  await using db = await openTestDatabase()
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

/** What was written before the clock was set back by two days. */
const BEFORE_STEP = [
  `insert into accounts (id, email, plan) values ('acc_1', 'ada@example.com', 'free')`,
  `insert into webhook_endpoints (id, account_id, url, events, secret)
   values ('whk_0000000000000001', 'acc_1', 'https://example.com', '{batch.completed}', '')`,
  // One made before the step, one tried before it, and one that waits for days by a longer schedule.
  `insert into webhook_deliveries (id, endpoint_id, webhook_id, type, subject, body, created_at,
     attempted_at, due_at)
   select 'dlv_000000000000000' || n, 'whk_0000000000000001', 'msg_' || n, 'batch.completed', '', '',
     now() + made, now() + tried, now() + due
   from (values
     (1, interval '2 days', null, interval '2 days'),
     (2, interval '-1 day', interval '2 days', interval '2 days 1 hour'),
     (3, interval '-1 day', interval '-1 hour', interval '2 days')) as t (n, made, tried, due)`,
  `insert into mails (kind, sealed, expires_at, next_at)
   select 'k' || n, '', now() + interval '3 days', now() + after
   from (values (1, interval '2 days'), (2, interval '1 hour')) as t (n, after)`,
  `insert into erasures (id, account_id, mode, value_count, include_addresses, target, place,
     lease_until)
   select 'ers_000000000000000' || n, 'acc_1', 'live', 1, false, '', '{}', now() + after
   from (values (1, interval '2 days'), (2, interval '1 minute')) as t (n, after)`,
  `insert into file_removals (key, next_at)
   select 'f' || n, now() + after
   from (values (1, interval '2 days'), (2, interval '1 hour')) as t (n, after)`,
]

test('what was written before the clock was set back is due now, and nothing that waits', async () => {
  await using db = await openTestDatabase()
  for (const statement of BEFORE_STEP) await db.pool.query(statement)
  await sweepExpired(db, new AbortController().signal)
  const { rows } = await db.pool.query(`
    select id as due from webhook_deliveries where due_at <= now()
    union all select kind from mails where next_at <= now()
    union all select id from erasures where lease_until <= now()
    union all select key from file_removals where next_at <= now()
    order by due`)
  expect(rows.map(({ due }) => due)).toEqual([
    'dlv_0000000000000001',
    'dlv_0000000000000002',
    'ers_0000000000000001',
    'f1',
    'k1',
  ])
})

test('a sweep of each minute reads neither all accounts nor endpoints for which nothing waits', async () => {
  await using db = await openTestDatabase()
  await db.pool.query(`
    insert into accounts (id, email, plan, status, status_at)
      select 'acc_' || n, 'a@b.example', 'free', 'closed', now() - interval '90 days'
      from generate_series(1, 500) n;
    insert into free_mailboxes (digest, account_id) values ('former', 'acc_1'), ('other', 'acc_x');
    insert into webhook_endpoints (id, account_id, url, events, secret)
      select 'whk_' || lpad(n::text, 16, '0'), 'acc_1', 'https://a.example', '{batch.completed}', 's'
      from generate_series(1, 500) n;
    insert into webhook_deliveries (id, endpoint_id, webhook_id, type, subject, body, due_at)
      select 'dlv_' || lpad(n::text, 16, '0'), 'whk_0000000000000007', 'msg_1', 'batch.completed', '',
        '', now()
      from generate_series(1, 3) n`)
  await db.pool.query('vacuum analyze')
  const read = await rowsReadBy(db, ['accounts', 'webhook_endpoints'], (one) =>
    sweepLongStored(one, new AbortController().signal),
  )
  expect(read).toBe(0)
  await sweepFormerMailboxes(db, new AbortController().signal)
  const { rows } = await db.pool.query('select digest from free_mailboxes')
  expect(rows).toEqual([{ digest: 'other' }])
})

test('a sweep reads no sessions but those that have ended', async () => {
  await using db = await openTestDatabase()
  await db.pool.query(`
    insert into users (id, name, email, email_key, password_digest)
    values ('usr_1', 'Ada', 'ada@example.com', 'ada@example.com', '')`)
  await db.pool.query(`
    insert into sessions (id, digest, user_id, ends_at, network, browser)
    select 'ses_' || n, sha256(n::text::bytea), 'usr_1', now() + (n - 2) * interval '1 minute', '', ''
    from generate_series(1, 20000) n`)
  await db.pool.query('analyze sessions')
  const read = await rowsReadBy(db, ['sessions'], (one) =>
    sweepExpired(one, new AbortController().signal),
  )
  expect(read).toBeLessThan(100)
  await sweepExpired(db, new AbortController().signal)
  expect((await db.pool.query('select from sessions')).rowCount).toBe(19_998)
})
