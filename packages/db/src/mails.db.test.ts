import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import { leaseMails } from './mails.ts'
import { rowsReadBy } from './rows-read-fixture.ts'

test('a round of the outbox reads what it takes and what has expired, not all that waits', async () => {
  await using db = await openTestDatabase()
  await db.pool.query(`
    insert into mails (kind, sealed, next_at, expires_at)
    select 'batch_ended', '', now() + n * interval '1 second' - interval '1 hour',
      now() + n * interval '1 minute' - interval '150 seconds'
    from generate_series(1, 20000) n`)
  await db.pool.query('vacuum analyze mails')
  const read = await rowsReadBy(db, ['mails'], async (one) => {
    const { mails, givenUp } = await leaseMails(one, { count: 10, leaseMs: 1_000 })
    expect(mails).toHaveLength(10)
    expect(givenUp).toHaveLength(2)
  })
  expect(read).toBeLessThan(100)
})
