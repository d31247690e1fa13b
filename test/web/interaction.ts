import type { Page } from 'playwright-core'
import { settle } from '../integration/axe.ts'

/** An input of a user, and the milliseconds from it to the next paint. */
export interface Interaction {
  readonly name: string
  readonly worstMs: number
}

/** How many more pages of batches are shown before the list is used. */
const MORE = 4

/**
 * Uses the pages of an account with many batches by pointer and keyboard, and returns the longest
 * time from each input to the next paint, to 8 ms. Source: web.dev, Interaction to Next Paint,
 * 2024.
 */
export async function interactions(page: Page, batchId: string): Promise<readonly Interaction[]> {
  await page.addInitScript(WATCH)
  const done: Interaction[] = []
  const act = async (name: string, work: () => Promise<void>): Promise<void> => {
    await page.evaluate('worst = 0')
    await work()
    // The paint is reported after the frame that follows it.
    await page.evaluate('new Promise((told) => requestAnimationFrame(() => setTimeout(told, 200)))')
    done.push({ name, worstMs: await page.evaluate<number>('worst') })
  }
  await page.goto('/app/batches')
  await settle(page, 'Batches')
  const rows = page.locator('tbody tr')
  await act('make the list longer', async () => {
    for (let pages = 0; pages < MORE; pages++) {
      const before = await rows.count()
      await page.getByRole('button', { name: 'Show earlier batches' }).click()
      await rows.nth(before).waitFor()
    }
  })
  const search = page.getByLabel('Search', { exact: true })
  await act('type into the search', () => search.pressSequentially('many 77', { delay: 120 }))
  await rows.first().waitFor()
  await act('empty the search', async () => {
    await search.press('ControlOrMeta+a')
    await search.press('Delete')
  })
  await act('choose a state', async () => {
    await page.getByLabel('State', { exact: true }).focus()
    await page.keyboard.press('C')
    await page.keyboard.press('Enter')
  })
  await page.goto('/app')
  await settle(page, 'Overview')
  await act('go to the batches', async () => {
    await page.getByRole('link', { name: 'All batches' }).click()
    await settle(page, 'Batches')
  })
  await page.goto(`/app/batches/${batchId}`)
  await rows.first().waitFor()
  await act('filter a result', async () => {
    await page.locator('main select').first().focus()
    await page.keyboard.press('ArrowDown')
  })
  return done
}

/** Script for the page: records the longest duration of an input event, in ms. */
const WATCH = `
  window.worst = 0
  new PerformanceObserver((list) => {
    for (const { interactionId, duration } of list.getEntries()) {
      if (interactionId > 0 && duration > worst) worst = duration
    }
  }).observe({ type: 'event', durationThreshold: 16 })
`
