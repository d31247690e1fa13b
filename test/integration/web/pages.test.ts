import { setOperator } from '@plumbline/db/people/users'
import { backends } from '@plumbline/testkit/backends'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { faultsOfPage, ONE_VIEW, settle } from '../axe.ts'
import { canRunChromium, openWindow, type TestWindow } from '../chromium.ts'
import { addSecondFactor, holdBack, openWebApp, type WebApp } from '../web-app.ts'
import {
  addUnended,
  fillAccount,
  SIGN_IN_PAGES,
  operatorPagesOf,
  pagesOf,
  PASSWORD,
  signUp,
  type FilledAccount,
  type PageOf,
  type TestUser,
} from '../web-seed.ts'
import type { WebService } from '../web-service.ts'

// Every page of the app in a real browser. The backend of the queue does not matter here.

const [backend = { name: 'postgres', redisUrl: undefined }] = backends()

describe.skipIf(!canRunChromium())('the app', () => {
  let app: WebApp
  let started: WebService
  let window: TestWindow
  let user: TestUser
  let filled: FilledAccount

  beforeAll(async () => {
    // No worker checks phones, so that a batch with phones runs until the end of the tests.
    app = await openWebApp({
      backend,
      kinds: ['email', 'ip', 'domain', 'batch'],
      env: { UPLOAD_LIMIT_ROWS: '400000' },
    })
    ;({ started, window, user } = app)
    filled = await fillAccount(user)
  })
  afterAll(async () => await app[Symbol.asyncDispose]())

  test('has no violation found by axe on any page, in two themes and widths, and logs nothing', async () => {
    await using stranger = await openWindow(started.service.url)
    const problems: string[] = []
    const look = async ({ page }: TestWindow, pages: readonly PageOf[]): Promise<void> => {
      for (const { path, heading } of pages) {
        await page.goto(path)
        await settle(page, heading)
        expect(await page.getByRole('main').count()).toBe(1)
        expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1)
        problems.push(...(await faultsOfPage(page)).map((fault) => `${path} ${fault}`))
      }
    }
    await look(stranger, SIGN_IN_PAGES)
    await look(window, [...pagesOf(filled), ...(await addUnended(user))])
    const { service } = started
    await service.db.kysely.transaction().execute((tx) => setOperator(tx, user.userId, true))
    await using operator = await openWindow(service.adminUrl, {
      cookies: await window.context.cookies(),
    })
    await look(operator, operatorPagesOf(user.accountId))
    expect([...problems, ...stranger.faults, ...window.faults, ...operator.faults]).toEqual([])
  })

  test('the page for a new batch tells the limits of the account', async () => {
    const { page } = window
    await page.goto('/app/batches/new')
    const file = page.getByLabel('File', { exact: true })
    const hint = page.locator(`[id="${await file.getAttribute('aria-describedby')}"]`)
    await expect.poll(() => hint.textContent()).toMatch(/ MB and 400.000 rows at most\.$/)
  })

  test('has no violation found by axe on the pages of an account without data', async () => {
    await using other = await openWindow(started.service.url)
    await signUp(started.service, other.context.request, { email: 'new@people.test' })
    const problems: string[] = []
    for (const { path, heading } of EMPTY_PAGES) {
      await other.page.goto(path)
      await settle(other.page, heading)
      const faults = await faultsOfPage(other.page, ONE_VIEW)
      problems.push(...faults.map((fault) => `${path} ${fault}`))
    }
    expect(problems).toEqual([])
  })

  test('in the colours of the system, too, progress and what is chosen can be told', async () => {
    await using other = await openWindow(started.service.url, {
      cookies: await window.context.cookies(),
    })
    const { page } = other
    await page.emulateMedia({ forcedColors: 'active' })
    await page.goto('/app/try')
    await settle(page, 'Try it')
    const curl = page.getByRole('button', { name: 'curl', exact: true })
    const chosen = await curl.screenshot()
    await page.getByRole('button', { name: 'Python', exact: true }).click()
    expect((await curl.screenshot()).equals(chosen)).toBe(false)
    await page.goto(`/app/batches/${filled.done}`)
    await settle(page, 'done.csv')
    const bar = page.getByRole('progressbar', { name: 'Progress' })
    const full = await bar.screenshot()
    await bar.evaluate((element) => element.setAttribute('value', '0'))
    expect((await bar.screenshot()).equals(full)).toBe(false)
    expect(other.faults).toEqual([])
  })

  test('text is as large as the browser is told to show it, and all of it is within a narrow window', async () => {
    await using other = await openWindow(started.service.url, {
      width: 360,
      height: 740,
      cookies: await window.context.cookies(),
    })
    const { page } = other
    const cdp = await other.context.newCDPSession(page)
    await cdp.send('Page.enable')
    await cdp.send('Page.setFontSizes', { fontSizes: { standard: 32, fixed: 26 } })
    const problems: string[] = []
    for (const { path, heading } of pagesOf(filled)) {
      await page.goto(path)
      await settle(page, heading)
      expect(await page.evaluate('getComputedStyle(document.body).fontSize')).toBe('30px')
      const hidden = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      if (hidden > 0) problems.push(`${path} is wider than the window by ${hidden}`)
    }
    expect(problems).toEqual([])
  })

  test('on a phone names in lists can be read whole: of batches, values of their rows, and webhooks', async () => {
    await using other = await openWindow(started.service.url, { width: 360, height: 740 })
    const { page } = other
    const eve = await signUp(started.service, other.context.request, { email: 'long@people.test' })
    const address = 'a.rather.long.name.of.a.person@a-rather-long-domain.example'
    const name = 'Subscribers of the newsletter about plumb lines, spring.csv'
    const url = 'https://hooks.example.com/of/a/rather/long/address'
    await eve.send('POST', '/v1/webhooks', { url, events: ['key.replaced'] })
    const id = await eve.uploadCompleted({ fileName: name, text: `Email\n${address}\n` })
    for (const [path, heading, text] of [
      ['/app/batches', 'Batches', name],
      [`/app/batches/${id}`, name, address],
      ['/app/settings', 'Settings', url],
    ] as const) {
      await page.goto(path)
      await settle(page, heading)
      const shown = page.getByRole('cell').getByText(text, { exact: true })
      const hiddenPx = await shown.evaluate(
        ({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>
          Math.max(scrollWidth - clientWidth, scrollHeight - clientHeight),
      )
      expect(hiddenPx).toBe(0)
    }
  })

  test('a link leads to the top of its page, which has the focus; going back, to where one was', async () => {
    await using wide = await openWindow(started.service.url, { width: 1_000, height: 400 })
    const { page } = wide
    const main = page.getByRole('main')
    const stands = (): Promise<number> => page.evaluate('scrollY')
    const isFocused = (): Promise<boolean> => main.evaluate((one) => one.matches(':focus'))
    const follow = async (link: string, heading: string): Promise<void> => {
      await page.evaluate('scrollTo(0, 300)')
      await expect.poll(stands).toBe(300)
      await page.getByRole('link', { name: link, exact: true }).focus()
      await page.keyboard.press('Enter')
      await settle(page, heading)
      await expect.poll(isFocused).toBe(true)
    }
    await page.goto('/app/credits')
    await settle(page, 'Sign in')
    await page.getByRole('link', { name: 'I have no account yet' }).press('Enter')
    await settle(page, 'Create an account')
    await expect.poll(isFocused).toBe(true)
    await page.goto('/app/credits')
    await settle(page, 'Sign in')
    await page.getByLabel('Email', { exact: true }).fill('ada@people.test')
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.keyboard.press('Enter')
    await settle(page, 'Credits')
    await expect.poll(isFocused).toBe(true)
    // The second time each page is drawn in whole at once.
    for (let round = 0; round < 2; round += 1) {
      await follow('Settings', 'Settings')
      await expect.poll(stands).toBe(0)
      await follow('Credits', 'Credits')
      await expect.poll(stands).toBe(0)
    }
    await page.goBack()
    await settle(page, 'Settings')
    await expect.poll(stands).toBe(300)
    await expect.poll(isFocused).toBe(true)
    expect(wide.faults).toEqual([])
  })

  test('the focus stays in the part of the page whose button has done its work and is gone', async () => {
    await using other = await openWindow(started.service.url)
    const { page } = other
    await signUp(started.service, other.context.request, { email: 'focus@people.test' })
    const press = async (name: string): Promise<void> =>
      await page.getByRole('button', { name, exact: true }).press('Enter')
    const isAt = async (heading: string): Promise<void> =>
      await page.locator(':focus', { hasText: heading }).and(page.locator('h1, h2')).waitFor()
    await page.goto('/app/keys')
    await settle(page, 'API keys')
    await press('Create live key')
    await isAt('Your new key')
    await press('I have kept it')
    await isAt('API keys')
    await press('Revoke')
    await press('Revoke it')
    await isAt('Live key')
    await page.goto('/app/settings')
    await settle(page, 'Settings')
    await page.getByLabel('Password to begin').fill(PASSWORD)
    await press('Set up a second factor')
    await isAt('Second factor')
    await page.getByLabel('Email', { exact: true }).fill('grace@people.test')
    await press('Invite')
    await press('Withdraw the invitation of grace@people.test')
    await isAt('Members')
    await page.goto('/app/batches/new')
    await page.getByText('Paste lines instead').click()
    await page.getByLabel('Lines', { exact: true }).fill('a@example.com')
    await page.route('**/v1/batches', () => undefined)
    await press('Submit these lines')
    await page.locator('section:focus', { hasText: 'Stop the upload' }).waitFor()
    // What has nothing to do with it takes no focus.
    await page.getByRole('link', { name: 'Usage', exact: true }).focus()
    await page.getByRole('button', { name: 'Stop the upload' }).evaluate((one) => one.click())
    await page.getByText('Submit these lines').waitFor()
    await page.locator('a:focus', { hasText: 'Usage' }).waitFor()
    expect(other.faults).toEqual([])
  })

  test('what an action has done is announced, each time', async () => {
    await using other = await openWindow(started.service.url, {
      cookies: await window.context.cookies(),
    })
    const { page } = other
    const press = async (name: string): Promise<void> =>
      await page.getByRole('button', { name, exact: true }).press('Enter')
    const said = async (): Promise<string | null> =>
      await page.locator('#app > [aria-live=polite]').textContent()
    const isSaid = async (sentence: string | RegExp): Promise<void> =>
      await page.locator('#app > [aria-live=polite]', { hasText: sentence }).waitFor()
    await page.goto(`/app/settings/webhooks/${filled.webhook}`)
    await settle(page, 'Webhook')
    for (const name of ['Switch it off', 'Switch it on']) {
      const before = await said()
      await press(name)
      await expect.poll(said).not.toBe(before)
      expect((await said())?.trim()).toBe('It is changed.')
    }
    await page.getByText('Send again by time').click()
    await page.getByLabel('Since', { exact: true }).fill('2026-01-01T00:00')
    await press('Send all again')
    await isSaid(/Nothing to send again|On their way again/)
    await page.goto('/app/settings')
    await settle(page, 'Settings')
    await page.getByLabel('Email', { exact: true }).fill('grace@people.test')
    await press('Invite')
    await isSaid('hand on the link that is shown')
    await page.goto('/app/try')
    await settle(page, 'Try it')
    await page.getByLabel('Email', { exact: true }).fill('a@example.com')
    await press('Look up')
    await isSaid('The answer is there.')
    await page.goto('/app/batches/new')
    await page.getByText('Paste lines instead').click()
    await page.getByLabel('Lines', { exact: true }).fill('new@example.com')
    await press('Submit these lines')
    await isSaid('Ready to start: 1 credit at most.')
    await page.context().clearCookies()
    await page.goto('/app/sign-in?after=verified')
    await settle(page, 'Sign in')
    await isSaid('The address is verified.')
    await page.route('**/app/api/sign-up', async (route) => {
      await route.fulfill({ json: { outcome: 'check_mail' } })
    })
    await page.goto('/app/sign-up')
    await settle(page, 'Create an account')
    await page.getByLabel('Name', { exact: true }).fill('Mo')
    await page.getByLabel('Email', { exact: true }).fill('mo@people.test')
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await press('Create account')
    await isSaid('Open the link of the message that is on its way.')
    expect(other.faults).toEqual([])
  })

  test('follows a link that is opened while its page is already open', async () => {
    await using stranger = await openWindow(started.service.url)
    const { page } = stranger
    const link = `#${'a'.repeat(40)}`
    await page.goto('/app/welcome')
    await page.getByText('The link is incomplete').waitFor()
    await page.goto('/app/welcome#main')
    expect(await page.getByText('The link is incomplete').count()).toBe(1)
    await page.goto(`/app/welcome${link}`)
    await page.getByRole('button', { name: 'Open the app', exact: true }).waitFor()
    expect(new URL(page.url()).hash).toBe('')
    await page.goto('/app/verify')
    await page.getByText('The link is incomplete').waitFor()
    await page.goto(`/app/verify${link}`)
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('alert').textContent()).toMatch(/^This link was used/)
  })

  test('asks for the second factor, refuses a wrong code, and accepts a recovery code', async () => {
    await using other = await openWindow(started.service.url)
    const { page, context } = other
    const grace = await signUp(started.service, context.request, { email: 'grace@people.test' })
    const recovery = await addSecondFactor(grace)
    await grace.send('POST', '/app/api/sign-out')
    await page.goto('/app/sign-in')
    await signIn(other, 'grace@people.test')
    const field = page.getByLabel('Code', { exact: true })
    await field.waitFor()
    await expect.poll(() => field.and(page.locator(':focus')).count()).toBe(1)
    expect(await faultsOfPage(page)).toEqual([])
    // Recovery codes have letters, which the keypad for digits of a phone does not.
    expect(await field.getAttribute('inputmode')).toBe('text')
    await field.fill('000000')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('The code is not right').waitFor()
    expect(await faultsOfPage(page)).toEqual([])
    await field.fill(recovery)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await settle(page, 'Overview')
  })

  test('asks to sign in again when the session was ended elsewhere, and continues to the requested page', async () => {
    await using other = await openWindow(started.service.url)
    const { page } = other
    await page.goto('/app/usage')
    await signIn(other)
    await settle(page, 'Usage')
    await user.send('POST', '/app/api/sign-out-everywhere')
    const whoIs = async (): Promise<unknown> =>
      await (await other.context.request.get('/app/api/session')).json()
    await expect.poll(whoIs).toMatchObject({ user: null })
    await page.getByRole('link', { name: 'Credits', exact: true }).click()
    await settle(page, 'Sign in')
    await signIn(other)
    await settle(page, 'Credits')
    // The other tests' window was signed out as well.
    await window.page.goto('/app')
    await signIn(window)
    await settle(window.page, 'Overview')
  })

  test('a page whose code arrives late is shown', async () => {
    await using slow = await openWindow(started.service.url, {
      cookies: await window.context.cookies(),
    })
    const { page } = slow
    // Work after a drawn frame is delayed, as on a loaded machine.
    await page.addInitScript(LATE_FRAMES)
    const release = await holdBack(page, '**/assets/usage-*.js')
    await page.goto('/app/usage')
    await page.getByRole('button', { name: 'Sign out' }).waitFor({ state: 'attached' })
    release()
    await settle(page, 'Usage')
    expect(slow.faults).toEqual([])
  })

  test('shows its heading while loading and the error after a refusal, on every page, and passes axe', async () => {
    await using other = await openWindow(started.service.url, {
      cookies: await window.context.cookies(),
    })
    const { page } = other
    const problems: string[] = []
    for (const { path, heading } of pagesOf(filled)) {
      const isSeen = Promise.withResolvers<void>()
      let askedCount = 0
      await page.route(READS, async (route) => {
        askedCount += 1
        await isSeen.promise
        await route.fulfill(REFUSAL)
      })
      await page.goto(path)
      // Of a batch nothing is known yet, not even its name.
      const title = path.includes('/bat_') ? 'Batch' : heading
      await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
      // In the menu, which is folded where the window is narrow.
      await page.getByText('Sign out').waitFor({ state: 'attached' })
      if (!READS_NOTHING.has(path)) await expect.poll(() => askedCount).toBeGreaterThan(0)
      const reading = await faultsOfPage(page, ONE_VIEW)
      isSeen.resolve()
      if (!READS_NOTHING.has(path)) await page.getByText(REFUSED).first().waitFor()
      await settle(page, title)
      const refused = await faultsOfPage(page, ONE_VIEW)
      problems.push(
        ...reading.map((fault) => `${path} while it is read: ${fault}`),
        ...refused.map((fault) => `${path} refused: ${fault}`),
      )
      await page.unroute(READS)
    }
    expect(problems).toEqual([])
  })

  test('says that the service cannot be reached, and continues by itself once it is back', async () => {
    const { page } = window
    // At this width the links are beside the page, not in a menu.
    await page.setViewportSize({ width: 1_280, height: 860 })
    await page.goto('/app/batches')
    await settle(page, 'Batches')
    await page.context().route('**/v1/**', (route) => route.abort('connectionrefused'))
    await page.getByRole('link', { name: 'Credits', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Credits', exact: true }).waitFor()
    await page.getByRole('alert').first().waitFor()
    expect(await page.getByRole('alert').first().textContent()).toContain('cannot be reached')
    await page.context().unroute('**/v1/**')
    await expect.poll(() => page.getByRole('alert').count()).toBe(0)
    await page.getByText('credits to spend').waitFor()
  })

  test('every part of a page that could not be read is read once the service is back', async () => {
    await using other = await openWindow(started.service.url, {
      cookies: await window.context.cookies(),
    })
    await other.context.route(READS, (route) => route.abort('connectionrefused'))
    const paths = [
      '/app',
      '/app/batches',
      `/app/settings/webhooks/${filled.webhook}`,
      `/app/settings/erase?receipt=${filled.erasure}`,
    ]
    const pages: Page[] = []
    for (const path of paths) {
      const page = await other.open()
      await page.goto(path)
      pages.push(page)
    }
    // The batch itself is read, its rows are not.
    const page = await other.open()
    await page.route(`**/v1/batches/${filled.done}`, (route) => route.continue())
    await page.goto(`/app/batches/${filled.done}`)
    pages.push(page)
    for (const one of pages) await one.getByRole('alert').first().waitFor()
    await other.context.unroute(READS)
    for (const one of pages) await expect.poll(() => one.getByRole('alert').count()).toBe(0)
    await page.getByText('p0@example.com').waitFor()
  })
})

/** Pages that say what to do first while there are no data. */
const EMPTY_PAGES: readonly PageOf[] = [
  { path: '/app', heading: 'Overview' },
  { path: '/app/batches', heading: 'Batches' },
  { path: '/app/batches?state=failed', heading: 'Batches' },
  { path: '/app/keys', heading: 'API keys' },
  { path: '/app/usage', heading: 'Usage' },
  { path: '/app/settings/erase', heading: 'Erase values' },
]

/** Requests by which pages read data, except that for the session. */
const READS = /\/(?:v1|app\/api)\/(?!session$)/
/** Pages that read no data. */
const READS_NOTHING: ReadonlySet<string> = new Set(['/app/batches/new', '/app/try'])
const REFUSED = 'This is refused for a test.'
const REFUSAL = {
  status: 400,
  contentType: 'application/json',
  body: JSON.stringify({ code: 'bad_request', message: REFUSED }),
}

const LATE_FRAMES = `
  const later = setTimeout
  window.setTimeout = (work, ms = 0, ...rest) => later(work, ms + 700, ...rest)
  window.requestAnimationFrame = (work) => later(work, 700)
`

async function signIn({ page }: TestWindow, email = 'ada@people.test'): Promise<void> {
  await page.getByLabel('Email', { exact: true }).fill(email)
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}
