import { readBalance } from '@plumbline/metering/balance'
import { listAudit } from '@plumbline/db/audit-log'
import { getAccount } from '@plumbline/db/accounts'
import { setOperator } from '@plumbline/db/people/users'
import { readOwnLimits } from '@plumbline/db/limits'
import { openBrowser, type TestBrowser } from '@plumbline/testkit/api/browser'
import { openApiHarness, type ApiHarness } from '@plumbline/testkit/api/harness'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

let api: ApiHarness
let operator: TestBrowser & { userId: string }
let stranger: TestBrowser & { userId: string }
beforeAll(async () => {
  api = await openApiHarness()
  operator = await person('ada@one.example')
  stranger = await person('eve@two.example')
  await api.db.kysely.transaction().execute((tx) => setOperator(tx, operator.userId, true))
})
afterAll(() => api[Symbol.asyncDispose]())

async function person(email: string): Promise<TestBrowser & { userId: string }> {
  const browser = openBrowser(api)
  await browser.app('signUp', { name: 'Ada', email, password: 'tidal lantern cactus seven' })
  const { answer } = await browser.app('readSession')
  return Object.assign(browser, { userId: answer.user?.id ?? '' })
}

interface Seen {
  readonly status: number
  readonly text: string
  readonly headers: Headers
}

/** Asks the admin port as a browser would, with the cookies of the app: they go to every port of a host. */
async function ask(
  { cookie }: { readonly cookie: string },
  path: string,
  form?: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = { 'sec-fetch-site': 'same-origin' },
): Promise<Seen> {
  const response = await fetch(`${api.adminUrl}${path}`, {
    headers: { cookie, ...headers },
    ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
  })
  return { status: response.status, text: await response.text(), headers: response.headers }
}

const PAGES = ['', '/plans', '/queues', '/workers', '/audit', '?search=one.example']

describe('the pages', () => {
  test.each(PAGES)('/operator%s is for a signed-in operator alone', async (path) => {
    const seen = await ask(operator, `/operator${path}`)
    expect([seen.status, seen.text]).toEqual([200, expect.stringContaining('<h1>')])
    expect(seen.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect((await ask(stranger, `/operator${path}`)).status).toBe(403)
    expect((await ask({ cookie: '' }, `/operator${path}`)).status).toBe(401)
  })

  test('accounts are found by a part of their address, which is shown as text', async () => {
    const { id } = await api.account({ plan: 'starter' })
    const hostile = '"><script>alert(1)</script>'
    await api.db.pool.query('update accounts set email = $2 where id = $1', [id, `${hostile}@x.y`])
    const search = encodeURIComponent(hostile)
    const { text } = await ask(operator, `/operator?search=${search}`)
    expect(text).toContain(`/operator/accounts/${id}`)
    expect(text).not.toContain('<script>')
    expect((await ask(operator, `/operator/accounts/${id}`)).text).not.toContain('<script>')
  })

  test('are not on the port of the service, and others are 404', async () => {
    expect((await operator.call('/operator')).status).toBe(404)
    expect((await ask(operator, '/operator/none')).status).toBe(404)
    expect((await ask(operator, '/operator/accounts/acc_none')).status).toBe(404)
  })
})

describe('the acts', () => {
  test('grant, pack, plan, limits and state take effect and leave who did it', async () => {
    const { id } = await api.account({ plan: 'free' })
    const at = `/operator/accounts/${id}`
    const ref = '0e7f4f0e-6f5e-4a44-9d3c-111111111111'
    const act = async (name: string, form: Readonly<Record<string, string>>): Promise<string> => {
      const { status, text } = await ask(operator, `${at}/${name}`, form)
      expect(status).toBe(200)
      return /role="status">([^<]*)</.exec(text)?.[1] ?? ''
    }
    expect(await act('grant', { credits: '500', ref })).toBe('500 credits were added.')
    expect(await act('grant', { credits: '500', ref })).toContain('was sent before')
    await act('pack', { pack: 'growth', ref: ref.replaceAll('1', '2') })
    await act('plan', { plan: 'pro' })
    await act('limits', { calls_per_second: '7', upload_rows: '' })
    expect(await act('limits', { calls_per_second: '0' })).toContain('whole number')
    expect(await act('plan', { plan: 'gold' })).toContain('free, starter, pro')
    expect(await act('suspend', { reason: 'unpaid' })).toContain('suspended')
    expect(await readBalance(api.db, id)).toMatchObject({ plan: 'pro', packs: 5_500 })
    expect(await readOwnLimits(api.db, id)).toMatchObject({ calls_per_second: 7 })
    expect(await getAccount(api.db, id)).toMatchObject({ status: 'suspended' })
    await act('resume', {})
    expect(await act('close', { confirm: 'yes' })).toContain('Type the id')
    await act('close', { confirm: id })
    expect(await getAccount(api.db, id)).toMatchObject({ status: 'closed' })
    const log = await listAudit(api.db, { accountId: id, limit: 20 })
    expect(log.map(({ action }) => action).toReversed()).toEqual([
      'account.grant',
      'account.pack',
      'account.plan',
      'account.limits',
      'account.suspend',
      'account.resume',
      'account.close',
    ])
    expect(new Set(log.map(({ actor }) => actor))).toEqual(new Set([operator.userId]))
  })

  test.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another port of this host', { 'sec-fetch-site': 'same-site' }],
    ['nobody knows where', {}],
    ['another origin', { origin: 'http://evil.example' }],
  ])('a form from %s is refused', async (_, headers) => {
    const { id } = await api.account({ plan: 'free' })
    const seen = await ask(operator, `/operator/accounts/${id}/close`, { confirm: id }, headers)
    expect(seen.status).toBe(403)
    expect(await getAccount(api.db, id)).toMatchObject({ status: 'active' })
  })

  test('who is no operator can do nothing', async () => {
    const { id } = await api.account({ plan: 'free' })
    for (const who of [stranger, { cookie: '' }]) {
      const form = { credits: '1', ref: '0e7f4f0e-6f5e-4a44-9d3c-333333333333' }
      expect((await ask(who, `/operator/accounts/${id}/grant`, form)).status).toBeGreaterThan(400)
    }
    expect(await readBalance(api.db, id)).toMatchObject({ packs: 0 })
  })
})
