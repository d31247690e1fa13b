import { accountView } from '@plumbline/contract/account'
import { openApiDocument } from '@plumbline/contract/openapi'
import { listKeys } from '@plumbline/db/keys'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { reportWorker } from '@plumbline/db/workers'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { outcomeFor } from '@plumbline/testkit/instant-engines'
import { openApiHarness, type ApiHarness } from '@plumbline/testkit/api/harness'

let stage: ApiHarness
beforeAll(async () => {
  stage = await openApiHarness()
})
afterAll(() => stage[Symbol.asyncDispose]())

/** The bytes that a socket receives until the server closes it or they match `until`. */
async function raw(text: string, until: RegExp): Promise<string> {
  const { port } = new URL(stage.url)
  const socket = connect(Number(port), '127.0.0.1')
  let met = ''
  socket.setEncoding('utf8')
  socket.write(text)
  try {
    for await (const chunk of socket) {
      met += String(chunk)
      if (until.test(met)) break
    }
  } catch {
    // A connection that is cut ends what is received.
  }
  socket.destroy()
  return met
}

describe('GET /v1/account', () => {
  test('200 with plan, credits and limits', async () => {
    const { live } = await stage.account({ plan: 'starter', credits: 4_000 })
    const answer = await stage.call('/v1/account', { key: live })
    expect(answer.status).toBe(200)
    const view = accountView.parse(answer.json)
    expect(view).toMatchObject({
      plan: 'starter',
      credits: { allowance: 4_000, packs: 0, held: 0 },
      limits: {
        calls_per_second: 50,
        calls_burst: 100,
        body_bytes: 102_400,
        call_seconds: 15,
        hlr_numbers_per_day: 1000,
      },
    })
    expect(Date.parse(view.credits.resets_at)).toBeGreaterThan(Date.now())
    expect(answer.headers.get('x-credits-remaining')).toBe('4000')
  })

  test('an account without credits can still be read', async () => {
    const { live } = await stage.account({ credits: 0 })
    expect((await stage.call('/v1/account', { key: live })).status).toBe(200)
  })

  test('401 without a key, 405 for another method', async () => {
    expect((await stage.call('/v1/account')).status).toBe(401)
    const answer = await stage.call('/v1/account', { method: 'POST' })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  test('HEAD has the headers of GET and no body', async () => {
    const { live } = await stage.account()
    const answer = await stage.call('/v1/account', { key: live, method: 'HEAD' })
    expect([answer.status, answer.text]).toEqual([200, ''])
    expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(100)
  })
})

describe('the service itself', () => {
  test('reports health and readiness without a key', async () => {
    expect((await stage.call('/healthz')).json).toEqual({ status: 'ok' })
    expect((await stage.call('/readyz')).json).toEqual({ status: 'ready' })
  })

  test('serves its OpenAPI document, which has every served path', async () => {
    const answer = await stage.call('/openapi.json')
    const { paths, tags } = Object(answer.json)
    const told = tags.at(-1).description
    expect(told).toContain('accepted@magic.test')
    expect(answer.text).toBe(JSON.stringify(openApiDocument(told)))
    for (const path of Object.keys(paths)) {
      const described = Object.keys(paths[path]).map((method) => method.toUpperCase())
      const { headers, status } = await stage.call(path.replace('{id}', 'bat_x'), { method: 'PUT' })
      expect([path, status, headers.get('allow')?.replace('GET, HEAD', 'GET').split(', ')]).toEqual(
        [path, 405, described],
      )
    }
  })

  test('its OpenAPI document tells which paths refuse an unknown query', async () => {
    const { live } = await stage.account({ plan: 'pro' })
    const ids = { webhooks: 'whk_x', erase: 'ers_x', lookups: 'lkp_x', batches: 'bat_x' }
    const { paths } = Object((await stage.call('/openapi.json')).json)
    const silent: string[] = []
    for (const [path, methods] of Object.entries<Record<string, { responses: object }>>(paths)) {
      const id = Object.entries(ids).find(([name]) => path.includes(name))?.[1] ?? 'x'
      const asked = `${path.replace('{id}', id).replace('{delivery}', 'msg_x')}?unknown=1`
      for (const [method, { responses }] of Object.entries(methods)) {
        if ('400' in responses) continue
        const { status } = await stage.call(asked, { method: method.toUpperCase(), key: live })
        if (status === 400) silent.push(`${method} ${path}`)
      }
    }
    expect(silent).toEqual([])
  })

  test('the reference page loads nothing from other hosts', async () => {
    const page = await stage.call('/docs')
    expect(page.headers.has('strict-transport-security')).toBe(false)
    expect(page.status).toBe(200)
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    const links = Array.from(page.text.matchAll(/(?:src|href)="([^"]+)"/g), ([, link = '']) => link)
    expect(links).toHaveLength(5)
    for (const link of links) {
      expect(link).toMatch(/^\/docs\/[\w.-]+$/)
      const asset = await stage.call(link)
      expect([link, asset.status, asset.headers.get('x-request-id')]).toEqual([
        link,
        200,
        expect.any(String),
      ])
    }
    expect((await stage.call('/docs/package.json')).status).toBe(404)
    expect((await stage.call('/docs/..%2fpackage.json')).status).toBe(404)
  })

  test('the reference page accepts no other method than GET', async () => {
    const paths = ['/docs', '/docs/', '/docs/start.js', '/docs/page.css', '/docs/swagger-ui.css']
    for (const path of paths) {
      for (const method of ['OPTIONS', 'POST', 'PUT', 'DELETE']) {
        const answer = await stage.call(path, { method })
        expect([path, method, answer.status, answer.headers.get('allow')]).toEqual([
          path,
          method,
          405,
          'GET, HEAD',
        ])
        expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
        expect(answer.json).toEqual({
          error: 'Method Not Allowed',
          message: 'This path takes GET, HEAD.',
        })
      }
      expect((await stage.call(path, { method: 'HEAD' })).status).toBe(200)
    }
    expect((await stage.call('/docs/package.json', { method: 'POST' })).status).toBe(404)
  })

  test('the admin port shows metrics and details of readiness, the public port does not', async () => {
    const shut = { name: 'smtp port 25', status: 'failed', detail: 'shut' } as const
    await reportWorker(stage.db, { name: 'host:7', kind: 'email', health: [shut] })
    expect(await auditLedger(stage.db)).toEqual([])
    await stage.db.pool.query(
      `insert into budgets (name, day, spent)
       select name, (now() at time zone 'utc')::date, spent from (values ('hlr:infobip', 7),
         ('hlr:account:one', 1000), ('hlr:account:two', 3)) as b(name, spent)`,
    )
    const metrics = await (await fetch(`${stage.adminUrl}/metrics`)).text()
    expect(metrics).not.toContain('hlr:account:')
    for (const name of [
      'http_requests_total',
      'queue_jobs{queue="live-email"',
      'batch_open_chunks',
      'batch_claimable_tasks{check="email"} 0',
      'batch_waiting_tasks{check="email"} 0',
      'batch_backlog_age_seconds{check="domain"} 0',
      'reconciler_healed',
      'hlr_provider_paused{provider="infobip"} 0',
      'budget_spent_today{budget="hlr:infobip"} 7',
      'hlr_accounts_today{state="buying"} 2',
      'hlr_accounts_today{state="capped"} 1',
      'workers{kind="email"} 1',
      'workers{kind="batch"} 0',
      'worker_health{worker="host:7",kind="email",name="smtp port 25"} 0',
      'ledger_audit_faults 0',
      'ledger_audit_age_seconds{audit="last"}',
      'ledger_audit_age_seconds{audit="whole"}',
    ]) {
      expect(metrics).toContain(name)
    }
    const ready = await fetch(`${stage.adminUrl}/readyz`)
    expect(await ready.json()).toMatchObject({
      ready: true,
      checks: [{ name: 'database' }, { name: 'queue' }, { name: 'running' }],
      workers: [{ name: 'host:7', kind: 'email', health: [shut] }],
    })
    expect((await stage.call('/metrics')).status).toBe(404)
  })
})

describe('the log', () => {
  test('has a line for each request, and neither subjects nor keys', async () => {
    await using watched = await openApiHarness()
    const planted = 'planted-ada@example.com'
    const account = await watched.account()
    const body = { email: planted }
    const agent = `curl/8 \u00ff"${'y'.repeat(300)}`
    const headers = { 'idempotency-key': 'planted-key', 'user-agent': agent }
    const answer = await watched.call('/v1/email', { key: account.live, body, headers })
    await watched.call(`/v1/email?x=${planted}`, { key: account.live, body })
    await watched.call('/v1/email', { key: account.live, body: `{"e": "${planted}"` })
    await watched.call(`/v1/${planted}`, { key: account.test, body: { [planted]: 1 } })
    await watched.call(`/v1/batches/${planted}`, { key: account.live })
    await watched.call('/v1/account', { key: `${account.live.slice(0, -1)}x` })
    watched.answer = () => Promise.reject(new Error('broken'))
    await watched.call('/v1/email', { key: account.live, body })
    const id = answer.headers.get('x-request-id')
    await expect.poll(async () => (await watched.log()).split('"msg":"request"').length).toBe(8)
    const log = await watched.log()
    expect(log).toContain(`"request_id":"${id}","method":"POST","route":"/v1/email","status":200`)
    expect(log).toContain('"refusal":"internal"')
    const { record } = lineOf(log, id)
    const [key] = (await listKeys(watched.db, account.id)).filter(({ mode }) => mode === 'live')
    expect(record).toMatchObject({
      account: account.id,
      key_id: key?.id,
      address: '127.0.0.1',
      user_agent: `curl/8 \\u00ff"${'y'.repeat(191)}`,
    })
    for (const secret of ['planted', account.live, account.test, account.live.slice(0, 20)]) {
      expect(log).not.toContain(secret)
    }
  })
})

/** The log line of a request. */
function lineOf(log: string, id: string | null): { record: unknown } {
  const line = log
    .split('\n')
    .find((text) => text.includes(`"request_id":"${id}"`) && text.includes('"msg":"request"'))
  return { record: JSON.parse(line ?? 'null') }
}

describe('HTTP', () => {
  test('several keys in one header, and smuggled lengths, are refused', async () => {
    const smuggled =
      'POST /v1/email HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'
    expect(await raw(smuggled, /\r\n\r\n/)).toMatch(/^HTTP\/1\.1 400 /)
    const twice =
      'GET /v1/account HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n'
    expect(await raw(twice, /\r\n\r\n/)).toMatch(/^HTTP\/1\.1 40[01] /)
  })
})

describe('a stop', () => {
  test('is first shown on /readyz, lets running calls end, and completes pending writes', async () => {
    await using ending = await openApiHarness({ DRAIN_SECONDS: '10' })
    const { promise: free, resolve: letGo } = Promise.withResolvers<void>()
    ending.answer = async (check, subject) => {
      await free
      return outcomeFor(check, subject)
    }
    const account = await ending.account({ credits: 5 })
    const running = ending.call('/v1/email', { key: account.live, body: { email: 'a@b.example' } })
    await expect.poll(() => ending.asked.length).toBe(1)
    ending.stop()
    const readiness = await ending.call('/readyz')
    expect([readiness.status, readiness.headers.get('retry-after')]).toEqual([503, '5'])
    expect(readiness.headers.get('connection')).toBe('close')
    letGo()
    expect((await running).status).toBe(200)
    await ending.close()
    const { rows } = await ending.db.pool.query('select from credit_unanswered')
    expect(rows).toEqual([])
    expect(await ending.metering.remaining(account.id)).toBe(4)
    const keys = await listKeys(ending.db, account.id)
    expect(keys.map(({ mode, lastUsedAt }) => [mode, lastUsedAt !== null])).toEqual(
      expect.arrayContaining([
        ['live', true],
        ['test', false],
      ]),
    )
  })

  test('ends event streams', async () => {
    await using ending = await openApiHarness()
    const { live } = await ending.account()
    const body = { product: 'email', records: [{ email: 'a@b.example' }] }
    const created = await ending.call('/v1/batches', { key: live, body })
    const response = await fetch(`${ending.url}${created.headers.get('location')}/events`, {
      headers: { authorization: `Bearer ${live}` },
    })
    ending.stop()
    expect(await response.text()).not.toContain('event: end')
  })
})

describe('refusals by the HTTP server itself', () => {
  test.each([
    ['no HTTP at all', 'HELO mail\r\n\r\n', 400],
    ['a request without host', 'GET /healthz HTTP/1.1\r\n\r\n', 400],
    [
      'two lengths',
      'POST /v1/ip HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      400,
    ],
    ['huge headers', `GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['an odd expectation', 'GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n', 417],
  ])('%s is answered in the shape of all refusals', async (_name, text, status) => {
    const answer = await raw(text, /\r\n\r\n\{.*\}$/s)
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(answer).toMatch(/^x-request-id: [0-9a-f-]{36}\r$/im)
    expect(answer).toMatch(/^content-type: application\/json/im)
    const body: unknown = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))
    expect(body).toEqual({ error: expect.any(String), message: expect.any(String) })
  })
})
