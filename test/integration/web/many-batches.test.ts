import { backends } from '@plumbline/testkit/backends'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { faultsOfPage, ONE_VIEW, settle, untilRepainted, widthFaults } from '../axe.ts'
import { canRunChromium, openWindow, type TestWindow } from '../chromium.ts'
import { addManyBatches, LONG_NAME, RIGHT_TO_LEFT, ROWS } from '../many-batches.ts'
import { openWebApp, type WebApp } from '../web-app.ts'
import { fillAccount, type FilledAccount } from '../web-seed.ts'
import type { WebService } from '../web-service.ts'

// Pages of an account with 10,000 batches, and pages on a slow network.

const [backend = { name: 'postgres', redisUrl: undefined }] = backends()

/** How long it may take to fill the account, in ms. */
const FILL_MS = 300_000

describe.skipIf(!canRunChromium())('an account with 10,000 batches', () => {
  let app: WebApp
  let started: WebService
  let window: TestWindow
  let page: Page
  let filled: FilledAccount

  beforeAll(async () => {
    app = await openWebApp({ backend })
    ;({ started, window, page } = app)
    const { user } = app
    filled = await fillAccount(user)
    await addManyBatches(started.service.db, filled.done, user.accountId)
  }, FILL_MS)
  afterAll(async () => await app[Symbol.asyncDispose]())

  test('lists 10,000 batches page by page, and finds one of them by its name', async () => {
    await page.goto('/app/batches')
    await settle(page, 'Batches')
    const rows = page.locator('tbody tr')
    expect(await rows.count()).toBe(50)
    await page.getByRole('button', { name: 'Show earlier batches' }).click()
    await expect.poll(() => rows.count()).toBe(100)
    await page.context().route('**/v1/batches?*', (route) => route.abort('connectionrefused'))
    await page.getByRole('button', { name: 'Show earlier batches' }).click()
    await page.getByRole('alert').filter({ hasText: 'this page tries again' }).waitFor()
    await page.context().unroute('**/v1/batches?*')
    await expect.poll(() => page.getByRole('alert').count()).toBe(0)
    await page.getByLabel('Search', { exact: true }).fill('many 7777')
    await expect
      .poll(() => rows.allTextContents())
      .toEqual([expect.stringContaining('one of many 7777')])
    await page.getByLabel('Search', { exact: true }).fill('there is none')
    await page.getByText('None found').waitFor()
  })

  test('shows 5,000,000 rows, names of 500 characters and names from right to left within every window', async () => {
    const problems: string[] = []
    for (const [path, heading] of [
      ['/app', 'Overview'],
      ['/app/batches', 'Batches'],
      ['/app/batches/bat_long', LONG_NAME],
      ['/app/batches/bat_rtl', RIGHT_TO_LEFT],
      [`/app/batches/new?id=${filled.ready}`, 'New batch'],
      ['/app/settings', 'Settings'],
    ] as const) {
      await page.goto(path)
      // Copies of a batch have no rows: only the part of the page above these is checked.
      if (path.includes('/bat_')) {
        await expect.poll(() => page.locator('main').textContent()).toMatch(/of [\d,]+ rows/)
      } else await settle(page, heading)
      expect(await page.locator('h1').textContent()).toBe(heading)
      const faults = [...(await widthFaults(page)), ...(await faultsOfPage(page, ONE_VIEW))]
      problems.push(...faults.map((fault) => `${path} ${fault}`))
    }
    expect(problems).toEqual([])
    await page.goto('/app/batches/bat_long')
    const total = new Intl.NumberFormat('en-US').format(ROWS)
    await expect.poll(() => page.locator('main').textContent()).toContain(`of ${total} rows`)
    expect(exceptMissingRows(window.faults)).toEqual([])
  })

  test('a row of the list of batches is shown whole in a window of any width', async () => {
    await page.goto('/app/batches')
    await settle(page, 'Batches')
    const hidden: string[] = []
    for (const width of [320, 640, 768, 900, 1_024, 1_280]) {
      await page.setViewportSize({ width, height: 800 })
      await untilRepainted(page)
      const px = await page.evaluate<number>(`(() => {
        const { scrollWidth, clientWidth } = document.querySelector('.table-box')
        return scrollWidth - clientWidth
      })()`)
      if (px > 0) hidden.push(`${width}: ${px} px`)
    }
    expect(hidden).toEqual([])
  })

  test('on a slow network each page shows its heading at once, and its layout does not shift later', async () => {
    await using slow = await openWindow(started.service.url, {
      width: 360,
      height: 740,
      cookies: await window.context.cookies(),
    })
    const cdp = await slow.context.newCDPSession(slow.page)
    await cdp.send('Network.enable')
    await cdp.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 200,
      downloadThroughput: 100_000,
      uploadThroughput: 50_000,
    })
    await slow.context.addInitScript(WATCH)
    const problems: string[] = []
    for (const [path, heading] of [
      ['/app', 'Overview'],
      ['/app/batches', 'Batches'],
      [`/app/batches/new?id=${filled.ready}`, 'New batch'],
      ['/app/keys', 'API keys'],
      ['/app/usage', 'Usage'],
      ['/app/settings', 'Settings'],
    ] as const) {
      await slow.page.goto(path)
      await settle(slow.page, heading)
      const seen = await slow.page.evaluate<{
        skeleton: boolean
        headings: string[]
        shift: number
      }>('seen')
      if (!seen.skeleton) problems.push(`${path} does not show that it is loading`)
      if (seen.headings.length === 0) problems.push(`${path} has no heading meanwhile`)
      if (seen.shift >= MOST_SHIFT) problems.push(`${path} jumps by ${seen.shift.toFixed(2)}`)
    }
    expect(problems).toEqual([])
    expect(exceptMissingRows(slow.faults)).toEqual([])
  })
})

/**
 * Layout shift that counts as poor; up to 0.1 is good. Source: web.dev, Cumulative Layout Shift, 2024.
 */
const MOST_SHIFT = 0.25

/** Errors of the browser, except for aborted requests of results: copies of a batch have no rows. */
function exceptMissingRows(faults: readonly string[]): readonly string[] {
  return faults.filter((fault) => !fault.includes('Failed to load resource: net::'))
}

/** Script that records while a page loads: whether it shows that, its headings, and the layout shift. */
const WATCH = `
  window.seen = { skeleton: false, headings: [], shift: 0 }
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) seen.shift += value
  }).observe({ type: 'layout-shift', buffered: true })
  new MutationObserver(() => {
    if (document.querySelector('.skeleton') === null) return
    seen.skeleton = true
    const heading = document.querySelector('h1')?.textContent
    if (heading && !seen.headings.includes(heading)) seen.headings.push(heading)
  }).observe(document, { childList: true, subtree: true })
`
