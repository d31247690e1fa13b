import { createAccount } from '@plumbline/db/accounts'
import { inTransaction } from '@plumbline/db/database'
import { writeMailDomainLists } from '@plumbline/db/mail-domain-lists'
import { noteFreeMailbox } from '@plumbline/db/people/free-mailboxes'
import { sweepFormerMailboxes } from '@plumbline/db/sweep-expired'
import { closeAccount } from '@plumbline/metering/administer'
import { openBrowser, type TestBrowser } from '@plumbline/testkit/api/browser'
import { openApiHarness } from '@plumbline/testkit/api/harness'
import { startRedis } from '@plumbline/testkit/redis'
import { WITHOUT_REDIS } from '@plumbline/testkit/without-redis'
import { expect, test } from 'vitest'

const PASSWORD = 'tidal lantern cactus seven'

test('a network may create five accounts a day, not counting refused ones; disposable domains none', async () => {
  await using api = await openApiHarness()
  await writeMailDomainLists(api.db, '1', () => ({
    disposable: ['throwaway.example'],
    free: ['free.example'],
  }))
  const sign = async (email: string, password = PASSWORD): Promise<number> =>
    (await openBrowser(api).app('signUp', { name: 'A', email, password })).status
  expect(await sign('a@throwaway.example')).toBe(422)
  expect(await sign('a@deep.throwaway.example')).toBe(422)
  expect(await sign('a@company.example', 'password1234')).toBe(422)
  const statuses = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => sign(`p${n}@free.example`)))
  expect(statuses.toSorted()).toEqual([200, 200, 200, 200, 200, 429])
  expect(await sign('p7@free.example')).toBe(429)
})

test('accounts a day with addresses of one domain are limited, except those of free providers', async () => {
  await using api = await openApiHarness({
    SIGN_UPS_PER_NETWORK: '100',
    SIGN_UPS_PER_MAIL_DOMAIN: '2',
  })
  await writeMailDomainLists(api.db, '1', () => ({ disposable: [], free: ['free.example'] }))
  const sign = async (email: string): Promise<number> =>
    (await openBrowser(api).app('signUp', { name: 'A', email, password: PASSWORD })).status
  expect([
    await sign('a@own.example'),
    await sign('b@OWN.example.'),
    await sign('c@own.example'),
  ]).toEqual([200, 200, 429])
  // Names below it are of the same owner, those below a free provider of their own.
  expect(await sign('d@wild.card.own.example')).toBe(429)
  expect([
    await sign('a@ada.free.example'),
    await sign('b@ada.free.example'),
    await sign('c@ada.free.example'),
    await sign('c@eve.free.example'),
  ]).toEqual([200, 200, 429, 200])
  expect([
    await sign('a@free.example'),
    await sign('b@free.example'),
    await sign('c@free.example'),
  ]).toEqual([200, 200, 200])
})

test('a sign-in from a new network needs no second connection to the database', async () => {
  // One connection for all but single calls.
  await using api = await openApiHarness({ TRUSTED_PROXIES: '127.0.0.1', DATABASE_POOL_SIZE: '4' })
  const from = (address: string): TestBrowser =>
    openBrowser(api, { 'x-forwarded-for': address, 'x-forwarded-proto': 'https' })
  const form = { email: 'ada@company.example', password: PASSWORD }
  const made = await from('192.0.2.1').app('signUp', { name: 'Ada', ...form })
  const again = await from('198.51.100.1').app('signIn', form)
  expect([made.status, again.status]).toEqual([200, 200])
})

test('an IPv6 /48 may create as many accounts a day as four networks', async () => {
  await using api = await openApiHarness({
    TRUSTED_PROXIES: '127.0.0.1',
    SIGN_UPS_PER_NETWORK: '1',
    SIGN_UPS_PER_MAIL_DOMAIN: '100',
  })
  const sign = async (address: string): Promise<number> => {
    const from = { 'x-forwarded-for': address, 'x-forwarded-proto': 'https' }
    const email = `${address.replaceAll(':', '-')}@company.example`
    const form = { name: 'A', email, password: PASSWORD }
    return (await openBrowser(api, from).app('signUp', form)).status
  }
  const statuses: number[] = []
  for (const network of ['1', '2', '2', '3', '4', '5', '6']) {
    statuses.push(await sign(`2001:db8:7:${network}::9`))
  }
  // An attempt that the limit of its network refuses does not count for the /48.
  expect(statuses).toEqual([200, 200, 429, 200, 200, 429, 429])
  expect(await sign('2001:db8:8:1::9')).toBe(200)
})

test.each(['Postgres', 'Redis'])(
  'on %s attempts to sign in are limited by user and network, successful ones included',
  async (backend) => {
    if (backend === 'Redis' && WITHOUT_REDIS) return
    await using stack = new AsyncDisposableStack()
    const redis = backend === 'Redis' ? await startRedis() : null
    if (redis !== null) stack.defer(() => redis.stop())
    await using api = await openApiHarness({
      SIGN_IN_TRIES: '3',
      ...(redis === null ? {} : { REDIS_URL: redis.url }),
    })
    const email = 'ada@company.example'
    await openBrowser(api).app('signUp', { name: 'Ada', email, password: PASSWORD })
    const tries = await Promise.all(
      Array.from({ length: 10 }, () =>
        openBrowser(api).app('signIn', { email, password: 'wrong wrong wrong' }),
      ),
    )
    const statuses = tries.map(({ status }) => status)
    expect(statuses.filter((status) => status === 401)).toHaveLength(3)
    expect(statuses.filter((status) => status === 429)).toHaveLength(7)
    expect((await openBrowser(api).app('signIn', { email, password: PASSWORD })).status).toBe(429)
    const other = { email: 'else@company.example', password: 'x' }
    expect((await openBrowser(api).app('signIn', other)).status).toBe(401)
  },
)

test('attempts from many networks do not lock a user out of the network where they are signed in', async () => {
  await using api = await openApiHarness({ TRUSTED_PROXIES: '127.0.0.1', SIGN_IN_TRIES: '1' })
  const email = 'ada@company.example'
  const at = (address: string): ReturnType<typeof openBrowser> =>
    openBrowser(api, { 'x-forwarded-for': address, 'x-forwarded-proto': 'https' })
  await at('192.0.2.1').app('signUp', { name: 'Ada', email, password: PASSWORD })
  const tries = await Promise.all(
    Array.from({ length: 12 }, (_, number) =>
      at(`198.51.100.${number}`).app('signIn', { email, password: 'wrong wrong wrong' }),
    ),
  )
  expect(tries.filter(({ status }) => status === 401)).toHaveLength(10)
  const right = { email, password: PASSWORD }
  expect((await at('203.0.113.1').app('signIn', right)).status).toBe(429)
  expect((await at('192.0.2.1').app('signIn', right)).status).toBe(200)
})

test.each([
  ['off', {}],
  ['invite', {}],
  ['open', { HOST: '0.0.0.0' }],
])('with SIGN_UP=%s and %o nobody signs up without an invitation', async (mode, more) => {
  await using api = await openApiHarness({ SIGN_UP: mode, ...more })
  const browser = openBrowser(api)
  const form = { name: 'A', email: 'a@company.example', password: PASSWORD }
  expect((await browser.app('signUp', form)).status).toBe(403)
  const { json: answer } = await browser.app('readSession')
  expect(answer.service.sign_up).toBe(mode === 'off' ? 'off' : 'invite')
})

test('a password is accepted only over TLS or from this machine', async () => {
  await using api = await openApiHarness({
    TRUSTED_PROXIES: '127.0.0.1',
    PUBLIC_URL: 'https://app.example.com',
  })
  const form = { name: 'A', email: 'a@company.example', password: PASSWORD }
  const away = { 'x-forwarded-for': '192.0.2.1' }
  const tls = openBrowser(api, { ...away, 'x-forwarded-proto': 'https' })
  const signedUp = await tls.app('signUp', form)
  expect(signedUp.headers.getSetCookie()).toEqual([
    expect.stringMatching(
      /^__Host-plumbline=[0-9A-Za-z]{40}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+; Secure$/,
    ),
  ])
  expect((await tls.app('readSession')).json.user).not.toBeNull()
  // The same cookie over plain HTTP signs nobody in.
  const plain = await api.call('/app/api/session', { headers: { cookie: tls.cookie } })
  expect(plain.json).toMatchObject({ user: null })
})

test('a mailbox gets no new free credits by closing its account, whatever its plus tag', async () => {
  await using api = await openApiHarness()
  const opened = async (
    email: string,
  ): Promise<{ id: string; credits: number; close(): Promise<void> }> => {
    const browser = openBrowser(api)
    await browser.app('signUp', { name: 'Ada', email, password: PASSWORD })
    const id = (await browser.app('readSession')).json.account?.id ?? ''
    const { rows } = await api.db.pool.query<{ credits: number }>(
      'select allowance::int as credits from credit_accounts where account_id = $1',
      [id],
    )
    const close = async (): Promise<void> => {
      await closeAccount(api.db, { actor: 'test', accountId: id })
    }
    return { id, credits: rows[0]?.credits ?? -1, close }
  }
  const closedDaysAgo = async (id: string, days: number): Promise<void> => {
    await api.db.pool.query(
      'update accounts set status_at = now() - make_interval(days => $2) where id = $1',
      [id, days],
    )
  }
  const first = await opened('ada@company.example')
  expect(first.credits).toBe(200)
  await first.close()
  const second = await opened('Ada+again@company.example')
  expect(second.credits).toBe(0)
  await second.close()
  // The first may be long gone: what counts is the newest, which has had a cycle of its own since.
  await closedDaysAgo(first.id, 40)
  const third = await opened('ada@company.example')
  expect(third.credits).toBe(0)
  await third.close()
  await closedDaysAgo(third.id, 32)
  expect((await opened('ada@company.example')).credits).toBe(200)
  expect((await opened('eve@company.example')).credits).toBe(200)

  const { rows } = await api.db.pool.query<{ digest: string }>('select digest from free_mailboxes')
  expect(rows).toHaveLength(2)
  expect(JSON.stringify(rows)).not.toContain('company')
})

test('the sweep deletes the record of a mailbox a month after its account, not before', async () => {
  await using api = await openApiHarness()
  const noted = async (closedDays: number | null): Promise<string> => {
    const { id } = await createAccount(api.db, { email: 'a@company.example', plan: 'free' })
    await inTransaction(api.db, (tx) => noteFreeMailbox(tx, `digest of ${id}`, id))
    if (closedDays !== null) {
      await api.db.pool.query(
        `update accounts set status = 'closed', status_at = now() - make_interval(days => $2) where id = $1`,
        [id, closedDays],
      )
    }
    return id
  }
  const open = await noted(null)
  const lately = await noted(30)
  await noted(32)
  await sweepFormerMailboxes(api.db, AbortSignal.timeout(60_000))
  const { rows } = await api.db.pool.query<{ account_id: string }>(
    'select account_id from free_mailboxes',
  )
  expect(rows.map(({ account_id: id }) => id).toSorted()).toEqual([open, lately].toSorted())
})
