import { existsSync } from 'node:fs'
import { isCi } from '@plumbline/testkit/ci'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Cookie,
  type Page,
} from 'playwright-core'

// A real browser, Debian's Chromium, with a new profile.

const CHROMIUM = '/usr/bin/chromium'

/** Time-out of a browser or page, in ms. */
const PATIENCE_MS = 60_000

/**
 * Features that are switched off: those that Playwright 1.65 switches off, as Chromium only takes the last
 * list, and at the end the pages below the address bar, which no test sees. Each window loads two of those,
 * which takes as long as five windows without them.
 */
const FEATURES_OFF = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
  'CDPScreenshotNewSurface',
  'SkipListAccountsWithoutGaiaCookies',
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
]

/** Switches that prevent network requests of a fresh profile, and work that no test needs. */
const SWITCHES = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--disable-features=${FEATURES_OFF.join(',')}`,
]

/** Whether Chromium is installed, or required: with CI=true the tests fail without it. */
export function canRunChromium(): boolean {
  return isCi() || existsSync(CHROMIUM)
}

/** Options of a window. */
export interface WindowOptions {
  readonly width?: number
  readonly height?: number
  readonly colorScheme?: 'light' | 'dark'
  /** Cookies of a user who is signed in in another window. */
  readonly cookies?: readonly Cookie[]
  /** Port of the browser's debugger, for other tools. */
  readonly debugPort?: number
}

/** A browser with one user's cookies. */
export interface TestWindow extends AsyncDisposable {
  readonly context: BrowserContext
  readonly page: Page
  /** Opens another page with the same cookies. */
  open(): Promise<Page>
  /** Console errors, exceptions, requests to other hosts, and dialogs. */
  readonly faults: string[]
}

/** Opens a window on a service; `baseUrl` without path. */
export async function openWindow(
  baseUrl: string,
  {
    width = 1280,
    height = 860,
    colorScheme = 'light',
    cookies = [],
    debugPort,
  }: WindowOptions = {},
): Promise<TestWindow> {
  await using stack = new AsyncDisposableStack()
  const settings = {
    baseURL: baseUrl,
    viewport: { width, height },
    colorScheme,
    acceptDownloads: true,
  }
  const context =
    debugPort === undefined
      ? await (await shareBrowser()).newContext(settings)
      : await openProfile(stack, settings, debugPort)
  stack.defer(async () => await context.close())
  context.setDefaultTimeout(PATIENCE_MS)
  await context.addCookies([...cookies])
  const faults: string[] = []
  const watch = (page: Page): void => watchFor(page, baseUrl, faults)
  context.on('page', watch)
  const [first] = context.pages()
  if (first !== undefined) watch(first)
  const page = first ?? (await context.newPage())
  const owned = stack.move()
  return {
    context,
    page,
    faults,
    open: async () => await context.newPage(),
    [Symbol.asyncDispose]: async () => await owned.disposeAsync(),
  }
}

/** One browser for all windows of a process, each with cookies and a cache of its own: a start takes seconds. */
let shared: Promise<Browser> | undefined

async function shareBrowser(): Promise<Browser> {
  shared ??= chromium.launch({
    executablePath: CHROMIUM,
    args: [...SWITCHES],
    timeout: PATIENCE_MS,
  })
  return await shared
}

/** Closes the browser of all windows; must be called at the end of what opens them. */
export async function closeBrowser(): Promise<void> {
  const browser = shared
  shared = undefined
  await (await browser)?.close()
}

/** Opens a separate browser, whose debugger gives other tools access to the same signed-in profile. */
async function openProfile(
  stack: AsyncDisposableStack,
  settings: BrowserContextOptions,
  debugPort: number,
): Promise<BrowserContext> {
  const profile = await mkdtemp(join(tmpdir(), 'plumbline-browser-'))
  stack.defer(
    async () => await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }),
  )
  return await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM,
    args: [...SWITCHES, `--remote-debugging-port=${debugPort}`],
    timeout: PATIENCE_MS,
    ...settings,
  })
}

function watchFor(page: Page, baseUrl: string, faults: string[]): void {
  page.on('console', (message) => {
    if (!['error', 'warning'].includes(message.type())) return
    faults.push(`console: ${message.text()} at ${message.location().url}`)
  })
  page.on('pageerror', (error) => faults.push(`exception: ${error.message}`))
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(baseUrl) && !/^(?:blob|data|about):/.test(url)) {
      faults.push(`request elsewhere: ${url}`)
    }
  })
}
