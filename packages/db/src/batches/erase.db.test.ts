import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import { inTransaction } from '../database.ts'
import { rowsRead } from '../rows-read-fixture.ts'
import { lockExpiring } from './erase.ts'

test('a search for expired batches reads none of those that are kept', async () => {
  await using db = await openTestDatabase()
  await db.pool.query(`
    insert into accounts (id, email, plan) values ('a', 'a@b.example', 'pro');
    insert into batches (id, account_id, mode, product, status, explain, charge_unknown, auto_start,
      retention_days, requested, source_key, file_bytes, ats)
    select 'bat_' || no, 'a', 'live', 'email', 'analyzing', false, true, true, 30, '{}', 'u', 1, '{}'
    from generate_series(1, 5000) no;
    update batches set status = 'failed', expires_at = now() + interval '1 hour'`)
  await db.pool.query('vacuum analyze batches')
  const searched = async (): Promise<readonly [id: string | undefined, read: number]> =>
    await inTransaction(db, async (tx) => {
      const before = await rowsRead(tx, 'batches')
      const row = await lockExpiring(tx, [])
      return [row?.id, (await rowsRead(tx, 'batches')) - before]
    })
  const [none, read] = await searched()
  expect(none).toBeUndefined()
  expect(read).toBeLessThan(50)
  await db.pool.query(`
    update batches set expires_at = now() - interval '1 minute' where id in ('bat_7', 'bat_8');
    update batches set expires_at = now() - interval '1 hour' where id = 'bat_8'`)
  expect((await searched())[0]).toBe('bat_8')
})
