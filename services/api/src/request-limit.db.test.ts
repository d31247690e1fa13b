import { setTimeout as wait } from 'node:timers/promises'
import { batchView } from '@plumbline/contract/batch-view'
import { openBrowser } from '@plumbline/testkit/api/browser'
import {
  openApiHarness,
  type ApiHarness,
  type ApiResponse,
  type CallInit,
  type HarnessAccount,
} from '@plumbline/testkit/api/harness'
import { PATIENT } from '@plumbline/testkit/patience'
import { afterAll, beforeAll, expect, test } from 'vitest'

const MOST = 2
const WAITING = 8 * MOST

let stage: ApiHarness
beforeAll(async () => {
  stage = await openApiHarness({ REQUESTS_PER_ACCOUNT: String(MOST) })
})
afterAll(() => stage[Symbol.asyncDispose]())

/** A batch whose row is locked until the end of the test, so that a change of it waits. */
async function lockedBatch(call: (path: string, init: CallInit) => Promise<ApiResponse>) {
  const body = { product: 'email', records: [{ email: 'ada@example.com' }] }
  const { json } = await call('/v1/batches', { body })
  const { id } = batchView.parse(json)
  const client = await stage.db.pool.connect()
  await client.query('begin')
  await client.query('select from batches where id = $1 for update', [id])
  const free = async (): Promise<void> => void (await client.query('rollback'))
  return {
    path: `/v1/batches/${id}/cancel`,
    free,
    waiting: async (count: number): Promise<void> => {
      const text =
        "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
      const read = async () => (await stage.db.pool.query(text)).rowCount
      await expect.poll(read, PATIENT).toBe(count)
    },
    [Symbol.asyncDispose]: async () => {
      await free()
      client.release()
    },
  }
}

/** Whether requests are still unanswered after a while. */
async function areWaiting(requests: readonly Promise<unknown>[]): Promise<boolean> {
  const answered = requests.map((request) => request.then(() => false))
  return await Promise.race([...answered, wait(300).then(() => true)])
}

async function statusOf({ live }: HarnessAccount, path = '/v1/account'): Promise<number> {
  return (await stage.call(path, { key: live })).status
}

test('requests beyond the concurrent ones of an account wait, more get 429, free; others and single calls are not affected', async () => {
  const account = await stage.account({ credits: 100 })
  const key = account.live
  await using locked = await lockedBatch((path, init) => stage.call(path, { key, ...init }))
  const begun = Array.from({ length: MOST }, () => stage.call(locked.path, { key, method: 'POST' }))
  await locked.waiting(MOST)
  const later = Array.from({ length: WAITING + 1 }, () => stage.call('/v1/batches', { key }))
  const refused = await Promise.race(later)
  expect(refused.status).toBe(429)
  expect(refused.json).toMatchObject({ message: expect.stringContaining('2 requests under way') })
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(refused.headers.get('x-credits-charged')).toBe('0')
  const metrics = await (await fetch(`${stage.adminUrl}/metrics`)).text()
  expect(metrics).toContain(
    'refusals_total{code="too_many_requests",limit="requests_of_account"} 1',
  )
  expect(await statusOf(await stage.account())).toBe(200)
  const call = await stage.call('/v1/email', { key, body: { email: 'ada@example.com' } })
  expect(call.status).toBe(200)
  await locked.free()
  const statuses = (await Promise.all([...begun, ...later])).map(({ status }) => status)
  expect(statuses.toSorted()).toEqual([...Array<number>(MOST + WAITING).fill(200), 429])
  expect(await statusOf(account)).toBe(200)
})

test('a request counts until its work has ended, also if its client is gone', async () => {
  const account = await stage.account()
  const key = account.live
  await using locked = await lockedBatch((path, init) => stage.call(path, { key, ...init }))
  const gone = new AbortController()
  const headers = { authorization: `Bearer ${key}` }
  const waiting = Array.from({ length: MOST }, () =>
    fetch(`${stage.url}${locked.path}`, { method: 'POST', headers, signal: gone.signal }),
  )
  await locked.waiting(MOST)
  gone.abort()
  const ends = await Promise.allSettled(waiting)
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  const closed = async (): Promise<number> => (await stage.log()).split('"status":499').length - 1
  await expect.poll(closed, PATIENT).toBe(MOST)
  const later = statusOf(account)
  expect(await areWaiting([later])).toBe(true)
  await locked.free()
  expect(await later).toBe(200)
})

test('a refused request counts no more, nor one whose stream has ended', async () => {
  const account = await stage.account()
  for (let time = 0; time < MOST + 1; time += 1) {
    expect(await statusOf(account, '/v1/batches/bat_none')).toBe(404)
    expect(await statusOf(account, '/v1/batches?no=1')).toBe(400)
    expect(await statusOf(account, '/v1/ledger?format=csv')).toBe(200)
  }
})

test('requests with a session count for the account that they show', async () => {
  const browser = openBrowser(stage)
  const password = 'tidal lantern cactus seven'
  await browser.app('signUp', { name: 'Ada', email: 'ada@company.example', password })
  await using locked = await lockedBatch(browser.call)
  const waiting = Array.from({ length: MOST }, () => browser.call(locked.path, { method: 'POST' }))
  await locked.waiting(MOST)
  const later = [browser.app('listKeys'), browser.call('/v1/account')]
  expect(await areWaiting(later)).toBe(true)
  await locked.free()
  await Promise.all(waiting)
  expect((await Promise.all(later)).map(({ status }) => status)).toEqual([200, 200])
})
