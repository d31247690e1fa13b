import { batchView } from '@plumbline/contract/batch-view'
import { createKey, revokeKey } from '@plumbline/db/keys'
import { suspendAccount } from '@plumbline/metering/administer'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  openApiHarness,
  type ApiHarness,
  type HarnessAccount,
} from '@plumbline/testkit/api/harness'

let stage: ApiHarness
beforeAll(async () => {
  stage = await openApiHarness({ EVENT_STREAMS_LIMIT: '2' })
})
afterAll(() => stage[Symbol.asyncDispose]())

async function submit(account: HarnessAccount): Promise<string> {
  const body = { product: 'email', start: false, records: [{ email: 'ada@example.com' }] }
  const answer = await stage.call('/v1/batches', { key: account.live, body })
  return batchView.parse(answer.json).id
}

async function open(account: HarnessAccount, id: string, signal?: AbortSignal): Promise<Response> {
  return await fetch(`${stage.url}/v1/batches/${id}/events`, {
    headers: { authorization: `Bearer ${account.live}` },
    ...(signal === undefined ? {} : { signal }),
  })
}

test('streams of an account beyond the limit are refused until one is closed', async () => {
  const account = await stage.account()
  const other = await stage.account()
  const id = await submit(account)
  const [first, second] = [new AbortController(), new AbortController()]
  expect((await open(account, id, first.signal)).status).toBe(200)
  expect((await open(account, id, second.signal)).status).toBe(200)
  const refused = await open(account, id)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
  // A refused stream does not count against the limit.
  for (let no = 0; no < 3; no += 1) expect((await open(other, id)).status).toBe(404)
  first.abort()
  await expect
    .poll(async () => {
      const again = await open(account, id, second.signal)
      if (again.status !== 200) await again.text()
      return again.status
    })
    .toBe(200)
  second.abort()
})

test('a client that left while its key was looked up holds no stream', async () => {
  const account = await stage.account()
  const id = await submit(account)
  const { key } = await createKey(stage.db, { accountId: account.id, mode: 'live', service: 'svc' })
  const leaving = new AbortController()
  const locking = await stage.db.pool.connect()
  await locking.query('begin')
  await locking.query('lock table api_keys in access exclusive mode')
  const left = [1, 2].map(() => open({ ...account, live: key }, id, leaving.signal))
  await expect.poll(() => waitingForKeys()).toBeGreaterThan(0)
  leaving.abort()
  await Promise.allSettled(left)
  await locking.query('rollback')
  locking.release()
  const staying = new AbortController()
  await expect
    .poll(async () => {
      const answer = await open({ ...account, live: key }, id, staying.signal)
      if (answer.status !== 200) await answer.text()
      return answer.status
    })
    .toBe(200)
  staying.abort()
})

async function waitingForKeys(): Promise<number> {
  const { rows } = await stage.db.pool.query<{ count: number }>(`
    select count(*)::int as count from pg_locks
    where relation = 'api_keys'::regclass and not granted`)
  return rows[0]?.count ?? 0
}

test('after a change a client never sees the earlier state, even if it was just cached for others', async () => {
  const account = await stage.account()
  const id = await submit(account)
  const gone = new AbortController()
  await open(account, id, gone.signal)
  const canceled = await stage.call(`/v1/batches/${id}/cancel`, {
    key: account.live,
    method: 'POST',
  })
  const { status } = batchView.parse(canceled.json)
  const events = (await open(account, id, gone.signal)).body?.getReader()
  const { value } = (await events?.read()) ?? {}
  gone.abort()
  expect(Buffer.from(value ?? []).toString()).toContain(`"status":"${status}"`)
})

test('the stream of a revoked key ends without an event `end`', async () => {
  const account = await stage.account()
  const id = await submit(account)
  const response = await open(account, id)
  await revokeKey(stage.db, { accountId: account.id, mode: 'live' })
  const text = await response.text()
  expect(text).toContain('event: batch')
  expect(text).not.toContain('event: end')
  expect((await open(account, id)).status).toBe(401)
})

test('the stream of an account that is suspended ends without an event `end`', async () => {
  const account = await stage.account()
  const id = await submit(account)
  const response = await open(account, id)
  await suspendAccount(stage.db, { actor: 'test', accountId: account.id, reason: null })
  const text = await response.text()
  expect(text).toContain('event: batch')
  expect(text).not.toContain('event: end')
  expect((await open(account, id)).status).toBe(403)
})

test('HEAD has the headers of the stream, and does not wait for its end', async () => {
  const account = await stage.account()
  const path = `/v1/batches/${await submit(account)}/events`
  for (let no = 0; no < 3; no += 1) {
    const answer = await stage.call(path, { key: account.live, method: 'HEAD' })
    expect([answer.status, answer.text]).toEqual([200, ''])
    expect(answer.headers.get('content-type')).toContain('text/event-stream')
  }
})
