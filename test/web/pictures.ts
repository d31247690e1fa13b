import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openDatabase } from '@plumbline/db/database'
import { setOperator } from '@plumbline/db/people/users'
import type { Page } from 'playwright-core'
import { settle } from '../integration/axe.ts'
import { closeBrowser, openWindow, type TestWindow } from '../integration/chromium.ts'
import { SIGN_IN_PAGES, operatorPagesOf, signUp, type PageOf } from '../integration/web-seed.ts'
import { spawnSimnet } from '../simnet/child.ts'
import { startLocal } from './local.ts'
import { fillSample } from './sample.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Folder of the screenshots of each page in each state. */
const ALL = join(ROOT, '.reports', 'pictures')
/** Folder of the screenshots in the documentation. */
const SHOWN = join(ROOT, 'docs', 'screenshots')

/** Pages that every account has. */
const STANDING: readonly PageOf[] = [
  { path: '/app', heading: 'Overview' },
  { path: '/app/batches', heading: 'Batches' },
  { path: '/app/batches/new', heading: 'New batch' },
  { path: '/app/try', heading: 'Try it' },
  { path: '/app/keys', heading: 'API keys' },
  { path: '/app/usage', heading: 'Usage' },
  { path: '/app/credits', heading: 'Credits' },
  { path: '/app/settings', heading: 'Settings' },
  { path: '/app/settings/erase', heading: 'Erase values' },
]

const WIDE = { width: 1_280, height: 860 }
const NARROW = { width: 360, height: 740 }
/** Requests by which pages read data, except that for the session. */
const READS = /\/(?:v1|app\/api)\/(?!session$)/
const REFUSAL = {
  status: 503,
  contentType: 'application/json',
  body: JSON.stringify({
    error: 'unavailable',
    message: 'The service has much to do; try again in a moment.',
  }),
}

/**
 * Takes screenshots of every page with sample data, into `.reports/pictures/STATE`: of a new
 * account (`empty`), while loading (`loading`), after a failed read (`refused`), and after some
 * weeks (`full`), in two widths and themes; and those of `docs/screenshots`.
 */
export async function takePictures(): Promise<void> {
  await rm(ALL, { recursive: true, force: true })
  await using simnet = await spawnSimnet({ seed: 1 })
  await using local = await startLocal(simnet.settings)
  await using atEnd = new AsyncDisposableStack()
  atEnd.defer(closeBrowser)
  await using stranger = await openWindow(local.url)
  await using window = await openWindow(local.url)
  await using db = openDatabase({ url: local.ownerUrl, poolSize: 1, applicationName: 'pictures' })
  const user = await signUp(local, window.context.request, {
    email: 'ada@people.test',
    name: 'Ada Lovelace',
  })
  await takeAll(stranger, 'sign-in', SIGN_IN_PAGES)
  await takeAll(window, 'empty', STANDING)
  await takeUnread(window)
  const { ready, others } = await fillSample(db, user)
  await takeAll(window, 'full', [...STANDING, ready, ...others])
  await takeShown(window, ready)
  await db.kysely.transaction().execute((tx) => setOperator(tx, user.userId, true))
  await using operator = await openWindow(local.adminUrl, {
    cookies: await window.context.cookies(),
  })
  await takeAll(operator, 'operator', operatorPagesOf(user.accountId))
  console.log(`Pictures are in ${ALL} and ${SHOWN}.`)
}

async function takeAll(
  { page }: TestWindow,
  state: string,
  pages: readonly PageOf[],
): Promise<void> {
  for (const [at, { path, heading }] of pages.entries()) {
    await page.goto(path)
    await settle(page, heading)
    await takeViews(page, state, nameOf(heading, at))
  }
}

/** Takes each page while it loads, and after its reads were refused. */
async function takeUnread({ page }: TestWindow): Promise<void> {
  for (const [at, { path, heading }] of STANDING.entries()) {
    const isSeen = Promise.withResolvers<void>()
    await page.route(READS, async (route) => {
      await isSeen.promise
      await route.fulfill(REFUSAL)
    })
    await page.goto(path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.getByText('Sign out').waitFor({ state: 'attached' })
    await takeViews(page, 'loading', nameOf(heading, at))
    isSeen.resolve()
    await settle(page, heading)
    await takeViews(page, 'refused', nameOf(heading, at))
    await page.unroute(READS)
  }
}

async function takeViews(page: Page, state: string, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    for (const [size, view] of [
      ['wide', WIDE],
      ['narrow', NARROW],
    ] as const) {
      await page.setViewportSize(view)
      await page.screenshot({
        path: join(ALL, state, `${name}-${size}-${colorScheme}.png`),
        fullPage: true,
      })
    }
  }
}

async function takeShown({ page }: TestWindow, ready: PageOf): Promise<void> {
  await mkdir(SHOWN, { recursive: true })
  await page.setViewportSize(WIDE)
  for (const [name, path, heading, colorScheme] of [
    ['overview-light', '/app', 'Overview', 'light'],
    ['overview-dark', '/app', 'Overview', 'dark'],
    ['preview-light', ready.path, ready.heading, 'light'],
    ['keys-light', '/app/keys', 'API keys', 'light'],
  ] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.goto(path)
    await settle(page, heading)
    await page.screenshot({ path: join(SHOWN, `${name}.png`) })
  }
}

/** The file name of a page's screenshot: `03-api-keys`. */
function nameOf(heading: string, at: number): string {
  const words = heading.toLowerCase().replaceAll(/[^a-z]+/g, '-')
  return `${String(at).padStart(2, '0')}-${words}`
}
