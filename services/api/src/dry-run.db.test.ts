import { batchView } from '@plumbline/contract/batch-view'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  openApiHarness,
  type ApiResponse,
  type CallInit,
  type ApiHarness,
} from '@plumbline/testkit/api/harness'
import { allowAnyTransition } from '@plumbline/testkit/any-transition'
import { callRaw } from '@plumbline/testkit/api/raw-client'

let stage: ApiHarness
let empty: string
beforeAll(async () => {
  stage = await openApiHarness({ RATE_LIMIT_PER_SECOND: '1000', RATE_LIMIT_BURST: '1000' })
  empty = (await stage.account({ credits: 0 })).live
})
afterAll(() => stage[Symbol.asyncDispose]())

const FILE = 'email\nada@example.com\n'

function form(...parts: readonly (readonly [name: string, value: string])[]): FormData {
  const data = new FormData()
  for (const [name, value] of parts) {
    if (name === 'file') data.append(name, new Blob([value]), 'contacts.csv')
    else data.append(name, value)
  }
  return data
}

const send = async (body: unknown, init: CallInit = {}): Promise<ApiResponse> =>
  await stage.call('/v1/batches', { key: empty, body, ...init })

const PRODUCT = ['product', 'email'] as const
const DRY = ['start', 'false'] as const
const FILE_PART = ['file', FILE] as const

test('without credits a dry run is admitted, as a file and as records', async () => {
  for (const body of [
    form(PRODUCT, DRY, FILE_PART),
    form(DRY, FILE_PART, PRODUCT),
    { start: false, product: 'email', records: [{ email: 'ada@example.com' }] },
    '{"start":false,"records":[{"email":"ada@example.com"}],"product":"email"}',
  ]) {
    const answer = await send(body)
    expect([answer.status, answer.headers.get('x-credits-remaining')]).toEqual([202, '0'])
    expect(batchView.parse(answer.json)).toMatchObject({ status: 'analyzing' })
  }
})

test('without credits a dry run with an Idempotency-Key is admitted, and its repeat gets the same response', async () => {
  const headers = { 'idempotency-key': 'dry' }
  const first = await send(form(PRODUCT, DRY, FILE_PART), { headers })
  const again = await send(form(PRODUCT, DRY, FILE_PART), { headers })
  expect([first.status, again.status, again.text]).toEqual([202, 202, first.text])
  expect((await send(form(PRODUCT, FILE_PART), { headers })).status).toBe(422)
})

test.each<[string, () => unknown]>([
  ['a batch that is to start', () => form(PRODUCT, FILE_PART)],
  ['a batch that says so', () => form(PRODUCT, ['start', 'true'], FILE_PART)],
  ['a dry run that says so behind its file', () => form(PRODUCT, FILE_PART, DRY)],
  ['a dry run that says so in two minds', () => form(DRY, ['start', 'true'], PRODUCT, FILE_PART)],
  ['fields that are none', () => form(['colour', 'red'])],
  ['records that are to start', () => ({ product: 'email', records: [{}] })],
  ['records before the word', () => '{"product":"email","records":[{}],"start":false}'],
  ['text that is no JSON', () => '{"start":fal'],
  ['a field that is not known', () => '{"colour":"red"}'],
])('402 without credits for %s', async (_what, body) => {
  expect((await send(body())).status).toBe(402)
  expect(await stage.scratch()).toEqual([])
})

test('errors of a dry run are reported once its body has said start=false', async () => {
  const refused = [
    await send(form(DRY, FILE_PART)),
    await send(form(DRY, PRODUCT, FILE_PART, ['start', 'true'])),
    await send('{"start":false,"records":[{"mail":"x"}]}'),
    await send('{"start":false,"records":[{}],"start":true,"product":"email"}'),
  ]
  expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400])
  expect(await stage.scratch()).toEqual([])
})

test('without credits only the beginning of a body is read before it says start=false', async () => {
  const MANY = 8 * 1_048_576
  const start = (type: string, body: string): string =>
    `POST /v1/batches HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${empty}\r\n` +
    `Content-Type: ${type}\r\nContent-Length: ${body.length + MANY}\r\n\r\n${body}`
  const port = Number(new URL(stage.url).port)
  for (const head of [
    start('multipart/form-data; boundary=b', 'a preamble without end'),
    start(
      'multipart/form-data; boundary=b',
      '--b\r\nContent-Disposition: form-data; name="x"; filename=""\r\n\r\n',
    ),
  ]) {
    expect(await callRaw({ port, head, bytes: MANY })).toMatchObject({ status: 402 })
  }
})

describe('a recheck without credits', () => {
  let path: string
  beforeAll(async () => {
    const made = await send({ start: false, product: 'email', records: [{ email: 'a@b.example' }] })
    const { id } = batchView.parse(made.json)
    await allowAnyTransition(stage.db)
    await stage.db.pool.query(`update batches set status = 'canceled' where id = $1`, [id])
    path = `/v1/batches/${id}/recheck`
  })

  const recheck = async (body: unknown, headers: CallInit['headers'] = {}): Promise<ApiResponse> =>
    await stage.call(path, { key: empty, body, headers })

  test('is admitted as a dry run, once for its Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'again' }
    const first = await recheck({ only: ['unknown'], start: false }, headers)
    const again = await recheck({ only: ['unknown'], start: false }, headers)
    expect([first.status, again.status, again.text]).toEqual([202, 202, first.text])
    expect(batchView.parse(first.json)).toMatchObject({ status: 'analyzing' })
    expect((await recheck({ only: ['unknown'] }, headers)).status).toBe(422)
  })

  test.each<[string, unknown]>([
    ['it is to start', { only: ['unknown'] }],
    ['it says so', { only: ['unknown'], start: true }],
    ['its body is none', '{"start":fal'],
    ['a field is not known', { only: ['unknown'], colour: 'red' }],
  ])('is 402 if %s', async (_what, body) => {
    expect((await recheck(body)).status).toBe(402)
  })

  test('is told other faults once its body has said start=false', async () => {
    expect((await recheck({ only: [], start: false })).status).toBe(400)
    expect((await recheck({ only: ['unknown'], start: false, colour: 'red' })).status).toBe(400)
  })
})
