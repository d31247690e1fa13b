import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApiHarness, type ApiHarness } from '@plumbline/testkit/api/harness'

let stage: ApiHarness
beforeAll(async () => {
  stage = await openApiHarness()
})
afterAll(() => stage[Symbol.asyncDispose]())

test('an idempotency key cannot be spent twice by a slash at the end of its path', async () => {
  const { live: key } = await stage.account()
  const init = { key, body: { ip: '8.8.8.8' }, headers: { 'idempotency-key': 'once' } }
  expect((await stage.call('/v1/ip', init)).status).toBe(200)
  expect((await stage.call('/v1/ip/', init)).status).toBe(404)
  expect(stage.asked).toEqual(['8.8.8.8'])
})
