import { expect, test } from 'vitest'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { createAccount } from '../accounts.ts'
import { openDatabase } from '../database.ts'
import { createDeliveries, noteEvent, takeEvents } from './events.ts'

test('a message that was lost and is made again from its event has the same id', async () => {
  await using database = await createTestDatabase()
  await using db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test' })
  const { id: accountId } = await createAccount(db, { email: 'ada@example.com', plan: 'free' })
  await db.pool.query(
    `insert into webhook_endpoints (id, account_id, url, events, secret)
     values ('whk_0000000000000001', $1, 'https://example.com', '{credits.low}', '')`,
    [accountId],
  )
  for (let n = 0; n < 2; n++) await noteEvent(db, { accountId, type: 'credits.low', subject: '' })
  const make = async (): Promise<readonly unknown[]> =>
    await db.kysely.transaction().execute(async (tx) => {
      await tx.deleteFrom('webhook_deliveries').execute()
      const events = await takeEvents(tx, 10)
      await createDeliveries(
        tx,
        events.map((event) => ({ event, body: '{}' })),
      )
      const made = tx.selectFrom('webhook_deliveries').select(['id', 'webhook_id'])
      return await made.orderBy('id').execute()
    })
  const first = await make()
  expect(first).toHaveLength(2)
  for (const row of first) {
    expect(row).toMatchObject({ webhook_id: expect.stringMatching(/^msg_[A-Za-z0-9]{16}$/) })
  }
  expect(await make()).toEqual(first)
})
