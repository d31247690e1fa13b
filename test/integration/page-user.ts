import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'

// How a user operates a page, by mouse or by keyboard.

/** Operates a page as a user does, by accessible names. */
export interface PageUser {
  press(button: string): Promise<void>
  follow(link: string): Promise<void>
  type(label: string, text: string): Promise<void>
  /** Chooses an option of a list by its text. */
  choose(label: string, option: string): Promise<void>
  /** Uploads a local file. */
  give(label: string, path: string): Promise<void>
}

/** Creates the input of a page. */
export type WithPageUser = (page: Page) => PageUser

/** By mouse: clicks visible elements, and drops files on the page. */
export function byMouse(page: Page): PageUser {
  const { button, link, field } = namesOf(page)
  return {
    press: async (name) => await button(name).click(),
    follow: async (name) => await link(name).click(),
    type: async (label, text) => await field(label).fill(text),
    choose: async (label, option) => {
      await field(label).selectOption({ label: option })
    },
    give: async (_label, path) => await drop(page, basename(path), await readFile(path, 'utf8')),
  }
}

/** Only by keyboard: Tab to the element, and the key that operates it. */
export function byKeyboard(page: Page): PageUser {
  const { button, link, field } = namesOf(page)
  const { keyboard } = page
  // From now on, for a browser is not told at once that choosers are waited for: the first would
  // open unseen.
  page.on('filechooser', () => undefined)
  return {
    press: async (name) => {
      await tabTo(page, button(name))
      await keyboard.press('Space')
    },
    follow: async (name) => {
      await tabTo(page, link(name))
      await keyboard.press('Enter')
    },
    type: async (label, text) => {
      await tabTo(page, field(label))
      await keyboard.type(text)
    },
    choose: async (label, option) => {
      const list = field(label)
      await tabTo(page, list)
      const options = await list.locator('option').allTextContents()
      const chosen = (await list.locator('option:checked').textContent()) ?? ''
      const steps = options.indexOf(option) - options.indexOf(chosen)
      const key = steps < 0 ? 'ArrowUp' : 'ArrowDown'
      for (let step = 0; step < Math.abs(steps); step += 1) {
        await keyboard.press(key)
        // The keyboard continues from here.
        expect(await isFocused(list), `${label} keeps the focus`).toBe(true)
      }
    },
    give: async (label, path) => {
      await tabTo(page, field(label))
      const choosing = page.waitForEvent('filechooser')
      await keyboard.press('Space')
      await (await choosing).setFiles(path)
    },
  }
}

function namesOf(
  page: Page,
): Readonly<Record<'button' | 'link' | 'field', (name: string) => Locator>> {
  return {
    button: (name) => page.getByRole('button', { name, exact: true }),
    link: (name) => page.getByRole('link', { name, exact: true }),
    field: (name) => page.getByLabel(name, { exact: true }),
  }
}

/** Most presses of Tab from one element of a page to another. */
const MOST_TABS = 120

async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor()
  await expect.poll(() => target.isEnabled()).toBe(true)
  for (let press = 0; press < MOST_TABS; press += 1) {
    if (await isFocused(target)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`no way by Tab to ${String(target)}`)
}

async function isFocused(target: Locator): Promise<boolean> {
  return (await target.and(target.page().locator(':focus')).count()) > 0
}

async function drop(page: Page, name: string, text: string): Promise<void> {
  // As text, for it runs in the browser, whose types are not those of Node.
  const dropped = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer()
    const [name, text] = ${JSON.stringify([name, text])}
    transfer.items.add(new File([text], name, { type: 'text/csv' }))
    return transfer
  })()`)
  await page.locator('.drop').dispatchEvent('drop', { dataTransfer: dropped })
}
