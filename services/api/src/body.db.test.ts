import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApiHarness, type ApiHarness } from '@plumbline/testkit/api/harness'

let stage: ApiHarness
let key: string
beforeAll(async () => {
  stage = await openApiHarness({ JSON_DEPTH_LIMIT: '3', JSON_KEYS_LIMIT: '8' })
  key = (await stage.account()).live
})
afterAll(() => stage[Symbol.asyncDispose]())

test.each([
  [`{"email":${'['.repeat(40_000)}`, 'nests deeper than 3'],
  [`{"email":"a@b.example","x":[[[]]]}`, 'nests deeper than 3'],
  [`{"email":[${'0,'.repeat(40_000)}0]}`, 'more than 8 keys'],
  [`{${Array.from({ length: 9 }, (_, at) => `"k${at}":1`).join()}}`, 'more than 8 keys'],
  ['{"email":"a@b.example","x":[[]]}', 'Unknown field'],
  ['{"email":"a@b.example",}', 'not JSON'],
  [`{"email":"a@b.example"${','.repeat(100)}}`, 'not JSON'],
])('a body such as %.40j is refused with 400, free of charge', async (body, part) => {
  const answer = await stage.call('/v1/email', { key, body })
  expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(part)])
  expect(answer.headers.get('x-credits-charged')).toBe('0')
})

test('brackets and commas within a string do not count', async () => {
  const body = { email: `"${'[{,'.repeat(15)}"@example.com` }
  expect((await stage.call('/v1/email', { key, body })).status).toBe(200)
})

test('an account can read the limits', async () => {
  const { json } = await stage.call('/v1/account', { key })
  expect(json).toMatchObject({ limits: { json_depth: 3, json_keys: 8 } })
})
