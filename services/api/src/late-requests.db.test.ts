import { once } from 'node:events'
import { connect } from 'node:net'
import { lockAccount } from '@plumbline/db/accounts'
import { inTransaction } from '@plumbline/db/database'
import { removeMember } from '@plumbline/db/people/members'
import { allowAnyTransition } from '@plumbline/testkit/any-transition'
import { openBrowser } from '@plumbline/testkit/api/browser'
import { openApiHarness, type ApiHarness } from '@plumbline/testkit/api/harness'
import { PATIENT } from '@plumbline/testkit/patience'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LATE_MS } from './access.ts'

const password = 'tidal lantern cactus seven'
const HOOK = { url: 'https://hooks.example/', events: ['batch.completed'] }

let stage: ApiHarness
beforeAll(async () => {
  stage = await openApiHarness({
    REQUESTS_PER_ACCOUNT: '1',
    RATE_LIMIT_BURST: '10000',
    SIGN_UPS_PER_NETWORK: '100',
    SIGN_UPS_PER_MAIL_DOMAIN: '100',
  })
})
afterAll(() => stage[Symbol.asyncDispose]())

/** A request that was admitted, and whose body is held back. */
async function heldBack(path: string, header: string, body: object) {
  const text = JSON.stringify(body)
  const socket = connect(Number(new URL(stage.url).port), '127.0.0.1')
  let received = ''
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()))
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nExpect: 100-continue\r\n` +
      `${header}\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n`,
  )
  await expect.poll(() => received, PATIENT).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  const admittedAt = performance.now()
  return {
    statusOfRest: async (): Promise<number> => {
      await expect.poll(() => performance.now() - admittedAt, PATIENT).toBeGreaterThan(LATE_MS)
      const closed = once(socket, 'close')
      socket.write(text)
      await closed
      return Number(/\r\n\r\nHTTP\/1\.1 (\d{3}) /.exec(received)?.[1])
    },
    [Symbol.dispose]: () => void socket.destroy(),
  }
}

/** Revokes all keys of an account, and waits until they are refused. */
async function revoke({ id, live }: { id: string; live: string }): Promise<void> {
  await stage.db.pool.query('update api_keys set revoked_at = now() where account_id = $1', [id])
  await refusedWith(401, (path, init) => stage.call(path, { key: live, ...init }))
}

/** Waits until a call that changes nothing, and waits for no other of its account, is refused. */
async function refusedWith(status: number, call: ApiHarness['call']): Promise<void> {
  await expect
    .poll(async () => (await call('/v1/email', { body: {} })).status, PATIENT)
    .toBe(status)
}

/** Statements that wait for a lock. */
const WAITING = "pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"

const countOf = async (table: string): Promise<number> =>
  (await stage.db.pool.query(`select from ${table}`)).rowCount ?? 0

test.each([
  ['/v1/email', { email: 'ada@example.com' }],
  ['/v1/webhooks', HOOK],
  ['/v1/erase', { email: ['ada@example.com'] }],
])('a request to %s whose key was revoked before its body came is refused', async (path, body) => {
  const account = await stage.account()
  const before = await stage.metering.remaining(account.id)
  using held = await heldBack(path, `Authorization: Bearer ${account.live}`, body)
  await revoke(account)
  expect(await held.statusOfRest()).toBe(401)
  expect(await stage.metering.remaining(account.id)).toBe(before)
  expect([await countOf('webhook_endpoints'), await countOf('erasures')]).toEqual([0, 0])
})

test('without credits, too, a revoked key is refused as that', async () => {
  const account = await stage.account({ credits: 0 })
  const header = `Authorization: Bearer ${account.live}`
  using held = await heldBack('/v1/batches/bat_1/recheck', header, { only: ['unknown'] })
  await revoke(account)
  expect(await held.statusOfRest()).toBe(401)
})

test.each([
  ['suspended', "update accounts set status = 'suspended'"],
  ['on a plan without test keys', "update accounts set plan = 'free'"],
])(
  'a request of an account that is %s since, before its body came, is refused',
  async (_, change) => {
    const account = await stage.account({ plan: 'pro' })
    using held = await heldBack('/v1/webhooks', `Authorization: Bearer ${account.test}`, HOOK)
    await stage.db.pool.query(`${change} where id = $1`, [account.id])
    await refusedWith(403, (path, init) => stage.call(path, { key: account.test, ...init }))
    expect(await held.statusOfRest()).toBe(403)
    expect(await countOf(`webhook_endpoints where account_id = '${account.id}'`)).toBe(0)
  },
)

test('a wait for a lookup ends with a refusal if the key is revoked meanwhile', async () => {
  const account = await stage.account()
  const begun = await stage.call('/v1/email', {
    key: account.live,
    body: { email: 'ada@example.com' },
    headers: { prefer: 'respond-async' },
  })
  const { id } = Object.assign({ id: '' }, begun.json)
  const waiting = stage.call(`/v1/lookups/${id}?wait=30`, { key: account.live })
  await revoke(account)
  const done = "update batches set status = 'failed' where is_lookup and account_id = $1"
  await allowAnyTransition(stage.db)
  await stage.db.pool.query(done, [account.id])
  expect((await waiting).status).toBe(401)
})

test('a comparison is refused if the key is revoked while both batches are read', async () => {
  const account = await stage.account()
  const key = account.live
  const ids: string[] = []
  for (const email of ['ada@example.com', 'bob@example.com']) {
    const body = { product: 'email', start: false, records: [{ email }] }
    const { json } = await stage.call('/v1/batches', { key, body })
    ids.push(Object.assign({ id: '' }, json).id)
  }
  await allowAnyTransition(stage.db)
  const ended = "update batches set status = 'completed' where account_id = $1"
  await stage.db.pool.query(ended, [account.id])
  const path = `/v1/batches/${ids[0]}/compare?with=${ids[1]}`
  expect((await stage.call(path, { key })).status).toBe(200)
  const locking = await stage.db.pool.connect()
  await locking.query('begin; lock table batches in access exclusive mode')
  const comparing = stage.call(path, { key })
  await expect.poll(() => countOf(WAITING), PATIENT).toBeGreaterThan(0)
  await revoke(account)
  await locking.query('rollback')
  locking.release()
  expect((await comparing).status).toBe(401)
})

test('a request whose key was revoked while it waited for another is refused', async () => {
  const account = await stage.account()
  const key = account.live
  const { json } = await stage.call('/v1/webhooks', { key, body: HOOK })
  const path = `/v1/webhooks/${Object.assign({ id: '' }, json).id}`
  using held = await heldBack('/v1/webhooks', `Authorization: Bearer ${key}`, HOOK)
  const waiting = stage.call(path, { key, method: 'DELETE' })
  await revoke(account)
  expect([await held.statusOfRest(), (await waiting).status]).toEqual([401, 401])
  expect(await countOf('webhook_endpoints')).toBe(1)
})

test.each([
  ['a member', 'creating a key', '/app/api/keys', 'POST', { mode: 'live' }],
  ['an owner', 'changing settings', '/app/api/account', 'PATCH', { requires_second_factor: false }],
  [
    'an owner',
    'setting a spending limit',
    '/app/api/account',
    'PATCH',
    { daily_spending_limit: 1 },
  ],
  ['an owner', 'closing it', '/app/api/account', 'DELETE', { password, confirm_name: 'Eve' }],
] as const)('%s who is removed from an account while %s has not done it', async (...row) => {
  const [, , path, method, body] = row
  const browser = openBrowser(stage)
  const email = `${crypto.randomUUID()}@company.example`
  await browser.app('signUp', { name: 'Eve', email, password })
  const { json } = await browser.app('readSession')
  const id = json.account?.id ?? ''
  const before = await countOf('api_keys')
  let making: ReturnType<typeof browser.call> | undefined
  await inTransaction(stage.db, async (tx) => {
    await lockAccount(tx, id)
    making = browser.call(path, { method, body })
    await expect.poll(() => countOf(WAITING), PATIENT).toBe(1)
    await removeMember(tx, id, json.user?.id ?? '')
  })
  expect((await making)?.status).toBe(403)
  expect(await countOf('api_keys')).toBe(before)
  expect(await countOf(`accounts where id = '${id}' and status = 'active'`)).toBe(1)
  expect(await countOf(`audit_log where account_id = '${id}' and action like 'account.s%'`)).toBe(0)
})

test('a request of a session that ended, or lost its role, before its body came is refused', async () => {
  const browser = openBrowser(stage)
  await browser.app('signUp', { name: 'Ada', email: 'ada@company.example', password })
  const header = `Cookie: ${browser.cookie}\r\nSec-Fetch-Site: same-origin`
  const before = await countOf('api_keys')
  const changes = [
    ["update members set role = 'viewer' where role = 'owner'", 403],
    ['delete from sessions', 401],
  ] as const
  for (const [change, status] of changes) {
    await stage.db.pool.query("update members set role = 'owner'")
    await refusedWith(400, browser.call)
    using held = await heldBack('/app/api/keys', header, { mode: 'live' })
    await stage.db.pool.query(change)
    await refusedWith(status, browser.call)
    expect(await held.statusOfRest()).toBe(status)
  }
  expect(await countOf('api_keys')).toBe(before)
})

test.each([
  [
    'an erasure of an owner who is a member since',
    '/v1/erase',
    "update members set role = 'member'",
  ],
  [
    'a change by a member of an account that asks for a second factor since',
    '/v1/webhooks',
    'update accounts set requires_second_factor = true',
  ],
])('%s, before its body came, is refused', async (_, path, change) => {
  const browser = openBrowser(stage)
  const email = `${crypto.randomUUID()}@company.example`
  await browser.app('signUp', { name: 'Bea', email, password })
  const { json } = await browser.app('readSession')
  const id = json.account?.id ?? ''
  const header = `Cookie: ${browser.cookie}\r\nSec-Fetch-Site: same-origin`
  const body = path === '/v1/erase' ? { email: ['ada@example.com'] } : HOOK
  using held = await heldBack(path, header, body)
  const where = change.includes('members') ? 'account_id' : 'id'
  await stage.db.pool.query(`${change} where ${where} = $1`, [id])
  // It empties the cache of sessions, and waits for no other request.
  await openBrowser(stage).app('signOut')
  expect(await held.statusOfRest()).toBe(403)
  expect(await countOf(`erasures where account_id = '${id}'`)).toBe(0)
  expect(await countOf(`webhook_endpoints where account_id = '${id}'`)).toBe(0)
})
