import { openBrowser, type TestBrowser } from '@plumbline/testkit/api/browser'
import { openApiHarness, type ApiHarness } from '@plumbline/testkit/api/harness'
import { expect } from 'vitest'

/** The password of every user. */
export const PASSWORD = 'tidal lantern cactus seven'

/** A service whose limits of sign-ups and sign-ins leave many users to one address. */
export async function openForUsers(): Promise<ApiHarness> {
  return await openApiHarness({
    SIGN_UPS_PER_NETWORK: '1000',
    SIGN_UPS_PER_MAIL_DOMAIN: '1000',
    SIGN_IN_TRIES: '500',
    RATE_LIMIT_BURST: '10000',
  })
}

let count = 0

/** A new user with an account of their own, signed in. */
export async function newUserOf(
  api: ApiHarness,
  name = 'Ada',
): Promise<TestBrowser & { email: string; accountId: string }> {
  const browser = openBrowser(api)
  const email = `person${(count += 1)}@company${count}.example`
  const signedUp = await browser.app('signUp', { name, email, password: PASSWORD })
  expect(signedUp.status).toBe(200)
  const { json: answer } = await browser.app('readSession')
  return Object.assign(browser, { email, accountId: answer.account?.id ?? '' })
}
