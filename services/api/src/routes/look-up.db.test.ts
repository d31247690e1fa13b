import { batchView } from '@plumbline/contract/batch-view'
import { explainShape } from '@plumbline/contract/explain'
import { PRODUCTS, type Check } from '@plumbline/contract/products'
import { RESULTS } from '@plumbline/contract/results'
import { once as onceEvent } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { outcomeFor } from '@plumbline/testkit/instant-engines'
import { PRICES } from '@plumbline/testkit/prices'
import {
  openApiHarness,
  type ApiHarness,
  type ApiResponse,
  type HarnessAccount,
} from '@plumbline/testkit/api/harness'
import { grantGoodwill } from '@plumbline/metering/grant'
import { sweepUnanswered } from '@plumbline/metering/sweep'
import { PATIENT } from '@plumbline/testkit/patience'

const VALUES: Readonly<Record<Check, string>> = {
  email: 'ada@example.com',
  phone: '+12025550123',
  ip: '8.8.8.8',
  domain: 'example.com',
}

function bodyOf(...checks: readonly Check[]): Record<string, string> {
  return Object.fromEntries(checks.map((check) => [check, VALUES[check]]))
}

let stage: ApiHarness
beforeAll(async () => {
  stage = await openApiHarness({
    RATE_LIMIT_PER_SECOND: '1000',
    RATE_LIMIT_BURST: '1000',
    CALL_TIMEOUT_SECONDS: '4',
  })
})
afterAll(() => stage[Symbol.asyncDispose]())
beforeEach(() => {
  stage.answer = undefined
  stage.asked.length = 0
})

/** The sum of an account's ledger entries, and its balance. */
async function ledgerOf(account: HarnessAccount): Promise<{ left: number; unanswered: number }> {
  const { rows } = await stage.db.pool.query<{ left: number; unanswered: number }>(
    `select
      (select coalesce(sum(allowance_delta + packs_delta), 0)::int from credit_entries
        where account_id = $1) as left,
      (select count(*)::int from credit_unanswered where account_id = $1) as unanswered`,
    [account.id],
  )
  return rows[0] ?? { left: -1, unanswered: -1 }
}

/** Waits for writes that follow a response in the background. */
async function settled(account: HarnessAccount): Promise<void> {
  await expect.poll(async () => (await ledgerOf(account)).unanswered).toBe(0)
}

describe('200', () => {
  test.each(PRICES)(
    '%s of %j costs %i credits and has the parts that were sent',
    async (...row) => {
      const [product, checks, price] = row
      const account = await stage.account({ credits: 100 })
      const answer = await stage.call(`/v1/${product}`, {
        key: account.live,
        body: bodyOf(...checks),
      })
      expect(answer.status).toBe(200)
      const result: Record<string, unknown> = RESULTS[product].parse(answer.json)
      expect(Object.keys(result)).toEqual(
        Object.keys(RESULTS[product].shape).filter((field) => Object.hasOwn(result, field)),
      )
      expect(result['credits_used']).toBe(price)
      const optional = checks.filter((check) => check !== 'email')
      expect(['phone', 'ip', 'domain'].filter((part) => typeof result[part] === 'object')).toEqual(
        ['phone', 'ip', 'domain'].filter(
          (part) => product !== part && optional.some((c) => c === part),
        ),
      )
      expect(answer.headers.get('x-credits-charged')).toBe(String(price))
      expect(answer.headers.get('x-credits-remaining')).toBe(String(100 - price))
      await settled(account)
      expect((await ledgerOf(account)).left).toBe(100 - price)
    },
  )

  test('the headers have the request id and the rate limit, and forbid caching', async () => {
    const { live } = await stage.account()
    const { headers } = await stage.call('/v1/email', { key: live, body: bodyOf('email') })
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(headers.get('ratelimit')).toMatch(/^"account";r=99\d;t=1$/)
    expect(headers.get('ratelimit-policy')).toBe('"account";q=1000;w=1')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(headers.get('x-powered-by')).toBeNull()
  })

  test('explain adds the evidence of each part, and the score of fraud signals', async () => {
    const { live } = await stage.account()
    const body = { ...bodyOf('email', 'phone', 'ip', 'domain'), explain: true }
    const answer = await stage.call('/v1/fraud-signals', { key: live, body })
    const { explain, ...result } = Object(answer.json)
    RESULTS['fraud-signals'].parse(result)
    expect(Object.keys(explainShape.parse(explain))).toEqual(
      expect.arrayContaining(['email', 'phone', 'ip', 'domain', 'fraud_score']),
    )
  })

  test('a malformed value is answered and charged', async () => {
    const account = await stage.account({ credits: 10 })
    for (const email of ['no address', '\u0000', '😀'.repeat(500), '\ud800@x']) {
      const answer = await stage.call('/v1/email', { key: account.live, body: { email } })
      expect(answer.status).toBe(200)
    }
    const answer = await stage.call('/v1/domain', { key: account.live, body: { domain: '..' } })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-credits-remaining')).toBe('4')
  })

  test('a verdict of unknown is charged', async () => {
    stage.answer = async (check, subject) => ({ ...outcomeFor(check, subject), status: 'unknown' })
    const { live } = await stage.account({ credits: 10 })
    const answer = await stage.call('/v1/email', { key: live, body: bodyOf('email') })
    expect(answer.headers.get('x-credits-charged')).toBe('1')
    expect(answer.headers.get('x-credits-remaining')).toBe('9')
  })

  test('a call whose client disconnected is charged if it was processed', async () => {
    const { promise: free, resolve: letGo } = Promise.withResolvers<void>()
    stage.answer = async (check, subject) => {
      await free
      return outcomeFor(check, subject)
    }
    const account = await stage.account({ credits: 10 })
    const gone = new AbortController()
    const call = fetch(`${stage.url}/v1/email`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.live}`, 'content-type': 'application/json' },
      body: JSON.stringify(bodyOf('email')),
      signal: gone.signal,
    })
    await expect.poll(() => stage.asked.length).toBe(1)
    gone.abort()
    await expect(call).rejects.toThrow('aborted')
    letGo()
    await settled(account)
    expect((await ledgerOf(account)).left).toBe(9)
  })

  test('64 concurrent calls on 20 credits give exactly 20 results', async () => {
    const account = await stage.account({ credits: 20 })
    const answers = await Promise.all(
      Array.from({ length: 64 }, () =>
        stage.call('/v1/email', { key: account.live, body: bodyOf('email') }),
      ),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(20)
    expect(statuses.filter((status) => status === 402)).toHaveLength(44)
    await settled(account)
    expect(await ledgerOf(account)).toEqual({ left: 0, unanswered: 0 })
  })
})

describe('CHARGE_UNKNOWN=false', () => {
  test('refunds the credits of parts that are unknown', async () => {
    await using generous = await openApiHarness({ CHARGE_UNKNOWN: 'false' })
    generous.answer = async (check, subject) =>
      check === 'phone'
        ? { ...outcomeFor(check, subject), status: 'unknown' }
        : { ...outcomeFor(check, subject), status: check === 'email' ? 'deliverable' : 'answered' }
    const { id, live } = await generous.account({ credits: 10 })
    const body = bodyOf('email', 'phone', 'ip')
    const answer = await generous.call('/v1/fraud-signals', { key: live, body })
    expect(answer.json).toMatchObject({ credits_used: 4 })
    expect(answer.headers.get('x-credits-charged')).toBe('2')
    expect(answer.headers.get('x-credits-remaining')).toBe('8')
    expect(await generous.metering.remaining(id)).toBe(8)
  })
})

describe('refusals', () => {
  test('400 names the field, is free, and precedes the debit', async () => {
    const { live } = await stage.account({ credits: 1 })
    for (const body of ['{', '[]', '"x"', '', '{"phone": 1}', '{"phone": "+1", "x": 1}']) {
      const answer = await stage.call('/v1/phone', { key: live, body })
      expect(answer.status).toBe(400)
      expect(Object.keys(Object(answer.json))).toEqual(['error', 'message'])
      expect(answer.json).toMatchObject({ error: 'Bad Request' })
      expect(answer.headers.get('x-credits-charged')).toBe('0')
      expect(answer.headers.get('x-credits-remaining')).toBe('1')
    }
    expect(stage.asked).toEqual([])
  })

  test('one refused field refuses the whole bundle', async () => {
    const { live } = await stage.account()
    const body = { ...bodyOf('email'), ip: '1.2.3' }
    const answer = await stage.call('/v1/contact-intel', { key: live, body })
    expect(answer.status).toBe(400)
    expect(answer.text).toContain('`ip`')
    expect(stage.asked).toEqual([])
  })

  test('401 is the same for keys that are missing, malformed, unknown and revoked', async () => {
    const { id, live } = await stage.account()
    await stage.db.pool.query('update api_keys set revoked_at = now() where account_id = $1', [id])
    const unknown = `${live.slice(0, -1)}${live.endsWith('a') ? 'b' : 'a'}`
    const answers = [
      await stage.call('/v1/email', { body: bodyOf('email') }),
      await stage.call('/v1/email', { key: 'x', body: bodyOf('email') }),
      await stage.call('/v1/email', { key: unknown, body: bodyOf('email') }),
      await stage.call('/v1/email', { key: live, body: bodyOf('email') }),
      await stage.call('/v1/email', { headers: { authorization: `Basic ${live}` }, body: '{' }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401])
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers[0]?.json).toMatchObject({ error: 'Unauthorized' })
    expect(answers[0]?.headers.get('www-authenticate')).toBe('Bearer')
    expect(answers[0]?.headers.get('x-credits-remaining')).toBeNull()
    expect(answers[0]?.headers.get('ratelimit')).toBeNull()
  })

  test('a revoked key is refused within a second', async () => {
    const { id, live } = await stage.account()
    expect((await stage.call('/v1/email', { key: live, body: bodyOf('email') })).status).toBe(200)
    await stage.db.pool.query('update api_keys set revoked_at = now() where account_id = $1', [id])
    const revokedAt = performance.now()
    let askedAt = revokedAt
    let lastTakenAt = revokedAt
    const ask = async (): Promise<number> => {
      askedAt = performance.now()
      const { status } = await stage.call('/v1/account', { key: live })
      if (status === 200) lastTakenAt = askedAt
      return status
    }
    await expect.poll(ask).toBe(401)
    // By when it was asked, for an answer takes as long as the machine takes.
    expect(lastTakenAt - revokedAt).toBeLessThan(1_000)
  })

  test('402 precedes the check of the body for a balance of zero, and follows it for a short one', async () => {
    const empty = await stage.account({ credits: 0 })
    const broken = await stage.call('/v1/email', { key: empty.live, body: '{' })
    expect(broken.status).toBe(402)
    expect(broken.json).toMatchObject({ error: 'Payment Required' })
    expect(broken.headers.get('x-credits-remaining')).toBe('0')

    const short = await stage.account({ credits: 1 })
    expect((await stage.call('/v1/phone', { key: short.live, body: '{' })).status).toBe(400)
    const dear = await stage.call('/v1/phone', { key: short.live, body: bodyOf('phone') })
    expect(dear.status).toBe(402)
    expect(dear.headers.get('x-credits-charged')).toBe('0')
    expect(dear.headers.get('x-credits-remaining')).toBe('1')
    expect((await stage.call('/v1/ip', { key: short.live, body: bodyOf('ip') })).status).toBe(200)
    expect((await stage.call('/v1/ip', { key: short.live, body: bodyOf('ip') })).status).toBe(402)
    expect(stage.asked).toHaveLength(1)
  })

  test('calls succeed again as soon as an empty account is topped up', async () => {
    const { id, live } = await stage.account({ credits: 0 })
    expect((await stage.call('/v1/ip', { key: live, body: bodyOf('ip') })).status).toBe(402)
    await grantGoodwill(stage.db, id, 5, `test:${id}:more`)
    expect((await stage.call('/v1/ip', { key: live, body: bodyOf('ip') })).status).toBe(200)
  })

  test('404 for unknown paths, with or without a key', async () => {
    const { live } = await stage.account()
    for (const path of ['/v1', '/v1/emails', '/v1/email/', '/V1/email', '/v1/%ff', '/v2/email']) {
      for (const init of [{}, { key: live, body: bodyOf('email') }]) {
        const answer = await stage.call(path, init)
        expect([path, answer.status]).toEqual([path, path === '/v1/email/' ? answer.status : 404])
        expect(answer.headers.get('x-request-id')).not.toBeNull()
      }
    }
  })

  test('405 names the methods of a path, before the key is checked', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await stage.call('/v1/email', { method })
      expect(answer.status).toBe(405)
      expect(answer.headers.get('allow')).toBe('POST')
      expect(answer.json).toMatchObject({ error: 'Method Not Allowed' })
    }
  })

  test('400 for a query, before the body is checked, and nothing is charged', async () => {
    const account = await stage.account({ credits: 5 })
    for (const query of ['explain=true', 'email=a@example.com', '=']) {
      const answer = await stage.call(`/v1/email?${query}`, {
        key: account.live,
        body: 'x'.repeat(120 * 1_024),
      })
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('in the query')])
      expect(answer.headers.get('x-credits-remaining')).toBe('5')
    }
  })

  test('413 for a body over the limit, declared or actual, before its type is checked', async () => {
    const { live } = await stage.account()
    const large = JSON.stringify({ email: 'a'.repeat(120 * 1_024) })
    const said = { key: live, body: large, headers: { 'content-type': 'text/plain' } }
    expect((await stage.call('/v1/email', said)).status).toBe(413)
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (let part = 0; part < 3; part += 1) controller.enqueue(new Uint8Array(60 * 1_024))
        controller.close()
      },
    })
    const response = await fetch(`${stage.url}/v1/email`, {
      method: 'POST',
      headers: { authorization: `Bearer ${live}`, 'content-type': 'application/json' },
      body: stream,
      duplex: 'half',
    })
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ error: 'Payload Too Large' })
  })

  test.each([
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/x-www-form-urlencoded' },
    { 'content-type': 'application/json; charset=latin1' },
    { 'content-type': 'application/jsonp' },
    { 'content-encoding': 'gzip' },
  ])('415 for %j', async (headers) => {
    const { live } = await stage.account()
    const answer = await stage.call('/v1/email', { key: live, body: bodyOf('email'), headers })
    expect(answer.status).toBe(415)
  })

  test.each(['application/json;charset=UTF-8', 'Application/JSON; charset="utf-8"'])(
    'accepts %s',
    async (type) => {
      const { live } = await stage.account()
      const headers = { 'content-type': type }
      const answer = await stage.call('/v1/email', { key: live, body: bodyOf('email'), headers })
      expect(answer.status).toBe(200)
    },
  )

  test('500 refunds the credits and reveals nothing of the cause', async () => {
    stage.answer = () => Promise.reject(new Error('secret detail'))
    const account = await stage.account({ credits: 10 })
    const answer = await stage.call('/v1/email', { key: account.live, body: bodyOf('email') })
    expect(answer.status).toBe(500)
    expect(answer.json).toMatchObject({ error: 'Internal Server Error' })
    expect(answer.text).not.toContain('secret')
    expect(answer.headers.get('x-credits-charged')).toBe('0')
    expect(answer.headers.get('x-credits-remaining')).toBe('10')
    expect(await ledgerOf(account)).toEqual({ left: 10, unanswered: 0 })
  })

  test('504 if no worker answers in time; the credits are refunded', async () => {
    await using hasty = await openApiHarness({ CALL_TIMEOUT_SECONDS: '1' })
    hasty.answer = () => new Promise(() => undefined)
    const { id, live } = await hasty.account({ credits: 10 })
    const answer = await hasty.call('/v1/email', { key: live, body: bodyOf('email') })
    expect(answer.status).toBe(504)
    expect(answer.json).toMatchObject({ error: 'Gateway Timeout' })
    expect(answer.headers.get('x-credits-remaining')).toBe('10')
    // A debit that took longer than the call is refunded after its answer.
    await vi.waitFor(async () => expect(await hasty.metering.remaining(id)).toBe(10), PATIENT)
  })

  test('504 in time if the balance is locked; a late debit is refunded', async () => {
    await using hasty = await openApiHarness({ CALL_TIMEOUT_SECONDS: '1' })
    const { id, live } = await hasty.account({ credits: 10 })
    // The key and the balance are known before the lock.
    await hasty.call('/v1/email', { key: live, body: bodyOf('email') })
    const client = await hasty.db.pool.connect()
    try {
      await client.query('begin')
      await client.query('select 1 from credit_accounts where account_id = $1 for update', [id])
      const answer = await hasty.call('/v1/email', { key: live, body: bodyOf('email') })
      expect(answer.status).toBe(504)
    } finally {
      await client.query('rollback')
      client.release()
    }
    await vi.waitFor(async () => expect(await hasty.metering.remaining(id)).toBe(9), PATIENT)
  })
})

test('200 without waiting for the statements of other requests, however many', async () => {
  const [busy, caller] = [await stage.account(), await stage.account({ credits: 10 })]
  const records = { product: 'email', start: false, records: [bodyOf('email')] }
  const { json } = await stage.call('/v1/batches', { key: busy.live, body: records })
  const { id } = batchView.parse(json)
  const client = await stage.db.pool.connect()
  const cancels: Promise<ApiResponse>[] = []
  try {
    await client.query('begin')
    await client.query('select from batches where id = $1 for update', [id])
    for (let request = 0; request < 16; request += 1) {
      const path = `/v1/batches/${id}/cancel`
      cancels.push(stage.call(path, { key: busy.live, method: 'POST' }))
    }
    const waiting = `select from pg_stat_activity
      where wait_event_type = 'Lock' and datname = current_database()`
    // The others wait for a connection.
    const count = async () => (await stage.db.pool.query(waiting)).rowCount
    await expect.poll(count, PATIENT).toBe(5)
    for (const headers of [{}, { 'idempotency-key': 'beside-others' }]) {
      const body = bodyOf('email')
      const answer = await stage.call('/v1/email', { key: caller.live, body, headers })
      expect(answer.status).toBe(200)
    }
    expect((await stage.call('/readyz')).status).toBe(200)
  } finally {
    await client.query('rollback')
    client.release()
  }
  expect(new Set((await Promise.all(cancels)).map(({ status }) => status))).toEqual(new Set([200]))
})

describe('429', () => {
  test('beyond the burst, with Retry-After, before balance and body are checked', async () => {
    await using strict = await openApiHarness({ RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '2' })
    const { live } = await strict.account({ credits: 0 })
    const statuses: number[] = []
    for (let call = 0; call < 4; call += 1) {
      const answer = await strict.call('/v1/email', { key: live, body: '{' })
      statuses.push(answer.status)
      if (answer.status !== 429) continue
      expect(answer.json).toMatchObject({ error: 'Too Many Requests' })
      expect(answer.headers.get('retry-after')).toBe('1')
      expect(answer.headers.get('ratelimit')).toBe('"account";r=0;t=2')
      expect(answer.headers.get('ratelimit-policy')).toBe('"account";q=2;w=2')
      expect(answer.headers.get('x-credits-remaining')).toBe('0')
    }
    expect(statuses).toEqual([402, 402, 429, 429])
  })

  test('an address with too many failed keys has to wait, and valid keys still work there', async () => {
    await using strict = await openApiHarness({ FAILED_KEYS_PER_MINUTE: '3' })
    const { live } = await strict.account()
    const statuses: number[] = []
    for (let call = 0; call < 5; call += 1) {
      statuses.push((await strict.call('/v1/account', { key: 'wrong' })).status)
    }
    expect(statuses).toEqual([401, 401, 401, 429, 429])
    const refused = await strict.call('/v1/account')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(10)
    expect((await strict.call('/v1/account', { key: live })).status).toBe(200)
  })
})

describe('503', () => {
  test('not for single calls while others wait for lookups', async () => {
    await using full = await openApiHarness({ CALLS_LIMIT: '2', CALLS_PER_ACCOUNT: '2' })
    const [waiting, other] = [await full.account({ credits: 10 }), await full.account()]
    const begun = await full.call('/v1/email', {
      key: waiting.live,
      body: bodyOf('email'),
      headers: { prefer: 'respond-async' },
    })
    const path = `${begun.headers.get('location')}?wait=3`
    const waits = Array.from({ length: 3 }, () => full.call(path, { key: waiting.live }))
    expect((await Promise.race(waits)).status).toBe(503)
    const single = { key: other.live, body: bodyOf('email') }
    expect((await full.call('/v1/email', single)).status).toBe(200)
    const statuses = (await Promise.all(waits)).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([200, 200, 503])
  })

  test('beyond the concurrent calls of a process, before anything is debited', async () => {
    await using full = await openApiHarness({ CALLS_LIMIT: '2', CALLS_PER_ACCOUNT: '2' })
    const held = Promise.withResolvers<void>()
    full.answer = async (check, subject) => {
      await held.promise
      return outcomeFor(check, subject)
    }
    const [busy, other] = [await full.account(), await full.account({ credits: 10 })]
    const call = ({ live }: HarnessAccount) =>
      full.call('/v1/email', { key: live, body: bodyOf('email') })
    const first = [call(busy), call(busy)]
    await vi.waitFor(() => expect(full.asked).toHaveLength(2), PATIENT)
    const refused = await call(other)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect(refused.headers.get('x-credits-charged') ?? '0').toBe('0')
    const { rows } = await full.db.pool.query(
      `select from credit_entries where account_id = $1 and kind in ('debit', 'refund')
         and op_key not like 'test:%'`,
      [other.id],
    )
    expect(rows).toEqual([])
    held.resolve()
    expect((await Promise.all(first)).map(({ status }) => status)).toEqual([200, 200])
    expect((await call(other)).status).toBe(200)
  })
})

describe('Idempotency-Key', () => {
  const first = { 'idempotency-key': 'order-1' }

  test('a repeat gets the first response, byte for byte, and is free', async () => {
    const account = await stage.account({ credits: 10 })
    const init = { key: account.live, body: bodyOf('email', 'ip'), headers: first }
    const once = await stage.call('/v1/contact-intel', init)
    const again = await stage.call('/v1/contact-intel', {
      ...init,
      body: `{"ip": "${VALUES.ip}", "email": "${VALUES.email}"}`,
    })
    expect([once.status, again.status]).toEqual([200, 200])
    expect(again.text).toBe(once.text)
    expect(once.headers.get('idempotent-replayed')).toBeNull()
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.headers.get('x-credits-charged')).toBe('0')
    expect(again.headers.get('x-credits-remaining')).toBe('8')
    expect(await ledgerOf(account)).toEqual({ left: 8, unanswered: 0 })
    expect(stage.asked).toHaveLength(2)
  })

  test('another request under the same key is 422; another path, mode or account is another key', async () => {
    const account = await stage.account({ credits: 10 })
    const other = await stage.account({ credits: 10 })
    const call = (key: string, path: string, email: string) =>
      stage.call(path, { key, body: { email }, headers: first })
    expect((await call(account.live, '/v1/email', 'a@b.example')).status).toBe(200)
    expect((await call(account.live, '/v1/email', 'c@d.example')).status).toBe(422)
    expect((await call(account.live, '/v1/deliverability', 'c@d.example')).status).toBe(200)
    expect((await call(account.test, '/v1/email', 'c@d.example')).status).toBe(200)
    expect((await call(other.live, '/v1/email', 'c@d.example')).status).toBe(200)
    expect(await ledgerOf(account)).toEqual({ left: 8, unanswered: 0 })
  })

  test('409 while the first runs', async () => {
    const { promise: free, resolve: letGo } = Promise.withResolvers<void>()
    stage.answer = async (check, subject) => {
      await free
      return outcomeFor(check, subject)
    }
    const { live } = await stage.account()
    const init = { key: live, body: bodyOf('email'), headers: first }
    const running = stage.call('/v1/email', init)
    await expect.poll(() => stage.asked.length).toBe(1)
    const early = await stage.call('/v1/email', init)
    expect(early.status).toBe(409)
    expect(early.headers.get('retry-after')).toBe('1')
    letGo()
    expect((await running).status).toBe(200)
    expect((await stage.call('/v1/email', init)).headers.get('idempotent-replayed')).toBe('true')
  })

  test('a repeat of the call that took the last credit gets its response', async () => {
    const account = await stage.account({ credits: 1 })
    const call = (body: object, headers: Record<string, string> = first, path = '/v1/email') =>
      stage.call(path, { key: account.live, body, headers })
    const once = await call(bodyOf('email'))
    const again = await call(bodyOf('email'))
    expect([once.status, again.status, again.text]).toEqual([200, 200, once.text])
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.headers.get('x-credits-charged')).toBe('0')
    expect(again.headers.get('x-credits-remaining')).toBe('0')
    expect((await call({ email: 'c@d.example' })).status).toBe(422)
    // New work is refused as ever.
    expect((await call(bodyOf('email'), {})).status).toBe(402)
    expect((await call(bodyOf('email'), { 'idempotency-key': 'order-2' })).status).toBe(402)
    expect((await call(bodyOf('email'), { 'idempotency-key': 'x'.repeat(256) })).status).toBe(402)
    expect((await call(bodyOf('email'), first, '/v1/deliverability')).status).toBe(402)
    expect(await ledgerOf(account)).toEqual({ left: 0, unanswered: 0 })
    expect(stage.asked).toHaveLength(1)
  })

  test('a repeat that was admitted without credits is charged if the first call failed', async () => {
    for (const [key, spent, status] of [
      ['paid', false, 200],
      ['unpaid', true, 402],
    ] as const) {
      const { promise: fail, reject } = Promise.withResolvers<never>()
      const account = await stage.account({ credits: 1 })
      const headers = { 'idempotency-key': key }
      const init = { key: account.live, body: bodyOf('email'), headers }
      const asked = stage.asked.length
      stage.answer = () => fail
      const failing = stage.call('/v1/email', init)
      await expect.poll(() => stage.asked.length).toBe(asked + 1)
      const repeat = await holdBack('/v1/email', init)
      reject(new Error('broken'))
      expect((await failing).status).toBe(500)
      stage.answer = undefined
      if (spent) await stage.call('/v1/email', { key: account.live, body: bodyOf('email') })
      expect(await repeat.send()).toBe(status)
      await settled(account)
      expect(await ledgerOf(account)).toEqual({ left: 0, unanswered: 0 })
    }
  })

  test('refusals and failures are not stored', async () => {
    const { id, live } = await stage.account({ credits: 1 })
    const init = { key: live, body: bodyOf('phone'), headers: first }
    expect((await stage.call('/v1/phone', init)).status).toBe(402)
    await grantGoodwill(stage.db, id, 5, `test:${id}:more`)
    stage.answer = () => Promise.reject(new Error('broken'))
    expect((await stage.call('/v1/phone', init)).status).toBe(500)
    stage.answer = undefined
    const answer = await stage.call('/v1/phone', init)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('idempotent-replayed')).toBeNull()
    expect(answer.headers.get('x-credits-remaining')).toBe('4')
  })

  test('the key of a run that died is free once its debit was refunded', async () => {
    const { promise: never } = Promise.withResolvers<undefined>()
    stage.answer = () => never
    const account = await stage.account({ credits: 5 })
    const init = { key: account.live, body: bodyOf('email'), headers: first }
    const dead = stage.call('/v1/email', init)
    await expect.poll(() => stage.asked.length).toBe(1)
    await sweepUnanswered(stage.db, 0)
    stage.answer = undefined
    const answer = await stage.call('/v1/email', init)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-credits-remaining')).toBe('4')
    await dead
    expect(await ledgerOf(account)).toEqual({ left: 4, unanswered: 0 })
    const again = await stage.call('/v1/email', init)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
  }, 40_000)

  test.each(['', 'x'.repeat(256)])('400 for a key of the wrong length', async (key) => {
    const { live } = await stage.account()
    const headers = { 'idempotency-key': key }
    const answer = await stage.call('/v1/email', { key: live, body: bodyOf('email'), headers })
    expect(answer.status).toBe(400)
  })
})

describe('test keys', () => {
  test('answer every product from the table, look nothing up and are free', async () => {
    const account = await stage.account({ credits: 0 })
    for (const product of PRODUCTS) {
      const check =
        product === 'ip' || product === 'phone' || product === 'domain' ? product : 'email'
      const answer = await stage.call(`/v1/${product}`, { key: account.test, body: bodyOf(check) })
      expect(answer.status).toBe(200)
      RESULTS[product].parse(answer.json)
      expect(answer.headers.get('x-credits-charged')).toBe('0')
    }
    expect(stage.asked).toEqual([])
    expect(await ledgerOf(account)).toEqual({ left: 0, unanswered: 0 })
  })

  test.each([
    ['status-402@magic.test', 402, null],
    ['status-429@magic.test', 429, '1'],
    ['status-500@magic.test', 500, null],
    ['status-503@magic.test', 503, '1'],
    ['status-504@magic.test', 504, null],
  ])('%s gives %i, which is not logged as an error', async (email, status, retryAfter) => {
    const account = await stage.account()
    const answer = await stage.call('/v1/email', { key: account.test, body: { email } })
    expect(answer.status).toBe(status)
    expect(answer.headers.get('retry-after')).toBe(retryAfter)
    const id = answer.headers.get('x-request-id') ?? ''
    const lines = async (): Promise<readonly string[]> =>
      (await stage.log()).split('\n').filter((line) => line.includes(id))
    await expect.poll(lines).toContainEqual(expect.stringContaining('"msg":"request"'))
    expect(await lines()).toHaveLength(1)
  })

  test('a magic refusal has the message of the real one', async () => {
    const poor = await stage.account({ credits: 0 })
    const magic = { email: 'status-402@magic.test' }
    const rehearsed = await stage.call('/v1/email', { key: poor.test, body: magic })
    const earnest = await stage.call('/v1/email', { key: poor.live, body: bodyOf('email') })
    expect([rehearsed.status, rehearsed.text]).toEqual([402, earnest.text])
    expect(rehearsed.text).toMatch(/credits.*suffice.*top up.*upgrade the plan/)
  })

  test('slow@magic.test answers late', async () => {
    const account = await stage.account()
    const startedAt = performance.now()
    const body = { email: 'slow@magic.test' }
    expect((await stage.call('/v1/email', { key: account.test, body })).status).toBe(200)
    expect(performance.now() - startedAt).toBeGreaterThan(2_900)
  })

  test('are refused with 403 on the Free plan', async () => {
    const account = await stage.account()
    await stage.db.pool.query(`update accounts set plan = 'free' where id = $1`, [account.id])
    const answer = await stage.call('/v1/email', { key: account.test, body: '{' })
    expect(answer.status).toBe(403)
    expect(answer.json).toMatchObject({ error: 'Forbidden' })
    expect(answer.headers.get('ratelimit')).not.toBeNull()
    expect((await stage.call('/v1/account', { key: account.live })).status).toBe(200)
  })
})

/** Sends the head of a call; resolves when the API asks for its body, which `send` then sends. */
async function holdBack(
  path: string,
  { key, body, headers }: { key: string; body: object; headers: Record<string, string> },
): Promise<{ send(): Promise<number | undefined> }> {
  const text = JSON.stringify(body)
  const req = request(`${stage.url}${path}`, {
    method: 'POST',
    headers: {
      ...headers,
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      expect: '100-continue',
    },
  })
  req.flushHeaders()
  await onceEvent(req, 'continue')
  return {
    async send() {
      req.end(text)
      const [response] = (await onceEvent(req, 'response')) as [IncomingMessage]
      response.resume()
      return response.statusCode
    },
  }
}
