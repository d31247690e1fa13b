import { PLANS } from '@plumbline/contract/plans'
import type {
  WebhookDeliveries,
  WebhookDelivery,
  WebhookMessage,
  WebhookView,
  WebhookWithSecret,
} from '@plumbline/contract/webhook'
import { backends } from '@plumbline/testkit/backends'
import {
  formOf,
  runBatch,
  submitBatch,
  untilBatch,
  viewBatch,
  type Caller,
} from '@plumbline/testkit/batches'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService, type TestService } from '@plumbline/testkit/service'
import { startReceiver, type WebhookReceiver } from '@plumbline/testkit/webhook-receiver'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

/** Credits of an account of these tests. */
const CREDITS = 2_000

describe.each(backends())('on $name', ({ redisUrl }) => {
  const stack = new AsyncDisposableStack()
  let service: TestService

  beforeAll(async () => {
    const database = stack.use(await createTestDatabase())
    service = stack.use(
      await startService({
        databaseUrl: database.url,
        redisUrl,
        workers: [['email', 'batch']],
        env: {
          EGRESS_ALLOW: '127.0.0.1/32',
          WEBHOOK_RETRY_SECONDS: '0.2,0.2,0.2',
          WEBHOOK_TIMEOUT_SECONDS: '20',
        },
      }),
    )
  })
  afterAll(() => stack.disposeAsync())

  async function openCaller(): Promise<
    Caller & { readonly receiver: WebhookReceiver } & AsyncDisposable
  > {
    const receiver = await startReceiver()
    const account = await service.account({
      plan: 'free',
      credits: CREDITS - PLANS.free.monthlyCredits,
    })
    return {
      service,
      account,
      key: account.liveKey,
      receiver,
      [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
    }
  }

  test('a batch sends its endpoint signed messages that a standard receiver verifies', async () => {
    await using caller = await openCaller()
    const { secret } = await subscribe(caller, ['batch.ready', 'batch.completed'])
    const batch = await runBatch(caller, formOf({ product: 'email' }, 'email\na@b.example\n'))
    await expect.poll(() => caller.receiver.received).toHaveLength(1)
    const [told] = messagesOf(caller.receiver, secret)
    expect(told?.type).toBe('batch.completed')
    expect(told?.data).toEqual(JSON.parse(JSON.stringify(await viewBatch(caller, batch.id))))
    // A batch that waits for its start is reported as such, once.
    const form = formOf({ product: 'email', start: 'false' }, 'email\nc@b.example\n')
    const ready = await runBatch(caller, form)
    await expect.poll(() => caller.receiver.received).toHaveLength(2)
    const [, second] = messagesOf(caller.receiver, secret)
    expect([second?.type, second?.data['id']]).toEqual(['batch.ready', ready.id])
  })

  test('cancel, failure and a balance that is used up are reported', async () => {
    await using caller = await openCaller()
    const { secret } = await subscribe(caller, [
      'batch.canceled',
      'batch.failed',
      'credits.exhausted',
    ])
    const form = formOf({ product: 'email', start: 'false' }, 'email\nc@b.example\n')
    const { id } = await runBatch(caller, form)
    await service.call(caller.key, 'POST', `/v1/batches/${id}/cancel`)
    await untilBatch(caller, id)
    await runBatch(caller, formOf({ product: 'email' }, 'email\n"never closed\n'))
    const rows = Array.from({ length: CREDITS }, (_, no) => `u${no}@b.example`)
    const all = await submitBatch(
      caller,
      formOf({ product: 'email' }, `email\n${rows.join('\n')}\n`),
    )
    await untilBatch(caller, all.id, ['running', 'finalizing', 'completed'])
    await expect
      .poll(() => typesOf(caller.receiver, secret))
      .toEqual(['batch.canceled', 'batch.failed', 'credits.exhausted'])
  })

  test('a failed message is sent again with the same id, and listed with the response', async () => {
    await using caller = await openCaller()
    const endpoint = await subscribe(caller, ['batch.completed'])
    let calls = 0
    caller.receiver.answer((_message, res) => {
      calls += 1
      if (calls === 1) res.writeHead(503, { 'retry-after': '1' }).end('busy <b>now</b>')
      else if (calls === 2) res.writeHead(302, { location: 'http://127.0.0.1:1/' }).end('moved')
      else res.writeHead(200).end('thanks')
    })
    const sent = await post<WebhookDelivery>(caller, `/v1/webhooks/${endpoint.id}/test`, 202)
    expect(sent).toMatchObject({ type: 'webhook.test', status: 'pending', attempts: 0 })
    await expect
      .poll(async () => (await deliveriesOf(caller, endpoint.id)).data[0]?.status)
      .toBe('delivered')
    const { received } = caller.receiver
    expect(received).toHaveLength(3)
    expect(new Set(received.map(({ headers }) => headers['webhook-id']))).toEqual(
      new Set([sent.webhook_id]),
    )
    const times = received.map(({ headers }) => Number(headers['webhook-timestamp']))
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(1)
    const [listed] = (await deliveriesOf(caller, endpoint.id)).data
    expect(listed).toMatchObject({ attempts: 3, response: { status: 200, body: 'thanks' } })
    // Sent again on request, under its id.
    const path = `/v1/webhooks/${endpoint.id}/deliveries/${sent.id}/replay`
    const again = await post<WebhookDelivery>(caller, path, 202)
    expect(again.webhook_id).toBe(sent.webhook_id)
    await expect.poll(() => received).toHaveLength(4)
    const since = { since: '2026-01-01T00:00:00Z' }
    const all = await post<{ replayed: number }>(
      caller,
      `/v1/webhooks/${endpoint.id}/replay`,
      202,
      since,
    )
    expect(all).toEqual({ replayed: 1 })
    await expect.poll(() => received).toHaveLength(5)
  })

  test('an endpoint that responds 410 is switched off; one that always fails has failed deliveries', async () => {
    await using caller = await openCaller()
    const endpoint = await subscribe(caller, ['batch.completed'])
    caller.receiver.answer((_message, res) => res.writeHead(500).end())
    await post(caller, `/v1/webhooks/${endpoint.id}/test`, 202)
    await expect
      .poll(async () => (await deliveriesOf(caller, endpoint.id)).data[0])
      .toMatchObject({ status: 'failed', attempts: 4, response: { status: 500 } })
    expect((await readEndpoint(caller, endpoint.id)).failing_since).not.toBeNull()
    caller.receiver.answer((_message, res) => res.writeHead(410).end())
    await post(caller, `/v1/webhooks/${endpoint.id}/test`, 202)
    await expect
      .poll(async () => await readEndpoint(caller, endpoint.id))
      .toMatchObject({ enabled: false, disabled_reason: 'gone' })
    const off = await service.call(caller.key, 'POST', `/v1/webhooks/${endpoint.id}/test`)
    expect(off.status).toBe(409)
    const on = await service.call(caller.key, 'PATCH', `/v1/webhooks/${endpoint.id}`, {
      enabled: true,
    })
    expect(await on.json()).toMatchObject({ enabled: true, failing_since: null })
  })

  test('after a change of the secret, messages are signed with both', async () => {
    await using caller = await openCaller()
    const endpoint = await subscribe(caller, ['key.replaced'])
    const rotated = await post<WebhookWithSecret>(caller, `/v1/webhooks/${endpoint.id}/rotate`, 200)
    expect(rotated.secret).not.toBe(endpoint.secret)
    await post(caller, `/v1/webhooks/${endpoint.id}/test`, 202)
    await expect.poll(() => caller.receiver.received).toHaveLength(1)
    for (const secret of [endpoint.secret, rotated.secret]) {
      expect(typesOf(caller.receiver, secret)).toEqual(['webhook.test'])
    }
  })

  test.each([
    ['http://10.1.2.3/hook', 400],
    ['ftp://example.com/', 400],
    ['https://user:word@example.com/', 400],
    ['https://example.com/hook', 201],
  ])('an endpoint at %s is answered with %i', async (url, status) => {
    await using caller = await openCaller()
    const answer = await service.call(caller.key, 'POST', '/v1/webhooks', {
      url,
      events: ['batch.completed'],
    })
    expect(answer.status).toBe(status)
  })

  test('no message is sent to a special address, whatever name resolves to it', async () => {
    await using caller = await openCaller()
    const { id } = await subscribe(caller, ['batch.completed'], 'https://169.254.169.254/latest')
    await post(caller, `/v1/webhooks/${id}/test`, 202)
    await expect
      .poll(async () => (await deliveriesOf(caller, id)).data[0]?.error)
      .toBe('The address is not one that messages may go to.')
  })

  test('a slow and a dead endpoint do not delay others', async () => {
    await using caller = await openCaller()
    await using slow = await startReceiver()
    slow.answer(() => undefined)
    const ids = await Promise.all(
      Array.from(
        { length: 20 },
        async () => (await subscribe(caller, ['batch.ready'], slow.url)).id,
      ),
    )
    const living = await subscribe(caller, ['batch.ready'])
    await Promise.all(
      ids.flatMap((id) => [1, 2, 3].map(() => post(caller, `/v1/webhooks/${id}/test`, 202))),
    )
    await expect.poll(() => slow.received.length).toBeGreaterThan(0)
    await post(caller, `/v1/webhooks/${living.id}/test`, 202)
    await expect.poll(() => caller.receiver.received).toHaveLength(1)
    // Not one of the slow messages has ended by then.
    const waiting = await Promise.all(ids.map((id) => deliveriesOf(caller, id)))
    const ended = waiting.flatMap(({ data }) => data).filter(({ error }) => error !== null)
    expect(ended).toEqual([])
  })

  test('endpoints and deliveries of another account are not found', async () => {
    await using caller = await openCaller()
    const endpoint = await subscribe(caller, ['batch.completed'])
    const { id } = await post<WebhookDelivery>(caller, `/v1/webhooks/${endpoint.id}/test`, 202)
    const stranger = await service.account()
    const path = `/v1/webhooks/${endpoint.id}`
    for (const [method, at] of [
      ['GET', path],
      ['PATCH', path],
      ['DELETE', path],
      ['POST', `${path}/rotate`],
      ['POST', `${path}/test`],
      ['GET', `${path}/deliveries`],
      ['POST', `${path}/deliveries/${id}/replay`],
    ] as const) {
      const body = method === 'PATCH' ? { enabled: false } : undefined
      expect((await service.call(stranger.liveKey, method, at, body)).status).toBe(404)
    }
  })
})

async function subscribe(
  caller: Caller & { readonly receiver: WebhookReceiver },
  events: readonly string[],
  url = `${caller.receiver.url}/hook`,
): Promise<WebhookWithSecret> {
  return await post<WebhookWithSecret>(caller, '/v1/webhooks', 201, { url, events })
}

async function post<T>(caller: Caller, path: string, status: number, body?: unknown): Promise<T> {
  const response = await caller.service.call(caller.key, 'POST', path, body)
  const text = await response.text()
  expect([response.status, text]).toEqual([status, expect.any(String)])
  // Safe because a test compares what it uses of it.
  return JSON.parse(text) as T
}

async function deliveriesOf(caller: Caller, id: string): Promise<WebhookDeliveries> {
  const response = await caller.service.call(caller.key, 'GET', `/v1/webhooks/${id}/deliveries`)
  return (await response.json()) as WebhookDeliveries
}

async function readEndpoint(caller: Caller, id: string): Promise<WebhookView> {
  const response = await caller.service.call(caller.key, 'GET', `/v1/webhooks/${id}`)
  return (await response.json()) as WebhookView
}

/** The received messages, verified as a customer would. */
function messagesOf(receiver: WebhookReceiver, secret: string): readonly WebhookMessage[] {
  const webhook = new Webhook(secret)
  return receiver.received.map(({ headers, body }) => {
    const named = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, String(value)]),
    )
    return webhook.verify(body, named) as WebhookMessage
  })
}

function typesOf(receiver: WebhookReceiver, secret: string): readonly string[] {
  return messagesOf(receiver, secret).map(({ type }) => type)
}
