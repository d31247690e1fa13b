import { readBalance } from '@plumbline/metering/balance'
import { readSpending } from '@plumbline/metering/spending'
import { listAudit } from '@plumbline/db/audit-log'
import { getAccount } from '@plumbline/db/accounts'
import { storeDoctorReport } from '@plumbline/db/doctor-report'
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
  operator = await newUser('ada@one.example')
  stranger = await newUser('eve@two.example')
  await api.db.kysely.transaction().execute((tx) => setOperator(tx, operator.userId, true))
})
afterAll(() => api[Symbol.asyncDispose]())

async function newUser(email: string): Promise<TestBrowser & { userId: string }> {
  const browser = openBrowser(api)
  await browser.app('signUp', { name: 'Ada', email, password: 'tidal lantern cactus seven' })
  const { json: answer } = await browser.app('readSession')
  return Object.assign(browser, { userId: answer.user?.id ?? '' })
}

interface Seen {
  readonly status: number
  readonly text: string
  readonly headers: Headers
}

/**
 * Sends a request to the admin port like a browser, with the cookies of the app, which browsers
 * send to every port of a host.
 */
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

const PAGES = [
  '',
  '/plans',
  '/plans/pro',
  '/packs/growth',
  '/queues',
  '/workers',
  '/audit',
  '?search=one.example',
]

/** The entry of the menu that is marked on a page. */
function placeOf(path: string): string {
  if (/^\/(?:plans|packs)/.test(path)) return '/operator/plans'
  return `/operator${path.replace(/\?.*/, '')}`
}

describe('the pages', () => {
  test.each(PAGES)('/operator%s is for signed-in operators only', async (path) => {
    const seen = await ask(operator, `/operator${path}`)
    expect([seen.status, seen.text]).toEqual([200, expect.stringContaining('<h1>')])
    const marked = /<a href="([^"]+)" aria-current="page">/.exec(seen.text)?.[1] ?? ''
    expect([path, marked]).toEqual([path, placeOf(path)])
    expect(seen.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect((await ask(stranger, `/operator${path}`)).status).toBe(403)
    expect((await ask({ cookie: '' }, `/operator${path}`)).status).toBe(401)
  })

  test('accounts are found by a part of their address, which is escaped', async () => {
    const { id } = await api.account({ plan: 'starter' })
    const hostile = '"><script>alert(1)</script>'
    await api.db.pool.query('update accounts set email = $2 where id = $1', [id, `${hostile}@x.y`])
    const search = encodeURIComponent(hostile)
    const { text } = await ask(operator, `/operator?search=${search}`)
    expect(text).toContain(`/operator/accounts/${id}`)
    expect(text).not.toContain('<script>')
    expect((await ask(operator, `/operator/accounts/${id}`)).text).not.toContain('<script>')
  })

  test('the last findings of doctor are shown with machine and time, escaped', async () => {
    expect((await ask(operator, '/operator/workers')).text).toContain('Nobody asked')
    const finding = { name: 'smtp port 25', status: 'failed', detail: '<script>x' } as const
    const at = '2026-11-01T10:00:00.000Z'
    const findings = [{ ...finding, advice: 'Ask your provider.' }]
    await storeDoctorReport(api.db, { at, machine: 'node-7', findings })
    const { text } = await ask(operator, '/operator/workers')
    expect(text).toMatch(/asked on node-7 at 2026-11-01T10:00:00\.000Z/)
    expect(text).toContain('&lt;script&gt;x')
    expect(text).toContain('Ask your provider.')
  })

  test('a browser opens them on another address with the token as password', async () => {
    const token = 'token-of-the-operator'
    await using elsewhere = await openApiHarness({ ADMIN_HOST: '0.0.0.0', ADMIN_TOKEN: token })
    const browser = openBrowser(elsewhere)
    const password = 'tidal lantern cactus seven'
    await browser.app('signUp', { name: 'Ada', email: 'ada@one.example', password })
    const { user } = (await browser.app('readSession')).json
    await elsewhere.db.kysely.transaction().execute((tx) => setOperator(tx, user?.id ?? '', true))
    const url = `${elsewhere.adminUrl}/operator`
    const authorization = `Basic ${Buffer.from(`ada:${token}`).toString('base64')}`
    const { cookie } = browser
    expect((await fetch(url, { headers: { cookie } })).status).toBe(401)
    expect((await fetch(url, { headers: { authorization } })).status).toBe(401)
    expect((await fetch(url, { headers: { authorization, cookie } })).status).toBe(200)
    const form = { id: 'acc_aaaaaaaaaaaaaaab', email: 'owner@made.example', plan: 'starter' }
    const sent = async (site: string): Promise<number> => {
      const headers = { authorization, cookie, 'sec-fetch-site': site }
      const body = new URLSearchParams(form)
      return (await fetch(`${url}/accounts`, { method: 'POST', headers, body })).status
    }
    expect([await sent('cross-site'), await sent('same-site')]).toEqual([403, 403])
    expect(await sent('same-origin')).toBe(200)
  })

  test('are not on the public port, and unknown paths are 404', async () => {
    expect((await operator.call('/operator')).status).toBe(404)
    expect((await ask(operator, '/operator/none')).status).toBe(404)
    expect((await ask(operator, '/operator/accounts/acc_none')).status).toBe(404)
  })
})

describe('the acts', () => {
  test('grant, pack, plan, limits and state take effect and are logged with the actor', async () => {
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
    const trail = (await ask(operator, '/operator/audit')).text
    for (const sentence of [
      'Goodwill: 500 credits added; 500 of packs and goodwill now.',
      'Limits: calls a second none became 7.',
      'Account suspended: unpaid',
      'ada@one.example',
    ]) {
      expect(trail).toContain(`<div>${sentence}</div>`)
    }
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

  test('an account is created once with its keys, its spending limited, and keys are replaced and revoked', async () => {
    const id = 'acc_aaaaaaaaaaaaaaaa'
    const form = { id, email: 'owner@made.example', plan: 'starter' }
    const made = await ask(operator, '/operator/accounts', form)
    const [live = '', testKey = ''] = made.text.match(/svc_(?:live|test)_\w+/g) ?? []
    expect([made.status, live, testKey]).toEqual([
      200,
      expect.stringMatching(/^svc_live_/),
      expect.stringMatching(/^svc_test_/),
    ])
    expect((await ask(operator, '/operator/accounts', form)).status).toBe(409)
    expect((await ask(operator, '/operator/accounts', { ...form, id: 'acc_1' })).status).toBe(400)
    expect((await ask(operator, '/operator/accounts', { ...form, email: 'x' })).status).toBe(400)
    const at = `/operator/accounts/${id}`
    await ask(operator, `${at}/spending`, { daily_limit: '0', low_mark: '' })
    expect(await readSpending(api.db, id)).toMatchObject({ dailyLimit: 0, lowMark: null })
    const replaced = await ask(operator, `${at}/create-key`, { mode: 'live' })
    expect(replaced.text).toMatch(/role="status">The key is svc_live_\w+/)
    expect(replaced.text).not.toContain(live)
    const revoked = async (mode: string): Promise<string> =>
      (await ask(operator, `${at}/revoke-key`, { mode })).text
    expect(await revoked('test')).toContain('is revoked')
    expect(await revoked('test')).toContain('no active test key')
    expect(await revoked('both')).toContain('Mode is one of live, test.')
    const log = await listAudit(api.db, { accountId: id, limit: 20 })
    expect(log.map(({ action }) => action).toReversed()).toEqual([
      'account.create',
      'key.create',
      'key.create',
      'account.spending',
      'key.create',
      'key.revoke',
    ])
  })

  test('sessions of one member are ended without others, and then those of everybody', async () => {
    const other = await newUser('ann@three.example')
    const third = await newUser('bob@four.example')
    const [own] = (await other.app('readSession')).json.accounts
    const at = `/operator/accounts/${own?.id ?? ''}`
    expect((await ask(operator, at)).text).toContain('ann@three.example')
    const none = await ask(operator, `${at}/sign-out`, { user: third.userId })
    expect(none.text).toContain('no such member')
    const ended = await ask(operator, `${at}/sign-out`, { user: other.userId })
    expect(ended.text).toContain('1 session has ended.')
    expect((await other.app('readSession')).json.user).toBeNull()
    expect((await third.app('readSession')).json.user).not.toBeNull()
    expect((await ask(operator, '/operator/sign-out', { confirm: 'all' })).status).toBe(400)
    expect((await ask(stranger, '/operator/sign-out', { confirm: 'everybody' })).status).toBe(403)
    const all = await ask(operator, '/operator/sign-out', { confirm: 'everybody' })
    expect(all.text).toMatch(/[3-9] sessions have ended/)
    expect((await ask(operator, '/operator')).status).toBe(401)
    const [newest] = await listAudit(api.db, { accountId: undefined, limit: 1 })
    expect(newest).toMatchObject({ actor: operator.userId, action: 'user.sign_out' })
    for (const email of ['ada@one.example', 'eve@two.example']) {
      const browser = email.startsWith('ada') ? operator : stranger
      await browser.app('signIn', { email, password: 'tidal lantern cactus seven' })
    }
  })

  test('a plan and a pack are created and changed, and each change is in the audit log with the changed fields', async () => {
    const said = async (path: string, form: Readonly<Record<string, string>>): Promise<string> => {
      const { text } = await ask(operator, `/operator/${path}`, form)
      return /role="status">([^<]*)</.exec(text)?.[1] ?? ''
    }
    const plan = {
      name: 'large-1',
      monthly_credits: '90000',
      price_cents: '249.90',
      test_keys: 'yes',
      is_offered: 'yes',
      position: '7',
      hlr_numbers_per_day: '0',
    }
    expect(await said('plans', plan)).toBe('The plan large-1 is made.')
    expect(await said('plans', plan)).toContain('There is a plan large-1 already')
    expect(await said('plans', { ...plan, name: 'Big!' })).toContain('lower-case letters')
    expect(await said('plans', { ...plan, name: 'none', monthly_credits: '' })).toContain('empty')
    const shown = await ask(operator, '/operator/plans/large-1')
    const seen = /name="seen" value="(\w+)"/.exec(shown.text)?.[1] ?? ''
    const changed = { ...plan, seen, price_cents: '', calls_per_second: '80' }
    expect(await said('plans/large-1', { ...changed, calls_per_second: '-1' })).toContain('whole')
    expect(await said('plans/large-1', { ...changed, price_cents: '1e3' })).toContain('24.90')
    expect(await said('plans/large-1', changed)).toBe('The plan large-1 is changed.')
    expect(await said('plans/large-1', changed)).toContain('changed meanwhile')
    expect(await said('packs', { ...plan, name: 'small-1', credits: '100' })).toContain('is made')
    const [newest, before] = await listAudit(api.db, { accountId: undefined, limit: 2 })
    expect(newest).toMatchObject({ actor: operator.userId, action: 'pack.change', before: null })
    expect(before).toMatchObject({
      actor: operator.userId,
      action: 'plan.change',
      before: { price_cents: 24_990, calls_per_second: null, hlr_numbers_per_day: 0 },
      after: { price_cents: null, calls_per_second: 80, monthly_credits: 90_000 },
    })
    const again = await ask(operator, '/operator/plans/large-1')
    const now = /name="seen" value="(\w+)"/.exec(again.text)?.[1] ?? ''
    expect(await said('plans/large-1', { ...changed, seen: now })).toBe('Nothing was changed.')
    for (const path of ['plans/none', 'packs/none']) {
      expect((await ask(operator, `/operator/${path}`)).status).toBe(404)
      expect((await ask(operator, `/operator/${path}`, { seen: 'x' })).status).toBe(404)
      expect((await ask(stranger, `/operator/${path}`, { seen: 'x' })).status).toBe(403)
    }
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

  test('a user who is no operator is refused', async () => {
    const { id } = await api.account({ plan: 'free' })
    for (const who of [stranger, { cookie: '' }]) {
      const form = { credits: '1', ref: '0e7f4f0e-6f5e-4a44-9d3c-333333333333' }
      expect((await ask(who, `/operator/accounts/${id}/grant`, form)).status).toBeGreaterThan(400)
    }
    expect(await readBalance(api.db, id)).toMatchObject({ packs: 0 })
  })
})
