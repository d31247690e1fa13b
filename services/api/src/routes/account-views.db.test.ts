import { accountView } from '@plumbline/contract/account'
import { keyList } from '@plumbline/contract/keys'
import { ledgerPage } from '@plumbline/contract/ledger'
import { offersView } from '@plumbline/contract/plans'
import { usageView } from '@plumbline/contract/usage'
import { createKey, noteKeysUsed } from '@plumbline/db/keys'
import {
  closeAccount,
  limitAccount,
  resumeAccount,
  suspendAccount,
} from '@plumbline/metering/administer'
import { setSpending } from '@plumbline/metering/spending'
import { openApiHarness, type ApiHarness } from '@plumbline/testkit/api/harness'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

let stage: ApiHarness
beforeAll(async () => {
  stage = await openApiHarness({ CONTACT_URL: 'mailto:sales@service.example' })
})
afterAll(() => stage[Symbol.asyncDispose]())

async function lookUp(key: string, product: string, body: object): Promise<void> {
  expect((await stage.call(`/v1/${product}`, { key, body })).status).toBe(200)
}

describe('GET /v1/usage', () => {
  test('200 with the cost of the calls of the account, grouped as requested', async () => {
    const { live } = await stage.account({ plan: 'starter' })
    await lookUp(live, 'email', { email: 'a@one.example' })
    await lookUp(live, 'email', { email: 'b@one.example' })
    await lookUp(live, 'domain', { domain: 'one.example' })
    const answer = await stage.call('/v1/usage?by=product,source', { key: live })
    expect(usageView.parse(answer.json)).toMatchObject({
      time_zone: 'UTC',
      by: ['product', 'source'],
      data: [
        { product: 'domain', source: 'api', operations: 1, credits: 2 },
        { product: 'email', source: 'api', operations: 2, credits: 2 },
      ],
      total: { operations: 3, credits: 4 },
    })
    const { total, to } = usageView.parse((await stage.call('/v1/usage', { key: live })).json)
    expect(total).toEqual({ operations: 3, credits: 4 })
    const csv = await stage.call(`/v1/usage?by=day&format=csv&from=${to}`, { key: live })
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(csv.text).toBe(`day,operations,credits\r\n${to},3,4\r\n`)
  })

  test('an account without credits can read it, and it has no calls of other accounts', async () => {
    const other = await stage.account({ plan: 'starter' })
    await lookUp(other.live, 'ip', { ip: '8.8.8.8' })
    const { live } = await stage.account({ credits: 0 })
    const { data } = usageView.parse((await stage.call('/v1/usage', { key: live })).json)
    expect(data).toEqual([])
  })

  test.for([
    ['from=yesterday', '`from` must be a day such as 2026-11-01.'],
    ['from=2026-02-30', '`from` must be a day'],
    ['from=2026-11-02&to=2026-11-01', '`from` first'],
    ['from=2020-01-01&to=2026-11-01', 'span 1 to 366 days'],
    ['from=1999-01-01', 'span 1 to 366 days'],
    ['by=day,colour', '`by` takes day, product, source'],
    ['format=xml', '`format` must be one of json, csv.'],
    ['since=2026-11-01', 'since'],
    ["by=day'%3B--", '`by` takes'],
  ])('400 for %s', async ([query = '', message = '']) => {
    const { live } = await stage.account()
    const answer = await stage.call(`/v1/usage?${query}`, { key: live })
    expect(answer.status).toBe(400)
    expect(answer.json).toMatchObject({ message: expect.stringContaining(message) })
  })
})

describe('GET /v1/ledger', () => {
  test('200 with each move and the balance after it, page by page', async () => {
    const { live } = await stage.account({ plan: 'starter' })
    await lookUp(live, 'phone', { phone: '+442079460123' })
    await lookUp(live, 'email', { email: 'a@one.example' })
    const first = ledgerPage.parse((await stage.call('/v1/ledger?limit=2', { key: live })).json)
    expect(first.data).toMatchObject([
      { kind: 'debit', credits: -1, balance: 4_997, product: 'email', source: 'api' },
      { kind: 'debit', credits: -2, balance: 4_998, product: 'phone', source: 'api' },
    ])
    // Entries that are added meanwhile do not change later pages.
    await lookUp(live, 'ip', { ip: '8.8.8.8' })
    const next = `/v1/ledger?limit=2&cursor=${first.next_cursor ?? ''}`
    expect(ledgerPage.parse((await stage.call(next, { key: live })).json)).toMatchObject({
      data: [{ kind: 'grant', credits: 5_000, balance: 5_000, detail: 'starter' }],
      next_cursor: null,
    })
    const csv = await stage.call('/v1/ledger?format=csv', { key: live })
    const lines = csv.text.trimEnd().split('\r\n')
    expect(lines[0]).toBe('at,kind,credits,held,balance,product,source,batch_id,detail')
    expect(lines.map((line) => line.split(',')[4])).toEqual([
      'balance',
      '4996',
      '4997',
      '4998',
      '5000',
    ])
  })

  test('400 for a cursor of another account, an altered cursor, and an invalid page', async () => {
    const one = await stage.account({ plan: 'starter' })
    const other = await stage.account({ plan: 'starter' })
    await lookUp(one.live, 'ip', { ip: '8.8.8.8' })
    const { next_cursor } = ledgerPage.parse(
      (await stage.call('/v1/ledger?limit=1', { key: one.live })).json,
    )
    const cursor = next_cursor ?? ''
    for (const [key, query] of [
      [other.live, `cursor=${cursor}`],
      [one.live, `cursor=${cursor.slice(0, -1)}`],
      [one.live, 'limit=0'],
      [one.live, 'limit=1001'],
    ] as const) {
      expect((await stage.call(`/v1/ledger?${query}`, { key })).status).toBe(400)
    }
  })

  test('a download of more than a page is complete, and HEAD has only its headers', async () => {
    const { id, live } = await stage.account({ plan: 'starter' })
    const { db } = stage
    await db.pool.query(
      `select * from credit_debit(array_fill($1::text, array[2500]),
         array(select 'n' || n from generate_series(1, 2500) n), array_fill(1::bigint, array[2500]))`,
      [id],
    )
    const csv = await stage.call('/v1/ledger?format=csv', { key: live })
    const lines = csv.text.trimEnd().split('\r\n')
    expect(lines).toHaveLength(2_502)
    expect(lines.at(-1)).toContain(',5000,')
    const head = await stage.call('/v1/ledger?format=csv', { key: live, method: 'HEAD' })
    expect([head.status, head.text]).toEqual([200, ''])
  })
})

describe('GET /v1/keys', () => {
  test('200 with the keys that the account has had and when they were used, never a key', async () => {
    const { live } = await stage.account({ plan: 'starter' })
    const answer = await stage.call('/v1/keys', { key: live })
    const { data } = keyList.parse(answer.json)
    expect(data.map(({ mode, revoked_at }) => [mode, revoked_at])).toEqual(
      expect.arrayContaining([
        ['live', null],
        ['test', null],
      ]),
    )
    expect(data.some(({ last4 }) => live.endsWith(last4))).toBe(true)
    expect(answer.text).not.toContain(live.slice(9, 30))
    await noteKeysUsed(
      stage.db,
      data.filter(({ mode }) => mode === 'live').map(({ id }) => id),
    )
    const later = keyList.parse((await stage.call('/v1/keys', { key: live })).json)
    expect(later.data.map(({ mode, last_used_at }) => [mode, last_used_at !== null])).toEqual(
      expect.arrayContaining([
        ['live', true],
        ['test', false],
      ]),
    )
    expect((await stage.call('/v1/keys?id=1', { key: live })).status).toBe(400)
  })
})

describe('GET /v1/plans', () => {
  test('200 with the offered plans and packs, their prices, and the plan of the account marked', async () => {
    const { live } = await stage.account({ plan: 'starter' })
    const view = offersView.parse((await stage.call('/v1/plans', { key: live })).json)
    expect(
      view.plans.map(({ plan, monthly_credits, current }) => [plan, monthly_credits, current]),
    ).toEqual([
      ['free', 200, false],
      ['starter', 5_000, true],
      ['pro', 25_000, false],
    ])
    expect(view.packs).toEqual([
      { pack: 'starter', credits: 1_000, price_usd: 25 },
      { pack: 'growth', credits: 5_000, price_usd: 100 },
      { pack: 'scale', credits: 20_000, price_usd: 350 },
    ])
    expect(view.contact_url).toBe('mailto:sales@service.example')
  })
})

describe('limits of one account', () => {
  test('apply to its calls, and are shown to it', async () => {
    const { id, live } = await stage.account({ plan: 'starter' })
    const act = { actor: 'ada', accountId: id }
    await limitAccount(stage.db, { ...act, limits: { calls_per_second: 1, calls_burst: 3 } })
    const answer = await stage.call('/v1/account', { key: live })
    expect(accountView.parse(answer.json).limits).toMatchObject({
      calls_per_second: 1,
      calls_burst: 3,
      unfinished_batches: 10,
    })
    expect(answer.headers.get('ratelimit-policy')).toBe('"account";q=3;w=3')
    const more = await Promise.all(
      Array.from({ length: 4 }, () => stage.call('/v1/account', { key: live })),
    )
    expect(more.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(2)
  })

  test('apply to its unfinished batches', async () => {
    const { id, live } = await stage.account({ plan: 'starter' })
    await limitAccount(stage.db, { actor: 'a', accountId: id, limits: { unfinished_batches: 1 } })
    const body = { product: 'email', start: false, records: [{ email: 'a@one.example' }] }
    expect((await stage.call('/v1/batches', { key: live, body })).status).toBe(202)
    const refused = await stage.call('/v1/batches', { key: live, body })
    expect([refused.status, refused.text]).toEqual([429, expect.stringContaining('1 unfinished')])
  })
})

describe('a suspended account', () => {
  test('gets 403 with the reason on every path within a second, until it is resumed', async () => {
    const { id, live, test: testKey } = await stage.account({ plan: 'starter' })
    const act = { actor: 'ada', accountId: id }
    await lookUp(live, 'ip', { ip: '8.8.8.8' })
    await suspendAccount(stage.db, { ...act, reason: 'invoice 17 is unpaid' })
    await expect.poll(() => statusOf(live)).toBe(403)
    for (const key of [live, testKey]) {
      const answer = await stage.call('/v1/ip', { key, body: { ip: '8.8.4.4' } })
      expect([answer.status, answer.json]).toMatchObject([
        403,
        {
          error: 'Forbidden',
          message: expect.stringContaining('suspended (invoice 17 is unpaid)'),
        },
      ])
    }
    await resumeAccount(stage.db, act)
    await expect.poll(() => statusOf(live)).toBe(200)
  })
})

describe('a closed account', () => {
  test('has no keys and stays closed', async () => {
    const { id, live, test: testKey } = await stage.account({ plan: 'starter' })
    const act = { actor: 'ada', accountId: id }
    await closeAccount(stage.db, act)
    for (const key of [live, testKey]) {
      await expect.poll(() => statusOf(key)).toBe(401)
    }
    await expect(resumeAccount(stage.db, act)).rejects.toMatchObject({ code: 'conflict' })
    const wanted = { accountId: id, mode: 'live', service: 'svc' } as const
    await expect(createKey(stage.db, wanted)).rejects.toMatchObject({ code: 'forbidden' })
  })
})

async function statusOf(key: string): Promise<number> {
  return (await stage.call('/v1/account', { key })).status
}

describe('a daily spending limit', () => {
  test('refuses calls and starts beyond it with 402 and a message of its own, and nothing that is free', async () => {
    const { id, live } = await stage.account({ plan: 'starter' })
    await setSpending(stage.db, { actor: 'ada', accountId: id, bounds: { dailyLimit: 3 } })
    await lookUp(live, 'phone', { phone: '+442079460123' })
    for (const headers of [{}, { prefer: 'respond-async' }]) {
      const body = { domain: 'one.example' }
      const refused = await stage.call('/v1/domain', { key: live, body, headers })
      expect([refused.status, refused.json]).toMatchObject([
        402,
        { error: 'Payment Required', message: expect.stringContaining('daily spending limit') },
      ])
      expect(refused.headers.get('x-credits-remaining')).toBe('4998')
    }
    await lookUp(live, 'ip', { ip: '8.8.8.8' })
    const view = accountView.parse((await stage.call('/v1/account', { key: live })).json)
    expect(view.spending).toEqual({ today: 3, daily_limit: 3, low_mark: null })
  })
})

describe('each of them', () => {
  test.for(['/v1/usage', '/v1/ledger', '/v1/keys', '/v1/plans'])(
    '%s is 401 without a key and 405 for POST',
    async (path) => {
      expect((await stage.call(path)).status).toBe(401)
      const answer = await stage.call(path, { method: 'POST' })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    },
  )
})
