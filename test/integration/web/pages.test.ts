import { backends } from '@plumbline/testkit/backends'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { faultsOfPage, settle } from '../axe.ts'
import { canRunChromium, openWindow, type TestWindow } from '../chromium.ts'
import {
  fillAccount,
  GATES,
  pagesOf,
  PASSWORD,
  signUp,
  type FilledAccount,
  type TestPerson,
} from '../web-seed.ts'
import { startWebService, type WebService } from '../web-service.ts'

// Every page of the app in a real browser. Where the queue is makes no difference to a page.

const [backend = { name: 'postgres', redisUrl: undefined }] = backends()

describe.skipIf(!canRunChromium())('the app', () => {
  let stack: AsyncDisposableStack
  let started: WebService
  let window: TestWindow
  let person: TestPerson
  let filled: FilledAccount

  beforeAll(async () => {
    stack = new AsyncDisposableStack()
    started = stack.use(await startWebService({ backend }))
    window = stack.use(await openWindow(started.service.url))
    person = await signUp(started.service, window.context.request, { email: 'ada@people.test' })
    filled = await fillAccount(person)
  })
  afterAll(() => stack.disposeAsync())

  test('has no fault that axe knows on any page, in two themes and widths, and nothing on the console', async () => {
    await using stranger = await openWindow(started.service.url)
    const met: string[] = []
    const look = async (
      { page }: TestWindow,
      pages: readonly { path: string; heading: string }[],
    ): Promise<void> => {
      for (const { path, heading } of pages) {
        await page.goto(path)
        await settle(page, heading)
        expect(await page.getByRole('main').count()).toBe(1)
        expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1)
        met.push(...(await faultsOfPage(page)).map((fault) => `${path} ${fault}`))
      }
    }
    await look(stranger, GATES)
    await look(window, pagesOf(filled))
    expect([...met, ...stranger.faults, ...window.faults]).toEqual([])
  })

  test('says who is signed in no longer when the session was ended elsewhere, and goes on where it was', async () => {
    await using other = await openWindow(started.service.url)
    const { page } = other
    await page.goto('/app/usage')
    await signIn(other)
    await settle(page, 'Usage')
    await person.send('POST', '/app/api/sign-out-everywhere')
    const whoIs = async (): Promise<unknown> =>
      await (await other.context.request.get('/app/api/session')).json()
    await expect.poll(whoIs).toMatchObject({ user: null })
    await page.getByRole('link', { name: 'Credits', exact: true }).click()
    await settle(page, 'Sign in')
    await signIn(other)
    await settle(page, 'Credits')
    // The window of the others was signed out as well.
    await window.page.goto('/app')
    await signIn(window)
    await settle(window.page, 'Overview')
  })

  test('says that the service is away, and goes on by itself once it is back', async () => {
    const { page } = window
    // Where the links stand beside the page, not behind a menu.
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
    await page.getByText('To spend').waitFor()
  })

  test('is used by keyboard alone from the sign-in to a started batch', async () => {
    await using typist = await openWindow(started.service.url)
    const { page } = typist
    await page.goto('/app/sign-in')
    await settle(page, 'Sign in')
    await tabTo(typist, 'Email')
    await page.keyboard.type('ada@people.test')
    await page.keyboard.press('Tab')
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press('Enter')
    await settle(page, 'Overview')
    await tabTo(typist, 'New batch')
    await page.keyboard.press('Space')
    await settle(page, 'New batch')
    await tabTo(typist, 'Product')
    await page.keyboard.type('Email')
    await tabTo(typist, 'Paste lines instead')
    await page.keyboard.press('Enter')
    await tabTo(typist, 'Lines')
    await page.keyboard.type('typed@example.com')
    await tabTo(typist, 'Hand in these lines')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Start', exact: true }).waitFor()
    await expect
      .poll(() => page.getByRole('button', { name: 'Start', exact: true }).isEnabled())
      .toBe(true)
    await tabTo(typist, 'Start')
    await page.keyboard.press('Enter')
    await settle(page, 'pasted.txt')
    await page.getByText('Completed').first().waitFor()
  })
})

async function signIn({ page }: TestWindow): Promise<void> {
  await page.getByLabel('Email', { exact: true }).fill('ada@people.test')
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Presses Tab until what has this label, or says this, has the focus. */
async function tabTo({ page }: TestWindow, name: string): Promise<void> {
  const met: string[] = []
  for (let press = 0; press < 60; press += 1) {
    await page.keyboard.press('Tab')
    const focused = await page.evaluate<string>(`(() => {
      const at = document.activeElement
      return (at?.labels?.[0]?.textContent ?? at?.ariaLabel ?? at?.textContent ?? '').trim()
    })()`)
    if (focused === name) return
    met.push(focused)
  }
  throw new Error(`no way to ${name} by Tab; met ${met.join(' | ')}`)
}
