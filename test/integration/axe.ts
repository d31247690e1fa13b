import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'

const SOURCE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** Widths and themes in which every page is checked. */
const VIEWS: readonly View[] = [
  { width: 360, height: 740, colorScheme: 'light' },
  { width: 1280, height: 860, colorScheme: 'light' },
  { width: 1280, height: 860, colorScheme: 'dark' },
  { width: 360, height: 740, colorScheme: 'dark' },
]

/** One view, for states of a page that another test checks in all views. */
export const ONE_VIEW: readonly View[] = VIEWS.slice(-1)

interface View {
  readonly width: number
  readonly height: number
  readonly colorScheme: 'light' | 'dark'
}

/**
 * Violations that axe finds on a page in each width and theme, and widths in which the page is wider than
 * the window.
 */
export async function faultsOfPage(
  page: Page,
  views: readonly View[] = VIEWS,
): Promise<readonly string[]> {
  const faults: string[] = []
  /** Widths whose page was checked by all rules; a theme changes nothing but the colours. */
  const checked = new Set<number>()
  for (const { width, height, colorScheme } of views) {
    const rules = checked.has(width) ? `runOnly: ['color-contrast'],` : ''
    checked.add(width)
    await page.setViewportSize({ width, height })
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await untilRepainted(page)
    // Once for each document, by the debugger, which the content security policy does not restrict.
    if (!(await page.evaluate<boolean>(`'axe' in window`))) {
      await page.evaluate(`${SOURCE};undefined`)
    }
    const found = await page.evaluate<readonly string[]>(`(async () => {
      const { violations } = await axe.run({ ${rules} resultTypes: ['violations'] })
      const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth
      return [
        ...(wide > 0 ? ['wider than the window by ' + wide] : []),
        ...violations.map(({ id, nodes }) => id + ': ' + nodes.map((node) => node.target.join(' ')).join(', ')),
      ]
    })()`)
    faults.push(...found.map((fault) => `${width} ${colorScheme}: ${fault}`))
  }
  return faults
}

/**
 * Waits until a page has been repainted, after a change of size or theme for example: until then it
 * has the old colours.
 */
export async function untilRepainted(page: Page): Promise<void> {
  await page.evaluate(
    'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))',
  )
}

/** The widths in which a page is wider than the window, as sentences. */
export async function widthFaults(page: Page): Promise<readonly string[]> {
  const faults: string[] = []
  for (const { width, height } of VIEWS) {
    await page.setViewportSize({ width, height })
    const over = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    if (over > 0) faults.push(`${width}: wider than the window by ${over}`)
  }
  return faults
}

/** Waits until a page shows its heading, with nothing still loading or rendering. */
export async function settle(page: Page, heading: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
  await page
    .locator('.skeleton, [role=region][aria-busy=true]')
    .first()
    .waitFor({ state: 'detached' })
}
