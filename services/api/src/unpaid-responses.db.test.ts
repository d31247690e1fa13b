import { batchView } from '@plumbline/contract/batch-view'
import {
  openApiHarness,
  type ApiHarness,
  type ApiResponse,
  type HarnessAccount,
} from '@plumbline/testkit/api/harness'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'

let stage: ApiHarness
let account: HarnessAccount
beforeAll(async () => {
  stage = await openApiHarness({ UNPAID_RESPONSES_PER_DAY: '2' })
})
beforeEach(async () => {
  account = await stage.account()
})
afterAll(() => stage[Symbol.asyncDispose]())

async function post(path: string, key: string, once?: string, body?: object): Promise<ApiResponse> {
  const headers: Record<string, string> = once === undefined ? {} : { 'idempotency-key': once }
  return await stage.call(path, { key, method: 'POST', headers, ...(body && { body }) })
}

async function storedKeys(): Promise<number> {
  const { rows } = await stage.db.pool.query<{ count: number }>(
    'select count(*)::int from idempotency_keys where account_id = $1',
    [account.id],
  )
  return rows[0]?.count ?? -1
}

const EMAIL = { email: 'ada@example.com' }

test('responses of calls with a test key are stored up to a limit a day; repeats, and calls without an idempotency key, are answered beyond it', async () => {
  const ask = async (once?: string) => await post('/v1/email', account.test, once, EMAIL)
  expect((await ask('a')).status).toBe(200)
  expect((await ask('b')).status).toBe(200)
  const beyond = await ask('c')
  expect([beyond.status, beyond.text]).toEqual([429, expect.stringContaining('cost nothing')])
  expect(Number(beyond.headers.get('retry-after'))).toBeGreaterThan(40_000)
  const again = await ask('a')
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
  expect((await ask()).status).toBe(200)
  expect(await storedKeys()).toBe(2)
})

test('changes of batches that change nothing count towards it, and paid calls do not', async () => {
  const body = { product: 'email', start: false, records: [EMAIL] }
  const { json } = await post('/v1/batches', account.live, undefined, body)
  const path = `/v1/batches/${batchView.parse(json).id}/cancel`
  const cancels = []
  for (const once of ['a', 'b', 'c']) cancels.push(await post(path, account.live, once))
  expect(cancels.map(({ status }) => status)).toEqual([200, 200, 429])
  for (const once of ['d', 'e', 'f']) {
    expect((await post('/v1/email', account.live, once, EMAIL)).status).toBe(200)
  }
  expect(await storedKeys()).toBe(5)
})
