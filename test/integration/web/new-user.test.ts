import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { backends, type Backend } from '@plumbline/testkit/backends'
import { BEFORE_IT_ENDS } from '@plumbline/testkit/patience'
import { openSpreadsheet, WITHOUT_SPREADSHEET } from '@plumbline/testkit/spreadsheet'
import Papa from 'papaparse'
import type { Page } from 'playwright-core'
import { afterAll, expect, test } from 'vitest'
import { faultsOfPage } from '../axe.ts'
import { canRunChromium, closeBrowser, openWindow } from '../chromium.ts'
import { byKeyboard, byMouse, type PageUser, type OpenPageUser } from '../page-user.ts'
import { pathOfLink, startWebService } from '../web-service.ts'

// The first steps of a new user: from the sign-up form to the ledger.

const ADDRESS = 'ada@people.test'
const PASSWORD = 'a long sentence with a plumb line'
const ROWS = 150
const WIDE = { width: 1_280, height: 860, colorScheme: 'light' } as const

/** Each backend; the last one only by keyboard. */
const CASES: readonly (Backend & { readonly by: string; readonly userOf: OpenPageUser })[] =
  backends().map((backend, at, all) =>
    at === all.length - 1
      ? { ...backend, by: 'keyboard', userOf: byKeyboard }
      : { ...backend, by: 'mouse', userOf: byMouse },
  )

afterAll(closeBrowser)

test.skipIf(!canRunChromium()).each(CASES)(
  'on $name, by $by, a new user signs up, gets a key, has a file checked and sees what it cost',
  async ({ userOf, ...backend }) => {
    await using started = await startWebService({ backend, hasMail: true, words: ['--delay=40'] })
    const { service, mail } = started
    await using window = await openWindow(service.url)
    const { page, faults } = window
    const user = userOf(page)

    await page.goto('/')
    await user.follow('I have no account yet')
    await user.type('Name', 'Ada')
    await user.type('Email', ADDRESS)
    await user.type('Password', PASSWORD)
    await user.press('Create account')
    await expect.poll(() => page.getByText('a message with a link is on its way').count()).toBe(1)

    const { text } = await mail.wait(ADDRESS, 'Verify')
    await page.goto(pathOfLink(text))
    await page.getByText('Enter the password that you chose').waitFor()
    expect(await faultsOfPage(page, [WIDE])).toEqual([])
    await user.type('Password', PASSWORD)
    await user.press('Sign in')
    await heading(page, 'Overview')
    await expect.poll(() => page.locator('.figure').first().textContent()).toBe('200')

    await user.follow('API keys')
    await user.press('Create live key')
    const key = (await page.getByRole('status').textContent()) ?? ''
    expect(key).toMatch(/^[a-z]+_live_[0-9A-Za-z]{20,}$/)
    expect((await service.call(key, 'POST', '/v1/email', { email: 'a@example.com' })).status).toBe(
      200,
    )

    await user.follow('Batches')
    await user.press('New batch')
    const many = join(service.dataDir, 'many.csv')
    await writeFile(many, contacts(2_000))
    await user.upload('File', many)
    await expect.poll(() => page.getByText('This costs more than there is').count()).toBe(1)
    expect(await page.getByRole('button', { name: 'Start', exact: true }).isDisabled()).toBe(true)

    await user.follow('Submit another')
    const few = join(service.dataDir, 'a few.csv')
    await writeFile(few, contacts(ROWS))
    await user.upload('File', few)
    await user.choose('What “Private email” is taken for', 'Email address')
    await expect.poll(() => page.locator('.figure').textContent()).toBe(String(ROWS))
    await user.press('Start')

    await expect.poll(() => page.getByRole('progressbar').count(), BEFORE_IT_ENDS).toBe(1)
    await expect.poll(() => page.getByText('Completed').count()).toBeGreaterThan(0)
    await user.choose('Show', 'Deliverable')
    await expect
      .poll(async () => [...new Set(await page.locator('td .badge').allTextContents())])
      .toEqual(['Send'])

    const csv = await download(page, user, 'Download CSV', 'a few-result.csv')
    const data = rowsOf(csv)
    expect(data.map((row) => row['Private email'])).toEqual(addresses(ROWS))
    expect(data.map((row) => row['result.email'])).toEqual(addresses(ROWS))
    const workbook = await download(page, user, 'Download XLSX', 'a few-result.xlsx')
    // LibreOffice starts slowly, so one backend is enough.
    if (backend.name === 'postgres') await expectCells(workbook, ROWS)

    await user.choose('Rows in the file', 'Undeliverable')
    const bad = rowsOf(await download(page, user, 'Download CSV', 'a few-undeliverable.csv'))
    const statuses = bad.map((row) => row['result.email.status'])
    expect([...new Set(statuses)]).toEqual(['undeliverable'])

    await user.follow('Credits')
    await expect.poll(() => page.getByText('Held for a batch').count()).toBeGreaterThan(0)
    await expect.poll(() => page.locator('dd').first().textContent()).toBe(String(200 - ROWS - 1))

    await user.follow('API keys')
    await user.press('Replace key')
    await user.press('Replace it')
    await expect.poll(() => page.getByRole('status').textContent()).not.toBe(key)
    await expect.poll(async () => (await service.call(key, 'GET', '/v1/account')).status).toBe(401)

    await user.press('Sign out')
    await heading(page, 'Sign in')
    await page.goto('/app/keys')
    await heading(page, 'Sign in')
    expect(faults).toEqual([])
  },
)

async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
}

function addresses(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `person${index}@private.example`)
}

/** A file with two columns of addresses, of which the service first proposes the wrong one. */
function contacts(count: number): string {
  const rows = addresses(count).map(
    (address, index) => `P ${index},w${index}@work.example,${address}`,
  )
  return `${['Name,Email,Private email', ...rows].join('\n')}\n`
}

/** Asserts that LibreOffice reads the uploaded cells in the workbook. */
async function expectCells(workbook: Buffer, count: number): Promise<void> {
  if (WITHOUT_SPREADSHEET) return
  await using spreadsheet = await openSpreadsheet()
  const { rows, formulas, links } = await spreadsheet.cellsOf(workbook)
  const at = rows[0]?.indexOf('Private email') ?? -1
  expect(rows.slice(1).map((cells) => cells[at])).toEqual(addresses(count))
  expect({ formulas, links }).toEqual({ formulas: [], links: [] })
}

function rowsOf(csv: Buffer): readonly Readonly<Record<string, string>>[] {
  const options = { header: true, skipEmptyLines: true } as const
  return Papa.parse<Record<string, string>>(csv.toString('utf8'), options).data
}

/** Downloads by a link, to a file that has to have this name. */
async function download(
  page: Page,
  user: PageUser,
  link: string,
  fileName: string,
): Promise<Buffer> {
  const arriving = page.waitForEvent('download')
  await user.follow(link)
  const file = await arriving
  expect(file.suggestedFilename()).toBe(fileName)
  return await readFile(await file.path())
}
