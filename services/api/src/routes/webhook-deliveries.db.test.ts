import type { WebhookDelivery, WebhookWithSecret } from '@plumbline/contract/webhook'
import { takeDue } from '@plumbline/db/webhooks/deliveries'
import { openApiHarness, type ApiHarness, type ApiResponse } from '@plumbline/testkit/api/harness'
import { afterAll, beforeAll, expect, test } from 'vitest'

// Without a worker: messages stay due.
let stage: ApiHarness
beforeAll(async () => {
  stage = await openApiHarness()
})
afterAll(() => stage[Symbol.asyncDispose]())

interface Endpoint {
  readonly id: string
  post(path: string, body?: object): Promise<ApiResponse>
  /** Messages of the endpoint, by state. */
  counts(): Promise<Readonly<Record<string, number>>>
}

async function openEndpoint(): Promise<Endpoint> {
  const { live: key } = await stage.account()
  const wanted = { url: 'https://receiver.example/hook', events: ['batch.completed'] }
  const made = await stage.call('/v1/webhooks', { key, body: wanted })
  expect(made.status).toBe(201)
  // Safe because the status is compared.
  const { id } = made.json as WebhookWithSecret
  return {
    id,
    post: (path, body = {}) => stage.call(`/v1/webhooks/${id}/${path}`, { key, body }),
    counts: async () => {
      const { rows } = await stage.db.pool.query<{ status: string; count: number }>(
        `select status, count(*)::int from webhook_deliveries where endpoint_id = $1 group by 1`,
        [id],
      )
      return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
    },
  }
}

test('a secret that is replaced twice signs for its day beside both others; a third is refused', async () => {
  const endpoint = await openEndpoint()
  const { pool } = stage.db
  const { rows: before } = await pool.query('select secret from webhook_endpoints where id = $1', [
    endpoint.id,
  ])
  const secrets = [before[0].secret]
  for (const _ of [1, 2]) {
    expect((await endpoint.post('rotate')).status).toBe(200)
    const { rows } = await pool.query('select secret from webhook_endpoints where id = $1', [
      endpoint.id,
    ])
    secrets.unshift(rows[0].secret)
  }
  const signing = async (): Promise<unknown> => {
    await endpoint.post('test')
    const wanted = { most: 9, each: 9, busy: {}, failing: [], ofFailing: 0 }
    const ofAll = { ofAccount: 9, busyAccounts: {}, after: '', lostAfterMs: 60_000 }
    const { due } = await takeDue(stage.db, { ...wanted, ...ofAll })
    return due.find(({ endpointId }) => endpointId === endpoint.id)?.secrets
  }
  expect(await signing()).toEqual(secrets)
  const refused = await endpoint.post('rotate')
  expect(refused.status).toBe(409)
  const seconds = Number(refused.headers.get('retry-after'))
  expect(Math.round(seconds / 3_600)).toBe(24)
  expect(await signing()).toEqual(secrets)

  await pool.query('update webhook_endpoints set older_secret_until = now() where id = $1', [
    endpoint.id,
  ])
  expect(await signing()).toEqual(secrets.slice(0, 2))
  expect((await endpoint.post('rotate')).status).toBe(200)
  expect(await signing()).toEqual([expect.any(String), ...secrets.slice(0, 2)])
})

async function addDelivered(endpointId: string, count: number): Promise<void> {
  await stage.db.pool.query(
    `insert into webhook_deliveries (id, endpoint_id, webhook_id, type, subject, body, status, attempts)
     select 'dlv_' || substr(md5($1 || no), 1, 16), $1, 'msg_' || no, 'batch.completed', '', '{}', 'delivered', 1
     from generate_series(1, $2) no`,
    [endpointId, count],
  )
}

const ALL = { since: '2026-01-01T00:00:00Z' }

test('while many messages wait to be sent, a replay is refused and stores nothing', async () => {
  const endpoint = await openEndpoint()
  await addDelivered(endpoint.id, 150)
  expect((await endpoint.post('replay', ALL)).json).toEqual({ replayed: 150 })
  const refused = await endpoint.post('replay', ALL)
  expect([refused.status, refused.text]).toEqual([
    409,
    expect.stringContaining('100 messages or more wait to be sent'),
  ])
  expect(await endpoint.counts()).toEqual({ pending: 150 })
  // Another endpoint is not concerned.
  const other = await openEndpoint()
  await addDelivered(other.id, 1)
  expect((await other.post('replay', ALL)).json).toEqual({ replayed: 1 })
})

test('a replay without a time is refused before anything is looked up', async () => {
  const { live: key } = await stage.account()
  const asked = await stage.call('/v1/webhooks/whk_none/replay', { key, body: {} })
  expect([asked.status, asked.text]).toEqual([400, expect.stringContaining('`since`')])
})

test('concurrent replays send each message again once', async () => {
  const endpoint = await openEndpoint()
  await addDelivered(endpoint.id, 60)
  const answers = await Promise.all(Array.from({ length: 8 }, () => endpoint.post('replay', ALL)))
  const sent = answers.map(({ json }) => (json as { replayed: number }).replayed)
  expect(sent.reduce((sum, count) => sum + count, 0)).toBe(60)
  expect(await endpoint.counts()).toEqual({ pending: 60 })
})

test('a message that is sent again keeps its id; of tests the last hundred are stored', async () => {
  const endpoint = await openEndpoint()
  const told = (await endpoint.post('test')).json as WebhookDelivery
  await stage.db.pool.query(`update webhook_deliveries set status = 'failed' where id = $1`, [
    told.id,
  ])
  const again = await endpoint.post(`deliveries/${told.id}/replay`)
  expect([again.status, again.json]).toEqual([
    202,
    expect.objectContaining({ id: told.id, webhook_id: told.webhook_id, status: 'pending' }),
  ])
  await stage.db.pool.query(
    `insert into webhook_deliveries (id, endpoint_id, webhook_id, type, subject, body)
     select 'dlv_' || substr(md5($1 || no), 1, 16), $1, 'msg_' || no, 'webhook.test', $1, '{}'
     from generate_series(1, 120) no`,
    [endpoint.id],
  )
  expect((await endpoint.post('test')).status).toBe(202)
  expect(await endpoint.counts()).toEqual({ pending: 100 })
})
