import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import { createAccount } from '../accounts.ts'
import type { Db } from '../database.ts'
import { rowsReadBy } from '../rows-read-fixture.ts'
import { readWebhookBacklog } from './backlog.ts'
import { newWebhookId } from './endpoints.ts'

const ATTEMPT_MS = 45_000

test('messages that wait for their next attempt are no backlog, and are not read', async () => {
  await using stage = await openStage()
  const endpointId = await stage.endpoint(await stage.account())
  await stage.send(endpointId, 5_000, { dueInSeconds: 3_600, attemptedAgo: 60 })
  expect(await readWebhookBacklog(stage.db, ATTEMPT_MS)).toEqual({
    due: 0,
    oldestSeconds: 0,
    unservedSeconds: 0,
  })
  await stage.send(endpointId, 3, { dueInSeconds: -600 })
  await stage.db.pool.query('vacuum analyze webhook_deliveries')
  const read = await rowsReadBy(stage.db, ['webhook_deliveries'], async (db) => {
    const backlog = await readWebhookBacklog(db, ATTEMPT_MS)
    expect(backlog.due).toBe(3)
    expect(Math.round(backlog.oldestSeconds / 10)).toBe(60)
    expect(Math.round(backlog.unservedSeconds / 10)).toBe(60)
  })
  expect(read).toBeLessThan(50)
})

test('an account is unserved while none of its messages is under way, unless its endpoints fail', async () => {
  await using stage = await openStage()
  const unserved = async (): Promise<number> =>
    Math.round((await readWebhookBacklog(stage.db, ATTEMPT_MS)).unservedSeconds / 60)

  const slow = await stage.account()
  const [busy, behind] = [await stage.endpoint(slow), await stage.endpoint(slow)]
  await stage.send(busy, 1, { dueInSeconds: 30, attemptedAgo: 15 })
  await stage.send(behind, 5, { dueInSeconds: -7_200 })
  expect(await unserved()).toBe(0)

  const dead = await stage.endpoint(await stage.account())
  await stage.send(dead, 5, { dueInSeconds: -7_200 })
  expect(await unserved()).toBe(120)
  await stage.db.pool.query('update webhook_endpoints set failing_since = now() where id = $1', [
    dead,
  ])
  expect(await unserved()).toBe(0)

  const off = await stage.endpoint(await stage.account())
  await stage.send(off, 1, { dueInSeconds: -3_600 })
  await stage.db.pool.query(
    `update webhook_endpoints set disabled_at = now(), disabled_reason = 'by_request' where id = $1`,
    [off],
  )
  expect(await unserved()).toBe(0)

  // The next attempt of one that failed once is due soon: nothing is under way.
  const late = await stage.endpoint(await stage.account())
  await stage.send(late, 1, { dueInSeconds: 30, attemptedAgo: 600 })
  await stage.send(late, 1, { dueInSeconds: -1_800 })
  expect(await unserved()).toBe(30)
  expect((await readWebhookBacklog(stage.db, ATTEMPT_MS)).oldestSeconds).toBeGreaterThan(7_000)
})

interface Stage extends AsyncDisposable {
  readonly db: Db
  account(): Promise<string>
  endpoint(accountId: string): Promise<string>
  /** Stores pending messages that are due in so many seconds. */
  send(
    endpointId: string,
    count: number,
    when: { readonly dueInSeconds: number; readonly attemptedAgo?: number },
  ): Promise<void>
}

async function openStage(): Promise<Stage> {
  await using stack = new AsyncDisposableStack()
  const db = stack.use(await openTestDatabase())
  let sent = 0
  const owned = stack.move()
  return {
    db,
    account: async () => (await createAccount(db, { email: 'a@b.example', plan: 'free' })).id,
    endpoint: async (accountId) => {
      const id = newWebhookId()
      await db.pool.query(
        `insert into webhook_endpoints (id, account_id, url, events, secret)
         values ($1, $2, 'https://a.example', '{batch.completed}', 's')`,
        [id, accountId],
      )
      return id
    },
    send: async (endpointId, count, { dueInSeconds, attemptedAgo = null }) => {
      await db.pool.query(
        `insert into webhook_deliveries
           (id, endpoint_id, webhook_id, type, subject, body, due_at, attempts, attempted_at)
         select 'dlv_' || lpad(($2::int + n)::text, 16, '0'), $1, 'msg_' || n, 'batch.completed', '', '',
           now() + $4 * interval '1 second', case when $5::int is null then 0 else 1 end,
           now() - $5::int * interval '1 second'
         from generate_series(1, $3::int) n`,
        [endpointId, sent, count, dueInSeconds, attemptedAgo],
      )
      sent += count
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
