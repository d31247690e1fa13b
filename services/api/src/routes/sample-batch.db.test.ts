import { batchView } from '@plumbline/contract/batch-view'
import {
  openApiHarness,
  type ApiHarness,
  type HarnessAccount,
} from '@plumbline/testkit/api/harness'
import { afterAll, beforeAll, expect, test } from 'vitest'

let stage: ApiHarness
let account: HarnessAccount
beforeAll(async () => {
  stage = await openApiHarness({ DOWNLOADS_LIMIT: '1' })
  account = await stage.account()
})
afterAll(() => stage[Symbol.asyncDispose]())

async function submit(key = account.live): Promise<string> {
  const body = { product: 'email', start: false, records: [{ email: 'a@example.com' }] }
  const { json } = await stage.call('/v1/batches', { key, body })
  return batchView.parse(json).id
}

async function sample(id: string, method: 'GET' | 'POST', key = account.live) {
  return await stage.call(`/v1/batches/${id}/sample`, { key, method })
}

test('401, 402 at a balance of zero, 404 and 409, each with what to do', async () => {
  const id = await submit()
  expect((await sample(id, 'POST', 'svc_live_no')).status).toBe(401)
  const poor = await stage.account({ credits: 0 })
  expect((await sample(id, 'POST', poor.live)).status).toBe(402)
  expect((await sample(id, 'POST', (await stage.account()).live)).status).toBe(404)
  expect((await sample('bat_none', 'GET')).status).toBe(404)
  const none = await sample(id, 'GET')
  expect([none.status, none.text]).toEqual([404, expect.stringContaining('no sample')])
  const early = await sample(id, 'POST')
  expect([early.status, early.text]).toEqual([409, expect.stringContaining('waits at ready')])
})

test.each([
  ['POST', 'sample'],
  ['GET', 'known'],
])('%s %s counts as a download: 429 while as many as may are under way', async (method, path) => {
  const id = await submit()
  const ask = async () =>
    await stage.call(`/v1/batches/${id}/${path}`, { key: account.live, method })
  const client = await stage.db.pool.connect()
  let asked: ReturnType<typeof ask>[]
  try {
    // The first request waits for the batch.
    await client.query('begin')
    await client.query('lock table batches in access exclusive mode')
    asked = [ask(), ask()]
    const first = await Promise.race(asked)
    expect([first.status, first.headers.get('retry-after')]).toEqual([429, '5'])
  } finally {
    await client.query('rollback')
    client.release()
  }
  expect((await Promise.all(asked)).map(({ status }) => status).toSorted()).toEqual([409, 429])
  expect((await ask()).status).toBe(409)
})
