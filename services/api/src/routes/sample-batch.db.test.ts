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
  stage = await openApiHarness()
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
