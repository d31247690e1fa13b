import { batchView } from '@plumbline/contract/batch-view'
import {
  openApiHarness,
  type ApiHarness,
  type HarnessAccount,
} from '@plumbline/testkit/api/harness'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

let stage: ApiHarness
let account: HarnessAccount
beforeAll(async () => {
  stage = await openApiHarness({ UNFINISHED_BATCHES_LIMIT: '100', RATE_LIMIT_BURST: '1000' })
  account = await stage.account()
})
afterAll(() => stage[Symbol.asyncDispose]())

async function submit(start: string): Promise<string> {
  const body = new FormData()
  for (const [name, value] of Object.entries({ product: 'email', start })) body.set(name, value)
  body.set('file', new Blob(['email\nada@example.com\n']), 'قائمة<b>.csv')
  const { json } = await stage.call('/v1/batches', { key: account.live, body })
  return batchView.parse(json).id
}

describe('PATCH /v1/batches/{id}', () => {
  const patch = async (id: string, body: unknown, key = account.live) =>
    await stage.call(`/v1/batches/${id}`, { key, method: 'PATCH', body })

  test('200 with the changed batch', async () => {
    const id = await submit('false')
    const answer = await patch(id, { product: 'domain', name: 'Spring', delimiter: '\t' })
    expect(answer.status).toBe(200)
    expect(batchView.parse(answer.json)).toMatchObject({
      status: 'analyzing',
      product: 'domain',
      name: 'Spring',
    })
  })

  test.each([
    [{}, 'at least one'],
    [[], 'JSON object'],
    [null, 'JSON object'],
    [{ colour: 'red' }, 'colour'],
    [{ product: 'spam' }, '`product`'],
    [{ product: null }, '`product`'],
    [{ mapping: { email: -1 } }, '`mapping`'],
    [{ mapping: { colour: 'x' } }, '`mapping`'],
    [{ mapping: { phone: 'x' } }, 'phone'],
    [{ header: 'yes' }, '`header`'],
    [{ header: 0 }, '`header`'],
    [{ sheet: 0 }, '`sheet`'],
    [{ entry: '' }, '`entry`'],
    [{ encoding: '../utf' }, '`encoding`'],
    [{ delimiter: ':' }, '`delimiter`'],
    [{ default_country: 'UK' }, '`default_country`'],
    [{ name: 'a\u0000' }, '`name`'],
    [{ max_credits: 1.5 }, '`max_credits`'],
    [{ known: 30 }, '`known`'],
    [{ known_at: '2026-01-01' }, 'send `known` too'],
    [{ product: 'ip', known: '30d' }, 'not with ip'],
  ])('400 for %j, naming the field', async (body, named) => {
    const answer = await patch(await submit('false'), body)
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(named)])
  })

  test('401, 404 for a batch of another account, 409 for one that starts automatically, 415', async () => {
    const id = await submit('true')
    expect((await patch(id, { header: true }, 'svc_live_no')).status).toBe(401)
    expect((await patch(id, { header: true }, (await stage.account()).live)).status).toBe(404)
    const refused = await patch(id, { header: true })
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('start=false')])
    const headers = { 'content-type': 'text/plain' }
    const typed = await stage.call(`/v1/batches/${id}`, {
      key: account.live,
      method: 'PATCH',
      body: 'header',
      headers,
    })
    expect(typed.status).toBe(415)
  })
})

describe('GET /v1/batches/{id}/preview', () => {
  test('409 until the start of the file is read, 404 for another account, 400 for a query', async () => {
    const path = `/v1/batches/${await submit('false')}/preview`
    const early = await stage.call(path, { key: account.live })
    expect([early.status, early.text]).toEqual([409, expect.stringContaining('not read yet')])
    expect((await stage.call(path, { key: (await stage.account()).live })).status).toBe(404)
    expect((await stage.call(`${path}?rows=5`, { key: account.live })).status).toBe(400)
  })
})
