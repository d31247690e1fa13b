import { recoveryCodes, secondFactorStart } from '@plumbline/contract/app/entry'
import { invitationResponse } from '@plumbline/contract/app/members'
import { Secret, TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import { closeBrowser, openWindow, type TestWindow } from './chromium.ts'
import { PASSWORD, signUp, type TestUser } from './web-seed.ts'
import { startWebService, type WebService } from './web-service.ts'

// What tests of the app do in many places.

/** A service, and a window on it in which its first user is signed in. */
export interface WebApp extends AsyncDisposable {
  readonly started: WebService
  readonly window: TestWindow
  readonly page: Page
  readonly user: TestUser
}

/** Starts a service and signs up a user; the browser is closed with it. */
export async function openWebApp(options: Parameters<typeof startWebService>[0]): Promise<WebApp> {
  await using stack = new AsyncDisposableStack()
  stack.defer(closeBrowser)
  const started = stack.use(await startWebService(options))
  const window = stack.use(await openWindow(started.service.url))
  const user = await signUp(started.service, window.context.request, { email: 'ada@people.test' })
  const owned = stack.move()
  return {
    started,
    window,
    page: window.page,
    user,
    [Symbol.asyncDispose]: async () => await owned.disposeAsync(),
  }
}

/** Presses a button of a page. */
export async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).click()
}

/** Holds requests of a page back until the function that it returns is called. */
export async function holdBack(page: Page, url: string, method?: string): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  await page.route(url, async (route) => {
    if (method === undefined || route.request().method() === method) await promise
    await route.continue()
  })
  return resolve
}

/** Invites a person to the account of a user; returns the link. */
export async function invite(
  user: TestUser,
  email: string,
  role: 'owner' | 'member' | 'viewer',
): Promise<URL> {
  const sent = await user.send('POST', '/app/api/invitations', { email, role })
  return new URL(invitationResponse.parse(sent).link ?? '')
}

/** Sets up a second factor; returns one of its recovery codes. */
export async function addSecondFactor(user: TestUser): Promise<string> {
  const { secret } = secondFactorStart.parse(
    await user.send('POST', '/app/api/second-factor/begin', { password: PASSWORD }),
  )
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate()
  const { recovery_codes: codes } = recoveryCodes.parse(
    await user.send('POST', '/app/api/second-factor/confirm', { code }),
  )
  return codes[0] ?? ''
}
