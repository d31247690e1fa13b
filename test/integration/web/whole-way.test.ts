import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { backends } from '@plumbline/testkit/backends'
import { openSpreadsheet, WITHOUT_SPREADSHEET } from '@plumbline/testkit/spreadsheet'
import Papa from 'papaparse'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { canRunChromium, openWindow } from '../chromium.ts'
import { pathOfLink, startWebService } from '../web-service.ts'

// What a person does who has never been here: from the sign-up form to the ledger.

const ADDRESS = 'ada@people.test'
const PASSWORD = 'a long sentence with a plumb line'
const ROWS = 150

test.skipIf(!canRunChromium()).each(backends())(
  'on $name a new person signs up, gets a key, has a file checked and sees what it cost',
  async (backend) => {
    await using started = await startWebService({ backend, hasMail: true, words: ['--delay=40'] })
    const { service, mail } = started
    await using window = await openWindow(service.url)
    const { page, faults } = window

    await page.goto('/')
    await page.getByRole('link', { name: 'I have no account yet' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Ada')
    await page.getByLabel('Email', { exact: true }).fill(ADDRESS)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Create account', exact: true }).click()
    await expect.poll(() => page.getByText('a message with a link is on its way').count()).toBe(1)

    const { text } = await mail.wait(ADDRESS, 'Verify')
    await page.goto(pathOfLink(text))
    await signInWhereAsked(page)
    await heading(page, 'Overview')
    await expect.poll(() => page.locator('.figure').first().textContent()).toBe('200')

    await page.getByRole('link', { name: 'API keys' }).click()
    await page.getByRole('button', { name: 'Create live key', exact: true }).click()
    const key = (await page.getByRole('status').textContent()) ?? ''
    expect(key).toMatch(/^[a-z]+_live_[0-9A-Za-z]{20,}$/)
    expect((await service.call(key, 'POST', '/v1/email', { email: 'a@example.com' })).status).toBe(
      200,
    )

    await openNewBatch(page)
    await dropFile(page, 'many.csv', contacts(2_000))
    await expect.poll(() => page.getByText('This costs more than there is').count()).toBe(1)
    expect(await page.getByRole('button', { name: 'Start', exact: true }).isDisabled()).toBe(true)

    await page.getByRole('link', { name: 'Hand in another' }).click()
    const path = join(service.dataDir, 'a few.csv')
    await writeFile(path, contacts(ROWS))
    await page.getByLabel('File', { exact: true }).setInputFiles(path)
    const privately = page.getByLabel('What “Private email” is taken for')
    await privately.waitFor()
    await privately.selectOption('email')
    await expect.poll(() => page.locator('.figure').textContent()).toBe(String(ROWS))
    await page.getByRole('button', { name: 'Start', exact: true }).click()

    await expect.poll(() => page.getByRole('progressbar').count()).toBe(1)
    await expect.poll(() => page.getByText('Completed').count()).toBeGreaterThan(0)
    await page.getByLabel('Show', { exact: true }).selectOption('deliverable')
    await expect
      .poll(async () => [...new Set(await page.locator('td .badge').allTextContents())])
      .toEqual(['Send'])

    const csv = await download(page, 'Download CSV')
    const { data } = Papa.parse<Record<string, string>>(csv.toString('utf8'), {
      header: true,
      skipEmptyLines: true,
    })
    expect(data.map((row) => row['Private email'])).toEqual(addresses(ROWS))
    expect(data.map((row) => row['result.email'])).toEqual(addresses(ROWS))
    const workbook = await download(page, 'Download XLSX')
    // One backend is enough: the program takes long to start.
    if (backend.name === 'postgres') await expectCells(workbook, ROWS)

    await page.getByRole('link', { name: 'Credits', exact: true }).click()
    await expect.poll(() => page.getByText('Held for a batch').count()).toBeGreaterThan(0)
    await expect.poll(() => page.locator('dd').first().textContent()).toBe(String(200 - ROWS - 1))

    await page.getByRole('link', { name: 'API keys' }).click()
    await page.getByRole('button', { name: 'Replace key', exact: true }).click()
    await page.getByRole('button', { name: 'Replace it' }).click()
    await expect.poll(() => page.getByRole('status').textContent()).not.toBe(key)
    const replacedAt = performance.now()
    await expect.poll(async () => (await service.call(key, 'GET', '/v1/account')).status).toBe(401)
    expect(performance.now() - replacedAt).toBeLessThan(1_000)

    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await heading(page, 'Sign in')
    await page.goto('/app/keys')
    await heading(page, 'Sign in')
    expect(faults).toEqual([])
  },
)

async function signInWhereAsked(page: Page): Promise<void> {
  const button = page.getByRole('button', { name: 'Sign in', exact: true })
  await expect
    .poll(async () => (await button.count()) + (await page.getByText('credits to spend').count()))
    .toBeGreaterThan(0)
  if ((await button.count()) === 0) return
  await page.getByLabel('Email', { exact: true }).fill(ADDRESS)
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await button.click()
}

async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
}

async function openNewBatch(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Batches', exact: true }).click()
  await page.getByRole('button', { name: 'New batch', exact: true }).click()
  await page.getByLabel('Product', { exact: true }).selectOption('email')
}

/** Lets a file go over the page, as from a folder. */
async function dropFile(page: Page, name: string, text: string): Promise<void> {
  // As text, for it runs in the browser, whose types are not those of Node.
  const dropped = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer()
    const [name, text] = ${JSON.stringify([name, text])}
    transfer.items.add(new File([text], name, { type: 'text/csv' }))
    return transfer
  })()`)
  await page.locator('.drop').dispatchEvent('drop', { dataTransfer: dropped })
}

function addresses(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `person${index}@private.example`)
}

/** Two columns of addresses, of which the service takes the other one. */
function contacts(count: number): string {
  const rows = addresses(count).map(
    (address, index) => `P ${index},w${index}@work.example,${address}`,
  )
  return `${['Name,Email,Private email', ...rows].join('\n')}\n`
}

/** What LibreOffice sees in the workbook is what was handed in. */
async function expectCells(workbook: Buffer, count: number): Promise<void> {
  if (WITHOUT_SPREADSHEET) return
  await using spreadsheet = await openSpreadsheet()
  const { rows, formulas, links } = await spreadsheet.cellsOf(workbook)
  const at = rows[0]?.indexOf('Private email') ?? -1
  expect(rows.slice(1).map((cells) => cells[at])).toEqual(addresses(count))
  expect({ formulas, links }).toEqual({ formulas: [], links: [] })
}

async function download(page: Page, name: string): Promise<Buffer> {
  const arriving = page.waitForEvent('download')
  await page.getByRole('link', { name, exact: true }).click()
  return await readFile(await (await arriving).path())
}
