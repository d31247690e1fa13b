import { allowAnyTransition } from '@plumbline/testkit/any-transition'
import {
  openApiHarness,
  type ApiHarness,
  type HarnessAccount,
} from '@plumbline/testkit/api/harness'
import { batchView } from '@plumbline/contract/batch-view'
import { afterAll, beforeAll, expect, test } from 'vitest'

let stage: ApiHarness
let account: HarnessAccount
beforeAll(async () => {
  stage = await openApiHarness()
  account = await stage.account()
})
afterAll(() => stage[Symbol.asyncDispose]())

async function running(key = account.live): Promise<string> {
  const body = { product: 'email', records: [{ email: 'a@example.com' }] }
  const { json } = await stage.call('/v1/batches', { key, body })
  const { id } = batchView.parse(json)
  await allowAnyTransition(stage.db)
  await stage.db.pool.query(`update batches set status = 'running' where id = $1`, [id])
  return id
}

async function move(id: string, verb: 'pause' | 'resume', key = account.live) {
  return await stage.call(`/v1/batches/${id}/${verb}`, { key, method: 'POST' })
}

test('pause and resume respond 200 with the batch, however often they are sent', async () => {
  const id = await running()
  for (const [verb, status] of [
    ['pause', 'paused'],
    ['pause', 'paused'],
    ['resume', 'running'],
    ['resume', 'running'],
  ] as const) {
    const answer = await move(id, verb)
    expect([answer.status, batchView.parse(answer.json).status]).toEqual([200, status])
  }
})

test('pause and resume are free: an account without credits may send them', async () => {
  const poor = await stage.account()
  const id = await running(poor.live)
  await stage.db.pool.query('update credit_accounts set allowance = 0 where account_id = $1', [
    poor.id,
  ])
  expect((await move(id, 'pause', poor.live)).status).toBe(200)
  expect((await move(id, 'resume', poor.live)).status).toBe(200)
})

test('401, 404 and 409, each with what to do', async () => {
  const other = await stage.account()
  const id = await running()
  expect((await move(id, 'pause', 'svc_live_no')).status).toBe(401)
  expect((await move(id, 'pause', other.live)).status).toBe(404)
  expect((await move('bat_none', 'resume')).status).toBe(404)
  await stage.db.pool.query(`update batches set status = 'completed' where id = $1`, [id])
  for (const verb of ['pause', 'resume'] as const) {
    const answer = await move(id, verb)
    expect([answer.status, answer.text]).toEqual([409, expect.stringContaining('is completed')])
  }
})
