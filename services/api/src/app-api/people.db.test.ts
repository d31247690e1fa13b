import { accountView } from '@plumbline/contract/account'
import { newKeyResponse } from '@plumbline/contract/app/keys'
import { sessionView } from '@plumbline/contract/app/session'
import { suspendAccount } from '@plumbline/metering/administer'
import { newAccessCode, newWelcomeCode } from '@plumbline/people/welcome'
import { openBrowser, type TestBrowser } from '@plumbline/testkit/api/browser'
import type { ApiHarness } from '@plumbline/testkit/api/harness'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newUserOf, openForUsers, PASSWORD } from './users-fixture.ts'

let api: ApiHarness
beforeAll(async () => {
  api = await openForUsers()
})
afterAll(() => api[Symbol.asyncDispose]())

let count = 0
const newUser = (name?: string) => newUserOf(api, name)

/** A user who joined another's account by an invitation. */
async function joined(
  owner: TestBrowser,
  role: 'owner' | 'member' | 'viewer',
): Promise<TestBrowser & { id: string }> {
  const email = `guest${(count += 1)}@company${count}.example`
  const { json: answer } = await owner.app('invite', { email, role })
  const invitation = new URL(answer.link ?? '').hash.slice(1)
  const browser = openBrowser(api)
  await browser.app('signUp', { name: 'Guest', email, password: PASSWORD, invitation })
  const session = await browser.app('readSession')
  return Object.assign(browser, { id: session.json.user?.id ?? '' })
}

describe('signing up without mail', () => {
  test('creates an account with 200 credits, a session, and no key', async () => {
    const browser = await newUser('Ada Lovelace')
    const session = sessionView.parse((await browser.app('readSession')).json)
    expect(session.user).toMatchObject({ name: 'Ada Lovelace', verified: false })
    expect(session.account).toMatchObject({ name: 'Ada Lovelace', role: 'owner', plan: 'free' })
    const account = await browser.call('/v1/account')
    expect(accountView.parse(account.json).credits.allowance).toBe(200)
    expect((await browser.app('listKeys')).json.data).toEqual([])
  })

  test('accepts an address once, whatever its plus tag', async () => {
    const { email } = await newUser()
    const again = await openBrowser(api).app('signUp', {
      name: 'Eve',
      email: email.replace('@', '+two@').toUpperCase(),
      password: PASSWORD,
    })
    expect([again.status, again.json]).toMatchObject([409, { error: 'Conflict' }])
  })

  test.each([
    ['password1234', 422],
    ['Sunshine2024!!', 422],
    ['abcabcabcabc', 422],
    ['short', 400],
    ['x'.repeat(257), 400],
  ])('refuses the password %s', async (password, status) => {
    const email = `p${(count += 1)}@company.example`
    const answer = await openBrowser(api).app('signUp', { name: 'A', email, password })
    expect(answer.status).toBe(status)
  })

  test.each([
    'a,b@company.example',
    '"a b"@company.example',
    'A <a@company.example',
    'a;b@company.example',
    'a@company.example,b',
    'a@b@company.example',
    'a@company.example\r\nBcc: b@company.example',
    'a@[127.0.0.1]',
  ])('refuses %j, which is no single address', async (email) => {
    const form = { name: 'A', email, password: PASSWORD }
    expect((await openBrowser(api).app('signUp', form)).status).toBe(400)
  })

  test('refuses a call that comes from another site', async () => {
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }]) {
      const browser = openBrowser(api, headers)
      const body = { name: 'A', email: 'a@b.example', password: PASSWORD }
      expect((await browser.app('signUp', body)).status).toBe(403)
    }
    const bare = await api.call('/app/api/sign-out', { method: 'POST' })
    expect(bare.status).toBe(403)
    const origin = { origin: api.url }
    expect((await api.call('/app/api/sign-out', { method: 'POST', headers: origin })).status).toBe(
      204,
    )
  })
})

describe('signing in', () => {
  test('an unknown address and a wrong password get the same message', async () => {
    const { email } = await newUser()
    const wrong = await openBrowser(api).app('signIn', { email, password: 'wrong wrong wrong' })
    const unknown = await openBrowser(api).app('signIn', {
      email: 'no@body.example',
      password: 'x',
    })
    expect([wrong.status, unknown.status]).toEqual([401, 401])
    expect(wrong.text).toBe(unknown.text)
  })

  test('a session is accepted by the routes for API keys, and ends everywhere at sign-out', async () => {
    const { email, cookie } = await newUser()
    const second = openBrowser(api)
    expect((await second.app('signIn', { email, password: PASSWORD })).json).toEqual({
      outcome: 'signed_in',
    })
    const looked = await second.call('/v1/email', { body: { email: 'a@example.com' } })
    expect(looked.status).toBe(200)
    await second.app('signOutEverywhere')
    await expect
      .poll(async () => (await api.call('/v1/account', { headers: { cookie } })).status)
      .toBe(401)
  })

  test('the cookie is HttpOnly, for this host only, with the root path', async () => {
    const { email } = await newUser()
    const answer = await openBrowser(api).app('signIn', { email, password: PASSWORD })
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^plumbline=[0-9A-Za-z]{40}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=2592000$/,
      ),
    ])
  })

  test('a request with a session that changes something must come from a page of the service', async () => {
    const { cookie } = await newUser()
    const body = { email: 'a@example.com' }
    const foreign = { cookie, 'sec-fetch-site': 'cross-site' }
    expect((await api.call('/v1/email', { body, headers: foreign })).status).toBe(403)
    expect((await api.call('/v1/email', { body, headers: { cookie } })).status).toBe(403)
    const own = { cookie, origin: api.url }
    expect((await api.call('/v1/email', { body, headers: own })).status).toBe(200)
  })

  test('a changed password ends the other sessions and gives this one a new secret', async () => {
    const browser = await newUser()
    const other = openBrowser(api)
    await other.app('signIn', { email: browser.email, password: PASSWORD })
    const before = browser.cookie
    const password = 'quiet marble otter ninety'
    const wrong = { current_password: 'not the one I have', password }
    expect((await browser.app('changePassword', wrong)).status).toBe(422)
    const changed = await browser.app('changePassword', { current_password: PASSWORD, password })
    expect(changed.status).toBe(204)
    expect(browser.cookie).not.toBe(before)
    expect((await browser.app('readSession')).json.user).not.toBeNull()
    expect((await other.app('readSession')).json.user).toBeNull()
    // As another window sends it while the browser has the former secret; removing that would remove
    // the new one, which is there when the response comes.
    const late = await api.call('/app/api/session', { headers: { cookie: before } })
    expect(late.json).toMatchObject({ user: null })
    expect(late.headers.getSetCookie()).toEqual([])
  })
})

test('signing in anew and signing out everywhere take effect at once, also for sessions that were just cached', async () => {
  const browser = await newUser()
  const other = openBrowser(api)
  const signIn = async (): Promise<true> => {
    await other.app('signIn', { email: browser.email, password: PASSWORD })
    return true
  }
  const account = async (cookie: string): Promise<number> =>
    (await api.call('/v1/account', { headers: { cookie, 'sec-fetch-site': 'same-origin' } })).status
  await signIn()
  const replaced = other.cookie
  const signingIn = signIn()
  let isSignedIn = false
  while (!isSignedIn) {
    isSignedIn = await Promise.race([signingIn, account(replaced).then(() => false)])
  }
  expect(await account(replaced)).toBe(401)
  const kept = other.cookie
  expect(await account(kept)).toBe(200)
  expect((await browser.app('signOutEverywhere')).status).toBe(204)
  expect(await account(kept)).toBe(401)
})

describe('keys', () => {
  // One for several tests: an hour has room for a certain number of sign-ups of a network.
  let browser: Awaited<ReturnType<typeof newUser>>
  beforeAll(async () => {
    browser = await newUser()
  })

  test('a key is created in a session, shown once, replaced and revoked', async () => {
    const first = newKeyResponse.parse((await browser.app('createKey', { mode: 'live' })).json)
    expect(first.replaced).toBeNull()
    expect((await api.call('/v1/account', { key: first.key })).status).toBe(200)
    const second = newKeyResponse.parse((await browser.app('createKey', { mode: 'live' })).json)
    expect(second.replaced).toBe(first.record.id)
    await expect
      .poll(async () => (await api.call('/v1/account', { key: first.key })).status)
      .toBe(401)
    expect((await browser.app('listKeys')).text).not.toContain(second.key)
    expect((await browser.app('revokeKey', undefined, 'live')).status).toBe(204)
    expect((await browser.app('revokeKey', undefined, 'live')).status).toBe(404)
    expect((await browser.app('createKey', { mode: 'test' })).status).toBe(403)
  })

  test('a key that a page has not shown is neither replaced nor revoked by it', async () => {
    const act = async (path: string, shown: string) =>
      await browser.call(`/app/api/keys${path}`, {
        ...(path === '' ? { body: { mode: 'live' } } : { method: 'POST' }),
        headers: { 'x-shown-key': shown },
      })
    const active = async (): Promise<readonly string[]> => {
      const { data } = (await browser.app('listKeys')).json
      return data.filter(({ revoked_at: at }) => at === null).map(({ id }) => id)
    }
    const first = newKeyResponse.parse((await act('', 'none')).json).record.id
    expect((await act('', 'none')).status).toBe(409)
    expect((await act('/live/revoke', 'key_other')).status).toBe(409)
    expect(await active()).toEqual([first])
    const second = newKeyResponse.parse((await act('', first)).json).record.id
    expect((await act('', first)).status).toBe(409)
    expect((await act('/live/revoke', first)).status).toBe(409)
    expect(await active()).toEqual([second])
    expect((await act('/live/revoke', second)).status).toBe(204)
    expect((await act('', second)).status).toBe(409)
    expect(await active()).toEqual([])
  })

  test('an account is closed by its name as it is read', async () => {
    const name = 'شركة\u200F  Cafe\u0301 Ltd'
    expect((await browser.app('changeAccount', { name })).status).toBe(200)
    const close = async (typed: string): Promise<number> => {
      const body = { confirm_name: typed, password: PASSWORD }
      return (await browser.app('deleteAccount', body)).status
    }
    expect(await close('شركة Cafe Ltd')).toBe(422)
    expect(await close('شركة Café Ltd')).toBe(204)
  })

  test('an account creates 50 keys a day, and a refused try is not counted', async () => {
    const browser = await newUser()
    const create = async (mode: 'live' | 'test'): Promise<number> =>
      (await browser.app('createKey', { mode })).status
    expect(await create('test')).toBe(403)
    await api.db.pool.query('select from take_from_budget($1, 49, 50)', [
      `keys:${browser.accountId}`,
    ])
    expect(await create('live')).toBe(200)
    expect(await create('live')).toBe(429)
  })

  test('the owner of a suspended account sees why, and can neither create, invite nor remove others', async () => {
    const browser = await newUser()
    const guest = await joined(browser, 'member')
    const act = { actor: 'an operator', accountId: browser.accountId }
    await suspendAccount(api.db, { ...act, reason: 'invoice 17 is unpaid' })
    const key = async (): Promise<number> =>
      (await browser.app('createKey', { mode: 'live' })).status
    await expect.poll(key).toBe(403)
    const invited = await browser.app('invite', { email: 'x@y.example', role: 'viewer' })
    expect([invited.status, invited.text]).toEqual([403, expect.stringContaining('invoice 17')])
    expect((await browser.app('readSession')).status).toBe(200)
    expect((await browser.app('removeMember', undefined, guest.id)).status).toBe(403)
    expect((await guest.app('removeMember', undefined, guest.id)).status).toBe(204)
  })

  test('a key cannot create keys', async () => {
    const { live } = await api.account()
    const made = await api.call('/app/api/keys', {
      key: live,
      body: { mode: 'live' },
      headers: { origin: api.url },
    })
    expect(made.status).toBe(401)
  })
})

describe('members', () => {
  test('are invited, change their role, hand over, and leave', async () => {
    const owner = await newUser('Olga')
    const viewer = await joined(owner, 'viewer')
    expect((await viewer.call('/v1/account')).status).toBe(200)
    const looking = await viewer.call('/v1/email', { body: { email: 'a@example.com' } })
    expect([looking.status, looking.json]).toMatchObject([
      403,
      { message: expect.stringContaining('viewer') },
    ])
    expect((await viewer.app('createKey', { mode: 'live' })).status).toBe(403)
    expect((await viewer.app('invite', { email: 'x@y.example', role: 'owner' })).status).toBe(403)

    expect((await owner.app('changeMember', { role: 'member' }, viewer.id)).status).toBe(204)
    await expect
      .poll(
        async () => (await viewer.call('/v1/email', { body: { email: 'a@example.com' } })).status,
      )
      .toBe(200)

    const { json: answer } = await owner.app('listMembers')
    const self = answer.data.find((one) => one.self)?.id ?? ''
    expect((await owner.app('removeMember', undefined, self)).status).toBe(409)
    expect((await owner.app('changeMember', { role: 'member' }, self)).status).toBe(409)
    expect((await owner.app('handOverAccount', { member_id: viewer.id })).status).toBe(204)
    await expect
      .poll(async () => (await owner.app('changeAccount', { name: 'Mine' })).status)
      .toBe(403)
    expect((await owner.app('removeMember', undefined, self)).status).toBe(204)
    const session = await owner.app('readSession')
    expect([session.json.account, session.json.accounts]).toEqual([null, []])
    await expect.poll(async () => (await owner.call('/v1/account')).status).toBe(403)
    const { rows } = await api.db.pool.query<{ action: string }>(
      `select action from audit_log
       where account_id = $1 and (action like 'member.%' or action like '%hand%') order by id`,
      [owner.accountId],
    )
    expect(rows.map(({ action }) => action)).toEqual([
      'member.invite',
      'member.add',
      'member.role',
      'account.hand_over',
      'member.remove',
    ])
  })

  test('an owner without the second factor that the account asks for removes nobody', async () => {
    const [owner, other] = [await newUser(), await newUser()]
    await api.db.pool.query(
      `insert into members (account_id, user_id, role)
         select $1, user_id, 'member' from members where account_id = $2`,
      [owner.accountId, other.accountId],
    )
    const members = (await owner.app('listMembers')).json.data
    const remove = async (): Promise<number> =>
      (await owner.app('removeMember', undefined, members.find(({ self }) => !self)?.id ?? ''))
        .status
    const ask = (isAsked: boolean) =>
      api.db.pool.query('update accounts set requires_second_factor = $2 where id = $1', [
        owner.accountId,
        isAsked,
      ])
    await ask(true)
    const rename = async () => (await owner.app('changeAccount', { name: 'Ours' })).status
    await expect.poll(rename).toBe(403)
    expect(await remove()).toBe(403)
    await ask(false)
    await expect.poll(remove).toBe(204)
  })

  test('an invitation is valid for its address only, and once', async () => {
    const owner = await newUser()
    const friend = await newUser()
    const stranger = await newUser()
    const made = await owner.app('invite', { email: friend.email, role: 'member' })
    const token = new URL(made.json.link ?? '').hash.slice(1)
    expect((await stranger.app('acceptInvitation', { token })).status).toBe(403)
    expect((await stranger.app('lookAtInvitation', { token })).json).toMatchObject({
      email: friend.email,
      role: 'member',
      has_user: true,
    })
    const accepted = await friend.app('acceptInvitation', { token })
    expect(accepted.json.account).toMatchObject({ id: owner.accountId, role: 'member' })
    expect((await friend.app('acceptInvitation', { token })).status).toBe(422)
    const again = await owner.app('invite', { email: friend.email, role: 'owner' })
    expect(again.status).toBe(409)
    const back = await friend.app('switchAccount', { account_id: friend.accountId })
    expect(back.json.account?.id).toBe(friend.accountId)
    const foreign = await friend.app('switchAccount', { account_id: stranger.accountId })
    expect(foreign.status).toBe(404)
  })

  test('a page changes no other account than the one that it shows', async () => {
    const owner = await newUser()
    const friend = await newUser()
    const made = await owner.app('invite', { email: friend.email, role: 'owner' })
    await friend.app('acceptInvitation', { token: new URL(made.json.link ?? '').hash.slice(1) })
    const from = async (accountId: string) => {
      const headers = { 'x-shown-account': accountId }
      const records = { product: 'email', records: [{ email: 'a@b.example' }], start: false }
      const calls = [
        friend.call('/app/api/keys', { body: { mode: 'live' }, headers }),
        friend.call('/v1/batches', { body: records, headers }),
        friend.call('/v1/account', { headers }),
        friend.call('/app/api/me', { method: 'PATCH', body: { name: 'Eve' }, headers }),
      ]
      return (await Promise.all(calls)).map(({ status }) => status)
    }
    // What changes no account, or only the user, is not refused.
    expect(await from(friend.accountId)).toEqual([409, 409, 200, 200])
    expect((await friend.app('listKeys')).json.data).toEqual([])
    expect(await from(owner.accountId)).toEqual([200, 202, 200, 200])
  })

  test('an invitation that is accepted twice concurrently makes one member', async () => {
    const owner = await newUser()
    const friend = await newUser()
    const made = await owner.app('invite', { email: friend.email, role: 'member' })
    const token = new URL(made.json.link ?? '').hash.slice(1)
    const accepted = await Promise.all(
      Array.from({ length: 5 }, () => friend.app('acceptInvitation', { token })),
    )
    expect(accepted.map(({ status }) => status).toSorted()).toEqual([200, 422, 422, 422, 422])
    const { json: answer } = await owner.app('listMembers')
    expect(answer.data.filter(({ email }) => email === friend.email)).toHaveLength(1)
  })

  test('of two owners who leave concurrently one stays', async () => {
    const owner = await newUser()
    const other = await joined(owner, 'owner')
    const { json: answer } = await owner.app('listMembers')
    const self = answer.data.find((one) => one.self)?.id ?? ''
    const left = await Promise.all([
      owner.app('removeMember', undefined, self),
      other.app('removeMember', undefined, other.id),
    ])
    expect(left.map(({ status }) => status).toSorted()).toEqual([204, 409])
  })
})

describe('a printed link', () => {
  test('makes the first user the owner of its account, once', async () => {
    const { id } = await api.account()
    const code = await newWelcomeCode(api.db, id)
    const form = { code, email: `first${(count += 1)}@company.example`, password: PASSWORD }
    const browser = openBrowser(api)
    const tries = await Promise.all([
      browser.app('welcome', form),
      openBrowser(api).app('welcome', { ...form, email: 'second@company.example' }),
    ])
    expect(tries.map(({ status }) => status).toSorted()).toEqual([200, 422])
    const [winner] = tries
    if (winner.status === 200) {
      expect((await browser.app('readSession')).json.account).toMatchObject({ id, role: 'owner' })
    }
  })

  test('sets a new password, which is not the own name, and ends all sessions', async () => {
    const { email, cookie } = await newUser()
    await api.db.pool.query(`update users set name = 'Persephone' where email = $1`, [email])
    const made = await newAccessCode(api.db, { email, isLocalOnly: true })
    const code = made?.secret ?? ''
    const password = 'seven gentle harbours west'
    const browser = openBrowser(api)
    const wrong = { code, email: 'else@company.example', password }
    expect((await browser.app('welcome', wrong)).status).toBe(422)
    const ownName = { code, email, password: 'persephone-2026' }
    expect((await browser.app('welcome', ownName)).status).toBe(422)
    expect((await browser.app('welcome', { code, email, password })).status).toBe(200)
    expect((await api.call('/app/api/session', { headers: { cookie } })).json).toMatchObject({
      user: null,
    })
  })

  test('ends the session that its browser had before', async () => {
    const browser = openBrowser(api)
    const open = async (): Promise<void> => {
      const code = await newWelcomeCode(api.db, (await api.account()).id)
      const form = { code, email: `next${(count += 1)}@company.example`, password: PASSWORD }
      expect((await browser.app('welcome', form)).status).toBe(200)
    }
    await open()
    const { cookie } = browser
    await open()
    expect((await api.call('/app/api/session', { headers: { cookie } })).json).toMatchObject({
      user: null,
    })
  })
})
