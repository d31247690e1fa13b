import { hash } from 'node:crypto'
import { WEBHOOK_PENDING_MAX } from '@plumbline/contract/webhook-limits'
import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import { createAccount } from '../accounts.ts'
import { insertBatch } from '../batches/rows.ts'
import { inTransaction, type Db } from '../database.ts'
import { rowsRead, rowsReadBy } from '../rows-read-fixture.ts'
import { sweepLongStored, sweepSurplusMessages } from '../sweep-expired.ts'
import { storeAttemptResults } from './attempt-results.ts'
import {
  blankDelivery,
  countDue,
  createTestDelivery,
  pageOfDeliveries,
  replayOne,
  replaySince,
  takeDue,
  type DeliveryRow,
  type DueDelivery,
} from './deliveries.ts'
import {
  changeWebhook,
  createWebhook,
  findWebhook,
  newWebhookId,
  rotateWebhookSecret,
} from './endpoints.ts'
import { pageOfOwnDeliveries, type OwnDeliveryCursor } from './own-deliveries.ts'

const WANTED: Parameters<typeof takeDue>[1] = {
  most: 100,
  each: 100,
  busy: {},
  failing: [],
  ofFailing: 0,
  ofAccount: 100,
  busyAccounts: {},
  after: '',
  lostAfterMs: 60_000,
}
const LIMITS = { failingDays: 5, pauseMs: 25 * 3_600_000 }
const LONG_AGO = new Date('2026-01-01T00:00:00Z')

test('messages are sent again under their ids and in their order, however often, without a new row', async () => {
  await using stage = await openStage()
  const endpointId = await stage.endpoint(await stage.account())
  await stage.send(endpointId, 5)
  const first = await stage.deliverAll()
  for (let round = 0; round < 3; round++) {
    expect(await stage.replay(endpointId)).toBe(5)
    // Due already: neither counted nor written.
    expect(await stage.replay(endpointId)).toBe(0)
    const again = await stage.deliverAll()
    expect(again.map(({ webhookId }) => webhookId)).toEqual(first.map(({ webhookId }) => webhookId))
  }
  expect(await stage.all(endpointId)).toHaveLength(5)
})

test('a page of failed messages does not read those of other states', async () => {
  await using stage = await openStage()
  const endpointId = await stage.endpoint(await stage.account())
  await stage.send(endpointId, 20_000)
  await stage.db.pool.query(`update webhook_deliveries set status = 'delivered'`)
  await stage.db.pool.query(
    `update webhook_deliveries set status = 'failed' where webhook_id in ('msg_1', 'msg_10000')`,
  )
  await stage.db.pool.query('analyze webhook_deliveries')
  await inTransaction(stage.db, async (tx) => {
    const before = await rowsRead(tx, 'webhook_deliveries')
    const page = { limit: 20, before: undefined, status: 'failed' } as const
    const failed = await pageOfDeliveries({ ...stage.db, kysely: tx }, endpointId, page)
    expect(failed.map(({ webhook_id }) => webhook_id)).toEqual(['msg_10000', 'msg_1'])
    expect((await rowsRead(tx, 'webhook_deliveries')) - before).toBeLessThan(100)
  })
})

test('a walk through all messages of an account reads each of them once', async () => {
  await using stage = await openStage()
  const accountId = await stage.account()
  const endpoints = [await stage.endpoint(accountId), await stage.endpoint(accountId)]
  for (const endpointId of endpoints) await stage.send(endpointId, 5_000)
  await stage.send(await stage.endpoint(await stage.account()), 5_000)
  await stage.db.pool.query('vacuum analyze webhook_deliveries')
  const owner = { accountId, mode: 'live' } as const
  await inTransaction(stage.db, async (tx) => {
    const before = await rowsRead(tx, 'webhook_deliveries')
    const seen: string[] = []
    for (let after: OwnDeliveryCursor | null | undefined; after !== null;) {
      const page = await pageOfOwnDeliveries({ ...stage.db, kysely: tx }, owner, after ?? null, 200)
      seen.push(...page.rows.map(({ id }) => id))
      after = page.next
    }
    expect(new Set(seen).size).toBe(10_000)
    expect(seen).toHaveLength(10_000)
    expect((await rowsRead(tx, 'webhook_deliveries')) - before).toBeLessThan(25_000)
  })
})

test('a test key walks through the messages about its own calls alone', async () => {
  await using stage = await openStage()
  const accountId = await stage.account()
  const endpointId = await stage.endpoint(accountId)
  await stage.send(endpointId, 20)
  await insertBatch(
    stage.db,
    {
      id: 'bat_1',
      account_id: accountId,
      mode: 'test',
      product: 'email',
      explain: false,
      charge_unknown: false,
      auto_start: false,
      retention_days: 1,
      requested: '{}',
      source_key: '',
      file_bytes: 0,
    },
    null,
  )
  await stage.db.pool.query(
    `update webhook_deliveries set subject = 'bat_1' where webhook_id in ('msg_3', 'msg_17')`,
  )
  const owner = { accountId, mode: 'test' } as const
  const first = await pageOfOwnDeliveries(stage.db, owner, null, 10)
  const second = await pageOfOwnDeliveries(stage.db, owner, first.next, 10)
  const third = await pageOfOwnDeliveries(stage.db, owner, second.next, 10)
  const names = [first, second, third].map((page) => page.rows.map((row) => row.webhook_id))
  expect(names).toEqual([['msg_3'], ['msg_17'], []])
  expect(third.next).toBe(null)
})

test('messages that are due later are not read when others are taken or counted', async () => {
  await using stage = await openStage()
  const endpointId = await stage.endpoint(await stage.account())
  await stage.send(endpointId, 5_000)
  await stage.db.pool.query(`update webhook_deliveries set due_at = now() + interval '1 hour'`)
  await stage.db.pool.query(
    `update webhook_deliveries set due_at = now() where webhook_id = 'msg_7'`,
  )
  await stage.db.pool.query('vacuum analyze webhook_deliveries')
  const taking = await rowsReadBy(stage.db, ['webhook_deliveries'], async (db) => {
    const { due } = await takeDue(db, { ...WANTED, most: 1 })
    expect(due.map(({ webhookId }) => webhookId)).toEqual(['msg_7'])
  })
  expect(taking).toBeLessThan(50)
  await inTransaction(stage.db, async (tx) => {
    const before = await rowsRead(tx, 'webhook_deliveries')
    expect(await countDue(tx, endpointId, 1_000)).toBe(1)
    expect((await rowsRead(tx, 'webhook_deliveries')) - before).toBeLessThan(50)
  })
})

test('a message that has ended begins anew, one that waits keeps its attempts and is due at once', async () => {
  await using stage = await openStage()
  const endpointId = await stage.endpoint(await stage.account())
  await stage.send(endpointId, 1)
  const [sent] = await stage.deliverAll()
  const id = sent?.id ?? ''
  const again = await inTransaction(stage.db, (tx) => replayOne(tx, endpointId, id))
  expect(again).toMatchObject({
    id,
    webhook_id: sent?.webhookId,
    status: 'pending',
    attempts: 0,
    attempted_at: null,
    response_status: null,
  })
  expect(await stage.take()).toMatchObject([{ id, attempt: 1 }])
  // Under way, with a lease: sent again all the same, with the next number.
  await inTransaction(stage.db, (tx) => replayOne(tx, endpointId, id))
  expect(await stage.take()).toMatchObject([{ id, attempt: 2 }])
  const elsewhere = await stage.endpoint(await stage.account())
  expect(await inTransaction(stage.db, (tx) => replayOne(tx, elsewhere, id))).toBeUndefined()
})

test('a replay takes so many messages, the oldest of those since a time', async () => {
  await using stage = await openStage()
  const endpointId = await stage.endpoint(await stage.account())
  await stage.send(endpointId, 4)
  const sent = await stage.deliverAll()
  const rows = await stage.all(endpointId)
  const since = rows.find(({ id }) => id === sent[1]?.id)?.created_at ?? new Date()
  expect(await inTransaction(stage.db, (tx) => replaySince(tx, endpointId, since, 2))).toBe(2)
  expect((await stage.take()).map(({ id }) => id)).not.toContain(sent[3]?.id)
})

test('of the test messages of an endpoint only the newest are stored, sent or not', async () => {
  await using stage = await openStage()
  const account = await stage.account()
  const [endpointId, other] = [await stage.endpoint(account), await stage.endpoint(account)]
  await stage.send(endpointId, 1)
  const probe = (id: string, no: number): Promise<DeliveryRow> =>
    inTransaction(stage.db, (tx) => createTestDelivery(tx, id, { body: String(no), kept: 3 }))
  await probe(other, 0)
  for (let no = 1; no <= 5; no++) await probe(endpointId, no)
  const bodies = (await stage.all(endpointId)).map(({ body }) => body)
  expect(bodies).toEqual(['5', '4', '3', 'message 1'])
  expect(await stage.all(other)).toHaveLength(1)
})

test('of more messages than may wait for an endpoint those fail that have waited longest', async () => {
  await using stage = await openStage()
  const account = await stage.account()
  const [full, other] = [await stage.endpoint(account), await stage.endpoint(account)]
  await stage.send(other, 3)
  await stage.send(full, WEBHOOK_PENDING_MAX + 3)
  await sweepLongStored(stage.db, new AbortController().signal)
  const { rows } = await stage.db.pool.query(
    `select webhook_id, error from webhook_deliveries where status = 'failed' order by due_at`,
  )
  const error = expect.stringContaining('Too many messages waited')
  expect(rows).toEqual([1, 2, 3].map((no) => ({ webhook_id: `msg_${no}`, error })))
  expect(await countDue(stage.db, other, 100)).toBe(3)
  expect(await countDue(stage.db, full, 100)).toBe(100)
})

test('of more messages than are kept of an endpoint the oldest that have ended are deleted', async () => {
  await using stage = await openStage()
  const account = await stage.account()
  const [full, other] = [await stage.endpoint(account), await stage.endpoint(account)]
  await stage.send(full, 7)
  await stage.send(other, 4)
  // All but the oldest message of the endpoint have ended.
  const [oldest] = (await stage.all(full)).slice(-1)
  await stage.db.pool.query(`update webhook_deliveries set status = 'delivered' where id <> $1`, [
    oldest?.id,
  ])
  const before = (await stage.all(full)).map(({ id }) => id)
  await sweepSurplusMessages(stage.db, new AbortController().signal, 4)
  const kept = (await stage.all(full)).map(({ id }) => id)
  expect(kept).toEqual([...before.slice(0, 4), oldest?.id])
  expect(await stage.all(other)).toHaveLength(4)
})

test('accounts take turns, the one with the fewest messages under way first', async () => {
  await using stage = await openStage()
  const [busy, quiet] = [await stage.account(), await stage.account()]
  // Many endpoints and older messages give an account no more.
  for (let no = 0; no < 5; no++) await stage.send(await stage.endpoint(busy), 4)
  const quietEndpoint = await stage.endpoint(quiet)
  await stage.send(quietEndpoint, 3)
  const ofQuiet = (due: readonly DueDelivery[]): number =>
    due.filter(({ accountId }) => accountId === quiet).length
  expect(ofQuiet(await stage.take({ most: 2 }))).toBe(1)
  const single = { most: 1, ofAccount: 10, busyAccounts: { [busy]: 7, [quiet]: 8 } }
  expect(ofQuiet(await stage.take(single))).toBe(1)
  // No account has more than it may, even if nobody else has any.
  await stage.take({ most: 1, busyAccounts: { [busy]: 0 } })
  expect(await stage.take({ ofAccount: 4 })).toHaveLength(4)
  expect(await stage.take({ busyAccounts: { [busy]: 2 } })).toHaveLength(2)
  expect(await stage.take({ busyAccounts: { [busy]: 0 } })).toEqual([])
  expect(await stage.take()).toHaveLength(13)
})

test('endpoints that fail share what they may take, whichever of them have messages due', async () => {
  await using stage = await openStage()
  const accounts = [await stage.account(), await stage.account()]
  const dead: string[] = []
  for (const account of [...accounts, accounts[0] ?? '']) dead.push(await stage.endpoint(account))
  const sound = await stage.endpoint(accounts[0] ?? '')
  for (const id of [...dead, sound]) await stage.send(id, 3)
  const unknown = Array.from({ length: 40 }, newWebhookId)
  const wanted = { each: 1, failing: [...unknown, ...dead], ofFailing: 2 }
  const taken = await stage.take(wanted)
  expect(taken.map(({ endpointId }) => endpointId)).toContain(sound)
  // One of each account: they take turns here, too.
  const failing = taken.filter(({ endpointId }) => endpointId !== sound)
  expect(failing.map(({ accountId }) => accountId).toSorted()).toEqual(accounts.toSorted())
  // Those that fail hold no place of their account, although their messages are older.
  expect(await stage.take({ ...wanted, ofFailing: 0, ofAccount: 1 })).toMatchObject([
    { endpointId: sound },
  ])
})

test('endpoints are looked at from where the last statement ended, each once a round', async () => {
  await using stage = await openStage()
  const account = await stage.account()
  const endpoints = await Promise.all([1, 2, 3, 4, 5].map(() => stage.endpoint(account)))
  for (const id of endpoints) await stage.send(id, 1)
  const order: string[] = []
  let after = ''
  for (let no = 0; no < 3; no++) {
    const taken = await takeDue(stage.db, { ...WANTED, after }, 2)
    order.push(...taken.due.map(({ endpointId }) => endpointId))
    after = taken.after
  }
  expect(after).toBe('')
  expect(order.toSorted()).toEqual(endpoints.toSorted())
})

test('endpoints for which no message waits are not read', async () => {
  await using stage = await openStage()
  const account = await stage.account()
  const waiting = await Promise.all([1, 2, 3].map(() => stage.endpoint(account)))
  for (const id of waiting) await stage.send(id, 5)
  await stage.db.pool.query(
    `insert into webhook_endpoints (id, account_id, url, events, secret)
     select 'whk_' || substr(md5(no::text), 1, 16), $1, 'https://a.example', '{batch.completed}', 's'
     from generate_series(1, 2000) no`,
    [account],
  )
  await stage.db.pool.query('vacuum analyze webhook_endpoints')
  const read = await rowsReadBy(stage.db, ['webhook_endpoints'], async (db) => {
    expect((await takeDue(db, WANTED)).due).toHaveLength(15)
  })
  expect(read).toBe(3)
})

test('the result of an attempt is not stored once another attempt was made, or the message has ended', async () => {
  await using stage = await openStage()
  const endpointId = await stage.endpoint(await stage.account())
  await stage.send(endpointId, 1)
  const take = async (): Promise<DueDelivery> => {
    const [due] = await stage.take({ lostAfterMs: 0 })
    if (due === undefined) throw new Error('no message is due')
    return due
  }
  const store = async (due: DueDelivery, responseStatus: 200 | 500): Promise<unknown> => {
    const answer = { responseStatus, responseBody: null, error: null, disable: null }
    const sent = { againMs: 0, durationMs: 1, bodySha256: hash('sha256', due.body) }
    const status = responseStatus === 200 ? 'delivered' : 'failed'
    await storeAttemptResults(stage.db, [{ ...due, ...sent, ...answer, status }], LIMITS)
    return (await stage.all(endpointId)).map((row) => [row.status, row.response_status])
  }
  const lost = await take()
  const second = await take()
  expect(await store(lost, 500)).toEqual([['pending', null]])
  expect(await store(second, 200)).toEqual([['delivered', 200]])
  expect(await store(second, 500)).toEqual([['delivered', 200]])
})

test('a message is signed with the old secret, too, until that ends', async () => {
  await using stage = await openStage()
  const accountId = await stage.account()
  const id = await stage.endpoint(accountId)
  await stage.send(id, 2)
  const secrets = async () => (await stage.take({ most: 1 })).map((due) => due.secrets)
  await inTransaction(stage.db, (tx) =>
    rotateWebhookSecret(tx, { accountId, id }, { secret: 'new', oldHours: 1 }),
  )
  expect(await secrets()).toEqual([['new', 's']])
  await stage.db.pool.query('update webhook_endpoints set old_secret_until = now()')
  expect(await secrets()).toEqual([['new']])
})

test('what an old address of an endpoint answered does not count against the new one', async () => {
  await using stage = await openStage()
  const accountId = await stage.account()
  const id = await stage.endpoint(accountId)
  await stage.send(id, 3)
  const [first, second] = await stage.take()
  const fail = async (due: DueDelivery | undefined, disable: 'gone' | null): Promise<void> => {
    if (due === undefined) throw new Error('no message is due')
    const answer = { responseStatus: 410, responseBody: '', error: 'refused', disable }
    const sent = { againMs: 0, durationMs: 1, bodySha256: hash('sha256', due.body) }
    const told = { ...due, ...sent, ...answer, status: 'failed' } as const
    await storeAttemptResults(stage.db, [told], LIMITS)
  }
  const view = async () => await findWebhook(stage.db, accountId, id)
  const failingFor = (days: number) =>
    stage.db.pool.query(
      `update webhook_endpoints set failing_since = now() - $1 * interval '1 day'`,
      [days],
    )
  await fail(first, null)
  await failingFor(4)
  // The same address again is no new one.
  await changeWebhook(stage.db, { accountId, id }, { url: 'https://a.example' })
  expect(await view()).toMatchObject({ failing_since: expect.any(Date) })
  await changeWebhook(stage.db, { accountId, id }, { url: 'https://new.example' })
  expect(await view()).toMatchObject({ failing_since: null })
  await fail(second, 'gone')
  expect(await view()).toMatchObject({ disabled_at: null, failing_since: null })
})

test('an endpoint is disabled after days of failures, not by one that follows a pause', async () => {
  await using stage = await openStage()
  const accountId = await stage.account()
  const id = await stage.endpoint(accountId)
  await stage.send(id, 4)
  const messages = await stage.take()
  const fail = async (at: number, failingDays: number, hoursAgo: number) => {
    const due = messages[at]
    if (due === undefined) throw new Error('no message is due')
    await stage.db.pool.query(
      `update webhook_endpoints set failing_since = now() - $1 * interval '1 day',
         failed_at = now() - $2 * interval '1 hour'`,
      [failingDays, hoursAgo],
    )
    const answer = { responseStatus: 500, responseBody: '', error: 'refused', disable: null }
    const sent = { againMs: 0, durationMs: 1, bodySha256: hash('sha256', due.body) }
    const told = { ...due, ...sent, ...answer, status: 'pending' } as const
    await storeAttemptResults(stage.db, [told], LIMITS)
    const endpoint = await findWebhook(stage.db, accountId, id)
    const days = (Date.now() - Number(endpoint?.failing_since)) / 86_400_000
    return { days: Math.round(days), reason: endpoint?.disabled_reason }
  }
  expect(await fail(0, 4, 1)).toEqual({ days: 4, reason: null })
  expect(await fail(1, 21, 18 * 24)).toEqual({ days: 0, reason: null })
  expect(await fail(2, 6, 1)).toEqual({ days: 6, reason: 'failing' })
})

test('a response to a message from which a value was erased meanwhile is not stored', async () => {
  await using stage = await openStage()
  const endpointId = await stage.endpoint(await stage.account())
  await stage.send(endpointId, 2)
  const [erased, other] = await stage.take()
  if (erased === undefined || other === undefined) throw new Error('no message is due')
  await inTransaction(stage.db, (tx) =>
    blankDelivery(tx, { id: erased.id, body: 'message', responseBody: null, error: null }),
  )
  const results = [erased, other].map((due) => {
    const answer = { responseStatus: 200, responseBody: due.body, error: null, disable: null }
    const sent = { againMs: 0, durationMs: 1, bodySha256: hash('sha256', due.body) }
    return { ...due, ...sent, ...answer, status: 'delivered' } as const
  })
  await storeAttemptResults(stage.db, results, LIMITS)
  const stored = await stage.all(endpointId)
  expect(stored.find(({ id }) => id === erased.id)).toMatchObject({
    status: 'delivered',
    response_status: 200,
    response_body: null,
  })
  expect(stored.find(({ id }) => id === other.id)).toMatchObject({ response_body: other.body })
})

test('several processes share what is due, and no message is taken twice', async () => {
  await using stage = await openStage()
  for (let no = 0; no < 4; no++) await stage.send(await stage.endpoint(await stage.account()), 30)
  const taken: DueDelivery[] = []
  for (let round = 0; round < 20; round++) {
    const both = await Promise.all([stage.take({ most: 10 }), stage.take({ most: 10 })])
    taken.push(...both.flat())
  }
  expect(new Set(taken.map(({ id }) => id)).size).toBe(120)
  expect(taken).toHaveLength(120)
})

test('no message to a disabled endpoint is taken, and of an account no more than it may have, whether its endpoints fail or not', async () => {
  await using stage = await openStage()
  const accountId = await stage.account()
  const [works, fails, disabled] = [
    await stage.endpoint(accountId),
    await stage.endpoint(accountId),
    await stage.endpoint(accountId),
  ]
  await changeWebhook(stage.db, { accountId, id: disabled }, { enabled: false })
  for (const id of [works, fails, disabled]) await stage.send(id, 3)
  const taken = async (ofAccount: number): Promise<readonly string[]> => {
    const due = await stage.take({ ofAccount, failing: [fails], ofFailing: 9 })
    return due.map(({ endpointId }) => endpointId)
  }
  expect(await taken(4)).toHaveLength(4)
  expect(await taken(9)).toHaveLength(2)
  expect(await taken(9)).toEqual([])
})

test('messages that another process has locked delay no others', async () => {
  await using stage = await openStage()
  const endpointId = await stage.endpoint(await stage.account())
  await stage.send(endpointId, 3)
  const other = await stage.db.pool.connect()
  await other.query('begin')
  await other.query(`select from webhook_deliveries where body = 'message 1' for update`)
  const taken = await stage.take({ most: 2 })
  await other.query('rollback')
  other.release()
  expect(taken.map(({ body }) => body).toSorted()).toEqual(['message 2', 'message 3'])
})

interface Stage extends AsyncDisposable {
  readonly db: Db
  account(): Promise<string>
  /** An endpoint of an account, subscribed to `batch.completed`. */
  endpoint(accountId: string): Promise<string>
  /** Stores due messages of one endpoint, a microsecond apart. */
  send(endpointId: string, count: number): Promise<void>
  take(wanted?: Partial<typeof WANTED>): Promise<readonly DueDelivery[]>
  /** Takes all that is due, each as delivered; returns it in the order of being due. */
  deliverAll(): Promise<readonly DueDelivery[]>
  replay(endpointId: string): Promise<number>
  /** All messages of an endpoint, newest first. */
  all(endpointId: string): Promise<readonly DeliveryRow[]>
}

async function openStage(): Promise<Stage> {
  const stack = new AsyncDisposableStack()
  const db = stack.use(await openTestDatabase())
  const take: Stage['take'] = async (wanted = {}) => {
    const { due } = await takeDue(db, { ...WANTED, ...wanted })
    return due
  }
  const all = async (endpointId: string): Promise<readonly DeliveryRow[]> =>
    await pageOfDeliveries(db, endpointId, { limit: 100, before: undefined, status: undefined })
  return {
    db,
    account: async () => (await createAccount(db, { email: 'a@b.example', plan: 'free' })).id,
    endpoint: async (accountId) => {
      const id = newWebhookId()
      const events = ['batch.completed'] as const
      await inTransaction(db, (tx) =>
        createWebhook(tx, {
          id,
          accountId,
          url: 'https://a.example',
          events,
          secret: 's',
          most: 99,
        }),
      )
      return id
    },
    send: async (endpointId, count) => {
      await db.pool.query(
        `insert into webhook_deliveries (id, endpoint_id, webhook_id, type, subject, body, created_at, due_at)
         select 'dlv_' || substr(md5($1 || no), 1, 16), $1, 'msg_' || no, 'batch.completed', '',
           'message ' || no, now() + no * interval '1 us', now() + no * interval '1 us'
         from generate_series(1, $2) no`,
        [endpointId, count],
      )
    },
    take,
    deliverAll: async () => {
      const delivered: DueDelivery[] = []
      for (;;) {
        // One at a time, since those of one statement come in any order.
        const [due] = await take({ most: 1 })
        if (due === undefined) return delivered
        const { id, endpointId, attempt, url } = due
        const status = 'delivered'
        const answer = { responseStatus: 200, responseBody: '', error: null, disable: null }
        const result = {
          id,
          endpointId,
          attempt,
          url,
          status,
          againMs: 0,
          durationMs: 1,
          bodySha256: hash('sha256', due.body),
          ...answer,
        } as const
        await storeAttemptResults(db, [result], LIMITS)
        delivered.push(due)
      }
    },
    replay: (endpointId) => inTransaction(db, (tx) => replaySince(tx, endpointId, LONG_AGO, 1_000)),
    all,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
