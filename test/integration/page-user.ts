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
  upload(label: string, path: string): Promise<void>
}

/** Creates a user of a page. */
export type OpenPageUser = (page: Page) => PageUser

/** A user with a mouse: clicks visible elements, and drops files on the page. */
export function byMouse(page: Page): PageUser {
  const { button, link, field } = namesOf(page)
  return {
    press: async (name) => await button(name).click(),
    follow: async (name) => await link(name).click(),
    type: async (label, text) => await field(label).fill(text),
    choose: async (label, option) => {
      await field(label).selectOption({ label: option })
    },
    upload: async (_label, path) => await drop(page, basename(path), await readFile(path, 'utf8')),
  }
}

/** A user with a keyboard only: moves to an element by Tab, and operates it by a key. */
export function byKeyboard(page: Page): PageUser {
  const { button, link, field } = namesOf(page)
  const { keyboard } = page
  // Registered now, since the browser learns asynchronously that file choosers are intercepted: the first
  // one would otherwise be missed.
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
    upload: async (label, path) => {
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
  throw new Error(`${String(target)} cannot be reached by Tab`)
}

async function isFocused(target: Locator): Promise<boolean> {
  return (await target.and(target.page().locator(':focus')).count()) > 0
}

async function drop(page: Page, name: string, text: string): Promise<void> {
  // A string, since the code runs in the browser, whose types are not declared here.
  const dropped = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer()
    const [name, text] = ${JSON.stringify([name, text])}
    transfer.items.add(new File([text], name, { type: 'text/csv' }))
    return transfer
  })()`)
  await page.locator('.drop').dispatchEvent('drop', { dataTransfer: dropped })
}
