import type { LookupView } from '@plumbline/contract/lookup'
import { backends } from '@plumbline/testkit/backends'
import { call, formOf, runBatch, type Caller } from '@plumbline/testkit/batches'
import { expectLedgerIntact } from '@plumbline/testkit/invariants'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService, type TestService } from '@plumbline/testkit/service'
import { startReceiver } from '@plumbline/testkit/webhook-receiver'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

describe.each(backends())('on $name', ({ redisUrl }) => {
  const stack = new AsyncDisposableStack()
  let service: TestService

  beforeAll(async () => {
    const database = stack.use(await createTestDatabase())
    service = stack.use(
      await startService({
        databaseUrl: database.url,
        redisUrl,
        workers: [['email', 'ip', 'batch', '--later']],
        env: { EGRESS_ALLOW: '127.0.0.1/32', LOOKUPS_LIMIT: '3' },
      }),
    )
  })
  afterAll(() => stack.disposeAsync())

  async function openCaller(credits = 100): Promise<Caller> {
    const account = await service.account({ plan: 'starter', credits })
    return { service, account, key: account.liveKey }
  }

  test('a lookup returns later what a call returns at once, at the same price', async () => {
    const caller = await openCaller()
    const body = { email: 'ada@b.example', ip: '8.8.8.8', explain: true }
    const now = await ask(caller, 'contact-intel', body, {})
    const begun = await ask(caller, 'contact-intel', body)
    expect(begun.status).toBe(202)
    const { id, ...rest } = await viewIn(begun)
    expect(begun.headers.get('location')).toBe(`/v1/lookups/${id}`)
    expect(begun.headers.get('x-credits-charged')).toBe('2')
    expect(rest).toEqual({
      product: 'contact-intel',
      status: 'running',
      credits_used: 2,
      created_at: expect.any(String),
    })
    const ended = await readLookup(caller, id, 30)
    expect(ended.status).toBe('completed')
    const atOnce = (await now.json()) as Record<string, unknown>
    expect({ ...ended.result, explain: null }).toEqual({ ...atOnce, explain: null })
    expect(Object.keys(ended.result?.['explain'] ?? {})).toEqual(['email', 'ip'])
    await expectLedgerIntact(service)
  })

  test('it has the time limits of a batch, and its end is reported', async () => {
    await using receiver = await startReceiver()
    const caller = await openCaller()
    const events = ['lookup.completed', 'batch.completed']
    await service.call(caller.key, 'POST', '/v1/webhooks', { url: receiver.url, events })
    const { id } = await viewIn(await ask(caller, 'email', { email: 'grey1@b.example' }))
    expect((await readLookup(caller, id, 30)).result).toMatchObject({ email: 'grey1@b.example' })
    await expect.poll(() => receiver.received).toHaveLength(1)
    const told = JSON.parse(receiver.received[0]?.body ?? '') as { type: string; data: LookupView }
    expect(told.type).toBe('lookup.completed')
    expect(told.data).toEqual(await readLookup(caller, id))
  })

  test('is begun once for each idempotency key, and is not listed among batches', async () => {
    const caller = await openCaller()
    const key = { 'idempotency-key': 'once' }
    const first = await viewIn(
      await ask(caller, 'email', { email: 'c@b.example' }, { ...LATER, ...key }),
    )
    const again = await ask(caller, 'email', { email: 'c@b.example' }, { ...LATER, ...key })
    expect([again.status, (await viewIn(again)).id]).toEqual([202, first.id])
    // The same body at once is another request.
    expect((await ask(caller, 'email', { email: 'c@b.example' }, key)).status).toBe(422)
    await readLookup(caller, first.id, 30)
    const listed = await call(caller, 'GET', '/v1/batches')
    expect(await listed.json()).toMatchObject({ data: [] })
    expect((await call(caller, 'GET', `/v1/batches/${first.id}`)).status).toBe(404)
    const account = await call(caller, 'GET', '/v1/account')
    expect(account.headers.get('x-credits-remaining')).toBe(String(5_100 - 1))
  })

  test('is refused like a call, free of charge', async () => {
    const caller = await openCaller()
    expect((await ask(caller, 'email', { mail: 'x' })).status).toBe(400)
    const stranger = await openCaller()
    const { id } = await viewIn(await ask(caller, 'email', { email: 'd@b.example' }))
    expect((await call(stranger, 'GET', `/v1/lookups/${id}`)).status).toBe(404)
    expect((await call(caller, 'GET', '/v1/lookups/lkp_0')).status).toBe(404)
    expect((await call(caller, 'GET', `/v1/lookups/${id}?wait=31`)).status).toBe(400)
    const { id: batch } = await runBatch(
      caller,
      formOf({ product: 'email' }, 'email\ne@b.example\n'),
    )
    expect((await call(caller, 'GET', `/v1/lookups/${batch}`)).status).toBe(404)
    const poor = { service, account: await service.account({ plan: 'free' }) }
    const rest = { ...poor, key: poor.account.liveKey }
    const rows = Array.from({ length: 200 }, (_, no) => `u${no}@b.example\n`).join('')
    await runBatch(rest, formOf({ product: 'email' }, `email\n${rows}`))
    expect((await ask(rest, 'email', { email: 'f@b.example' })).status).toBe(402)
    await expectLedgerIntact(service)
  })

  test('the open lookups of an account are limited', async () => {
    const caller = await openCaller()
    const bodies = [1, 2, 3, 4].map((no) => ({ email: `busy60.${no}@b.example` }))
    const statuses: number[] = []
    for (const body of bodies) statuses.push((await ask(caller, 'email', body)).status)
    expect(statuses).toEqual([202, 202, 202, 429])
  })

  test('a test key answers from its table', async () => {
    const caller = await openCaller()
    const tester = { ...caller, key: caller.account.testKey }
    const { id } = await viewIn(await ask(tester, 'email', { email: 'deliverable@magic.test' }))
    expect(await readLookup(tester, id, 30)).toMatchObject({
      status: 'completed',
      credits_used: 1,
      result: { deliverable: true, credits_used: 1 },
    })
  })
})

const LATER = { prefer: 'respond-async' }

async function ask(
  { service, key }: Caller,
  product: string,
  body: object,
  headers: Readonly<Record<string, string>> = LATER,
): Promise<Response> {
  return await fetch(new URL(`/v1/${product}`, service.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

async function viewIn(response: Response): Promise<LookupView> {
  const text = await response.text()
  expect([response.status, text]).toEqual([202, expect.any(String)])
  // Safe because a test compares what it uses of it.
  return JSON.parse(text) as LookupView
}

async function readLookup(caller: Caller, id: string, wait = 0): Promise<LookupView> {
  const response = await call(caller, 'GET', `/v1/lookups/${id}?wait=${wait}`)
  expect(response.status).toBe(200)
  return (await response.json()) as LookupView
}
