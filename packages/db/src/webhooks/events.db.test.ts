import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import { createAccount } from '../accounts.ts'
import type { Tx } from '../database.ts'
import { createDeliveries, noteEvent, takeEvents } from './events.ts'

test('a message that was lost and is made again from its event has the same id', async () => {
  await using db = await openTestDatabase()
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

test('an endpoint that was disabled since an event gets no message of it, nor one of another account or event', async () => {
  await using db = await openTestDatabase()
  const accountOf = async (name: string): Promise<string> =>
    (await createAccount(db, { email: `${name}@example.com`, plan: 'free' })).id
  const accountId = await accountOf('ada')
  await db.pool.query(
    `insert into webhook_endpoints (id, account_id, url, events, secret) values
       ('whk_0000000000000001', $1, 'https://a.example', '{credits.low}', ''),
       ('whk_0000000000000002', $1, 'https://b.example', '{credits.low}', ''),
       ('whk_0000000000000003', $1, 'https://c.example', '{credits.exhausted}', ''),
       ('whk_0000000000000004', $2, 'https://d.example', '{credits.low}', '')`,
    [accountId, await accountOf('other')],
  )
  await noteEvent(db, { accountId, type: 'credits.low', subject: '' })
  await noteEvent(db, { accountId, type: 'batch.failed', subject: 'bat_1' })
  const { rowCount } = await db.pool.query('select from webhook_events')
  expect(rowCount).toBe(1)
  await db.pool.query(
    `update webhook_endpoints set disabled_at = now(), disabled_reason = 'by_request'
     where id = 'whk_0000000000000002'`,
  )
  await db.kysely.transaction().execute(async (tx) => {
    const events = await takeEvents(tx, 10)
    await createDeliveries(
      tx,
      events.map((event) => ({ event, body: '{}' })),
    )
  })
  const { rows } = await db.pool.query('select endpoint_id as id from webhook_deliveries')
  expect(rows).toEqual([{ id: 'whk_0000000000000001' }])
})

test('events that another process makes messages of are left to it', async () => {
  await using db = await openTestDatabase()
  const { id: accountId } = await createAccount(db, { email: 'ada@example.com', plan: 'free' })
  await db.pool.query(
    `insert into webhook_endpoints (id, account_id, url, events, secret)
     values ('whk_0000000000000001', $1, 'https://example.com', '{credits.low}', '')`,
    [accountId],
  )
  for (let n = 0; n < 3; n++) await noteEvent(db, { accountId, type: 'credits.low', subject: '' })
  const idsIn = async (tx: Tx, most: number) => (await takeEvents(tx, most)).map(({ id }) => id)
  await db.kysely.transaction().execute(async (tx) => {
    const first = await idsIn(tx, 2)
    const rest = await db.kysely.transaction().execute((other) => idsIn(other, 3))
    expect([...first, ...rest]).toEqual([1, 2, 3])
  })
})
