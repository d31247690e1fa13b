import { lookupView } from '@plumbline/contract/lookup'
import { allowAnyTransition } from '@plumbline/testkit/any-transition'
import { openApiHarness, type ApiHarness, type ApiResponse } from '@plumbline/testkit/api/harness'
import { openLossyProxy, type LossyProxy } from '@plumbline/testkit/lossy-proxy'
import { PATIENT } from '@plumbline/testkit/patience'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

let stage: ApiHarness
let proxy: LossyProxy
beforeAll(async () => {
  stage = await openApiHarness({}, async (url) => {
    proxy = await openLossyProxy(url)
    return proxy
  })
})
afterAll(() => stage[Symbol.asyncDispose]())

/**
 * Begins an asynchronous lookup whose commit takes effect, but has no reply; for `awayMs` after it
 * the database refuses connections.
 */
async function beginUnheard(
  key: string,
  headers: Readonly<Record<string, string>> = {},
  awayMs = 0,
): Promise<ApiResponse> {
  const lost = proxy.lostCount()
  proxy.dieAtNextReply('commit', awayMs)
  const answer = await begin(key, headers)
  expect(proxy.lostCount()).toBe(lost + 1)
  return answer
}

function begin(key: string, headers: Readonly<Record<string, string>>): Promise<ApiResponse> {
  return stage.call('/v1/email', {
    key,
    body: { email: 'ada@example.com' },
    headers: { prefer: 'respond-async', ...headers },
  })
}

async function statesOf(accountId: string, of: ApiHarness = stage): Promise<readonly string[]> {
  const { rows } = await of.db.pool.query<{ status: string }>(
    'select status from batches where account_id = $1',
    [accountId],
  )
  return rows.map(({ status }) => status)
}

test('a lookup whose commit had no reply is refused and canceled', async () => {
  const { id, live } = await stage.account({ credits: 10 })
  const answer = await beginUnheard(live)
  expect(answer.status).toBe(503)
  expect(answer.headers.get('x-credits-charged')).toBe('0')
  await expect.poll(() => statesOf(id)).toEqual(['canceling'])
})

test('a lookup whose commit had no reply is canceled once the database is back, though only after seconds', async () => {
  const { id, live } = await stage.account({ credits: 10 })
  const answer = await beginUnheard(live, {}, 3_000)
  expect(answer.status).toBe(503)
  expect(answer.headers.get('x-credits-charged')).toBe('0')
  await expect.poll(() => statesOf(id), { timeout: 20_000, interval: 100 }).toEqual(['canceling'])
}, 40_000)

test('a stop waits until a lookup whose commit had no reply is canceled', async () => {
  const proxies: LossyProxy[] = []
  await using ending = await openApiHarness({}, async (url) => {
    const opened = await openLossyProxy(url)
    proxies.push(opened)
    return opened
  })
  const { id, live } = await ending.account({ credits: 10 })
  for (const opened of proxies) opened.dieAtNextReply('commit', 1_000)
  const body = { email: 'ada@example.com' }
  const headers = { prefer: 'respond-async' }
  expect((await ending.call('/v1/email', { key: live, body, headers })).status).toBe(503)
  await ending.close()
  expect(await statesOf(id, ending)).toEqual(['canceling'])
}, 40_000)

test('with an Idempotency-Key it stays, and a repeat gets it', async () => {
  const { id, live } = await stage.account({ credits: 10 })
  const key = { 'idempotency-key': 'order-1' }
  const answer = await beginUnheard(live, key)
  expect(answer.status).toBe(503)
  expect(answer.text).toContain('may have been charged')
  const again = await begin(live, key)
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true'])
  expect(await statesOf(id)).toEqual(['running'])
})

/** How many statements wait for a lock. */
async function blockedCount(): Promise<number | null> {
  const blocked = `select from pg_stat_activity
    where wait_event_type = 'Lock' and datname = current_database()`
  return (await stage.db.pool.query(blocked)).rowCount
}

/** Locks rows until the result is disposed of. */
async function lockRows(select: string, accountId: string): Promise<AsyncDisposable> {
  const client = await stage.db.pool.connect()
  await client.query('begin')
  await client.query(`${select} where account_id = $1 for update`, [accountId])
  return {
    [Symbol.asyncDispose]: async () => {
      await client.query('rollback')
      client.release()
    },
  }
}

test('a lookup that is refused while its response is being stored is not begun', async () => {
  const { id, live } = await stage.account({ credits: 10 })
  // The key and the balance are known before the locks.
  await stage.call('/v1/account', { key: live })
  {
    await using locks = new AsyncDisposableStack()
    const credits = await lockRows('select from credit_accounts', id)
    const beginning = begin(live, { 'idempotency-key': 'order-1' })
    await expect.poll(blockedCount, PATIENT).toBe(1)
    locks.use(await lockRows('select from idempotency_keys', id))
    await credits[Symbol.asyncDispose]()
    const answer = await beginning
    expect(answer.status).toBe(503)
    expect(answer.text).toContain('nothing was charged')
  }
  // The key is free once its transaction has ended.
  const keys = 'select from idempotency_keys where account_id = $1'
  const keyCount = async () => (await stage.db.pool.query(keys, [id])).rowCount
  await expect.poll(keyCount, PATIENT).toBe(0)
  expect(await statesOf(id)).toEqual([])
  expect(await stage.metering.remaining(id)).toBe(10)
})

test('clients that wait for lookups share one statement, and each is answered once its own has ended', async () => {
  const { live } = await stage.account({ credits: 100 })
  await allowAnyTransition(stage.db)
  const ids: string[] = []
  for (let no = 0; no < 20; no += 1) ids.push(lookupView.parse((await begin(live, {})).json).id)
  const statements = vi.spyOn(Object.getPrototypeOf(stage.db.pool), 'query')
  const waitsFor = async (id: string): Promise<string> => {
    const answer = await stage.call(`/v1/lookups/${id}?wait=2`, { key: live })
    return lookupView.parse(answer.json).status
  }
  const waits = ids.map(waitsFor)
  const [first = ''] = ids
  await stage.db.pool.query("update batches set status = 'failed' where id = $1", [first])
  const ends = Promise.all(waits.slice(1))
  expect(await Promise.race([waits[0], ends])).toBe('failed')
  expect(new Set(await ends)).toEqual(new Set(['running']))
  const checks = statements.mock.calls.filter(([asked]) =>
    JSON.stringify(asked).includes('batches.unfinished'),
  )
  // Four a second.
  expect(checks.length).toBeGreaterThan(0)
  expect(checks.length).toBeLessThanOrEqual(20)
})
