import { entryResponse } from '@plumbline/contract/app/entry'
import { openBrowser, type TestBrowser } from '@plumbline/testkit/api/browser'
import type { ApiHarness } from '@plumbline/testkit/api/harness'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newUserOf, openForUsers, PASSWORD } from './users-fixture.ts'

let api: ApiHarness
beforeAll(async () => {
  api = await openForUsers()
})
afterAll(() => api[Symbol.asyncDispose]())

const newUser = () => newUserOf(api)

describe('the second factor', () => {
  test('is required at sign-in and again before keys are changed, and each code works once', async () => {
    const browser = await newUser()
    const begun = await browser.app('beginSecondFactor', { password: PASSWORD })
    const totp = new TOTP({ secret: Secret.fromBase32(begun.json.secret) })
    expect(begun.json.uri).toContain('otpauth://totp/')
    const code = totp.generate()
    const confirmed = await browser.app('confirmSecondFactor', { code })
    expect(confirmed.json.recovery_codes).toHaveLength(10)

    const other = openBrowser(api)
    const { email } = browser
    const first = await other.app('signIn', { email, password: PASSWORD })
    expect(first.json).toEqual({ outcome: 'code_needed' })
    expect((await other.app('readSession')).json.user).toBeNull()
    const replayed = await other.app('signIn', { email, password: PASSWORD, code })
    expect(replayed.status).toBe(422)
    const [recovery = ''] = confirmed.json.recovery_codes
    const signedIn = await other.app('signIn', { email, password: PASSWORD, code: recovery })
    expect(entryResponse.parse(signedIn.json).outcome).toBe('signed_in')
    const again = await openBrowser(api).app('signIn', {
      email,
      password: PASSWORD,
      code: recovery,
    })
    expect(again.status).toBe(422)

    await api.db.pool.query(`update sessions set proven_at = now() - interval '16 minutes'`)
    await expect.poll(async () => (await other.app('createKey', { mode: 'live' })).status).toBe(403)
    const refused = await other.app('createKey', { mode: 'live' })
    expect(refused.headers.get('x-step-up')).toBe('required')
    const password = { current_password: PASSWORD, password: 'quiet marble otter ninety' }
    expect((await other.app('changePassword', password)).status).toBe(403)
    const [, next = ''] = confirmed.json.recovery_codes
    expect((await other.app('stepUp', { code: next })).status).toBe(204)
    expect((await other.app('createKey', { mode: 'live' })).status).toBe(200)
  })

  const NO_CODE = 'none of the codes'

  /** A user with a second factor, and its recovery codes. */
  async function withFactor() {
    const browser = await newUser()
    const begun = await browser.app('beginSecondFactor', { password: PASSWORD })
    const code = new TOTP({ secret: Secret.fromBase32(begun.json.secret) }).generate()
    const confirmed = await browser.app('confirmSecondFactor', { code })
    return Object.assign(browser, { codes: confirmed.json.recovery_codes })
  }

  const isSignedIn = async (browser: TestBrowser): Promise<boolean> =>
    (await browser.app('readSession')).json.user !== null

  test('is set with the password and its code alone, once, which ends the other sessions', async () => {
    const browser = await newUser()
    const other = openBrowser(api)
    await other.app('signIn', { email: browser.email, password: PASSWORD })
    const begin = async (password: string): Promise<number> =>
      (await browser.app('beginSecondFactor', { password })).status
    const confirm = async (code: string): Promise<number> =>
      (await browser.app('confirmSecondFactor', { code })).status
    expect([await begin('not the one I have'), await confirm(NO_CODE)]).toEqual([422, 409])
    const begun = await browser.app('beginSecondFactor', { password: PASSWORD })
    expect([await confirm(NO_CODE), await isSignedIn(other)]).toEqual([422, true])
    const totp = new TOTP({ secret: Secret.fromBase32(begun.json.secret) })
    expect([await confirm(totp.generate()), await isSignedIn(other)]).toEqual([200, false])
    expect([await begin(PASSWORD), await confirm(NO_CODE)]).toEqual([409, 409])
  })

  test('is removed with the password and a code, which ends the other sessions', async () => {
    const browser = await withFactor()
    const [first = '', second = '', third = ''] = browser.codes
    const other = openBrowser(api)
    await other.app('signIn', { email: browser.email, password: PASSWORD, code: first })
    const remove = async (password: string, code: string): Promise<number> =>
      (await browser.app('disableSecondFactor', { password, code })).status
    expect(await remove('not the one I have', second)).toBe(422)
    expect([await remove(PASSWORD, NO_CODE), await isSignedIn(other)]).toEqual([422, true])
    expect([await remove(PASSWORD, second), await isSignedIn(other)]).toEqual([204, false])
    expect((await browser.app('stepUp', { code: third })).status).toBe(409)
  })

  test("is proven neither by a wrong code nor by one of another's, and asked of others by those who have one", async () => {
    const [browser, other] = [await withFactor(), await newUser()]
    await api.db.pool.query(`update sessions set proven_at = now() - interval '16 minutes'`)
    await api.db.pool.query(
      `update recovery_codes set user_id = (select id from users where email = $2)
       where user_id = (select id from users where email = $1)`,
      [browser.email, other.email],
    )
    const create = async () => (await browser.app('createKey', { mode: 'live' })).status
    await expect.poll(create).toBe(403)
    for (const code of [NO_CODE, browser.codes[0] ?? '']) {
      expect((await browser.app('stepUp', { code })).status).toBe(422)
    }
    expect(await create()).toBe(403)
    const asked = await other.app('changeAccount', { requires_second_factor: true })
    expect(asked.status).toBe(409)
  })
})

test('neither the address is changed nor the account closed without the password', async () => {
  const browser = await newUser()
  const password = 'not the one I have'
  const email = 'next@company.example'
  expect((await browser.app('changeEmail', { email, password })).status).toBe(422)
  expect((await browser.app('deleteAccount', { confirm_name: 'Ada', password })).status).toBe(422)
  const { user, account } = (await browser.app('readSession')).json
  expect([user?.email, account?.id]).toEqual([browser.email, browser.accountId])
})
