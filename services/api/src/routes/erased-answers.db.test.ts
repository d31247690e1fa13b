import { allowAnyTransition } from '@plumbline/testkit/any-transition'
import { randomBytes } from 'node:crypto'
import { batchView } from '@plumbline/contract/batch-view'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  openApiHarness,
  type ApiResponse,
  type ApiHarness,
  type HarnessAccount,
} from '@plumbline/testkit/api/harness'

let stage: ApiHarness
let account: HarnessAccount
beforeAll(async () => {
  stage = await openApiHarness()
  account = await stage.account()
})
afterAll(() => stage[Symbol.asyncDispose]())

const NAME = 'Patients of Dr Marked'

function upload(key: string, list = 'email\nada@example.com\n'): Promise<ApiResponse> {
  const body = new FormData()
  body.set('product', 'email')
  body.set('name', NAME)
  body.set('start', 'false')
  body.set('file', new Blob([list]), 'marked-file.csv')
  return stage.call('/v1/batches', { key: account.live, body, headers: { 'idempotency-key': key } })
}

function move(id: string, to: 'start' | 'cancel', key: string): Promise<ApiResponse> {
  const headers = { 'idempotency-key': key }
  return stage.call(`/v1/batches/${id}/${to}`, { method: 'POST', key: account.live, headers })
}

async function setStatus(id: string, status: string): Promise<void> {
  await allowAnyTransition(stage.db)
  await stage.db.pool.query('update batches set status = $2, lease_until = null where id = $1', [
    id,
    status,
  ])
}

/** For each stored response whether it still has a body. */
async function keptBodies(): Promise<readonly boolean[]> {
  const { rows } = await stage.db.pool.query<{ left: boolean }>(
    `select body <> '' as left from idempotency_keys`,
  )
  return rows.map(({ left }) => left)
}

async function keptText(): Promise<string> {
  const { rows } = await stage.db.pool.query<{ text: string }>(
    'select k::text as text from idempotency_keys k',
  )
  return rows.map(({ text }) => text).join('\n')
}

test('deleting a batch empties every stored response that shows it, and repeats of these calls get 409', async () => {
  const key = `ada@example.com ${randomBytes(4).toString('hex')}`
  const first = await upload(key)
  expect(first.status).toBe(202)
  const { id } = batchView.parse(first.json)
  await setStatus(id, 'ready')
  expect((await move(id, 'start', 'go')).status).toBe(200)
  expect((await move(id, 'cancel', 'halt')).status).toBe(200)
  expect(await keptText()).not.toMatch(/Marked|marked-file/)
  expect(await keptBodies()).toEqual([true, true, true])
  expect((await upload(key)).headers.get('idempotent-replayed')).toBe('true')
  await setStatus(id, 'canceled')
  const gone = await stage.call(`/v1/batches/${id}`, { method: 'DELETE', key: account.live })
  expect(gone.status).toBe(204)
  expect(await keptBodies()).toEqual([false, false, false])
  for (const again of [await upload(key), await move(id, 'start', 'go')]) {
    expect(again.status).toBe(409)
    expect(again.json).toMatchObject({ message: expect.stringContaining('new key') as unknown })
    expect(again.headers.get('idempotent-replayed')).toBeNull()
  }
  // The key still belongs to that request only, and no new batch was created.
  expect((await upload(key, 'email\nbob@example.com\n')).status).toBe(422)
  const { rows } = await stage.db.pool.query('select from batches')
  expect(rows).toHaveLength(0)
  expect((await upload(`${key} new`)).status).toBe(202)
})

test('a repeat during the deletion gets the stored response or 409, never a second batch', async () => {
  const key = 'beside'
  const { id } = batchView.parse((await upload(key)).json)
  await setStatus(id, 'ready')
  const before = await stage.db.pool.query('select from batches')
  const [gone, ...repeats] = await Promise.all([
    stage.call(`/v1/batches/${id}`, { method: 'DELETE', key: account.live }),
    ...Array.from({ length: 8 }, () => upload(key)),
  ])
  expect(gone.status).toBe(204)
  for (const { status } of repeats) expect([202, 409]).toContain(status)
  const after = await stage.db.pool.query('select from batches')
  expect(after.rows).toHaveLength(before.rows.length - 1)
})

test('idempotency key, request and response cannot be read from the stored data', async () => {
  const key = 'order-of-marked-customer@example.com'
  const body = { phone: '+41791234567' }
  const headers = { 'idempotency-key': key }
  const first = await stage.call('/v1/phone', { key: account.live, body, headers })
  expect(first.status).toBe(200)
  const { rows } = await stage.db.pool.query<{ key: string; fingerprint: Buffer }>(
    `select key, fingerprint from idempotency_keys where path = '/v1/phone'`,
  )
  expect(rows).toHaveLength(1)
  expect(rows[0]?.key).toMatch(/^[\w-]{43}$/)
  expect(await keptText()).not.toMatch(/41791234567|marked-customer|line_type/)
  const again = await stage.call('/v1/phone', { key: account.live, body, headers })
  expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
})
