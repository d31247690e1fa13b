import { backends } from '@plumbline/testkit/backends'
import { startReceiver, type WebhookReceiver } from '@plumbline/testkit/webhook-receiver'
import jsQr from 'jsqr'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { faultsOfPage, ONE_VIEW, settle } from '../axe.ts'
import { canRunChromium, openWindow, type TestWindow } from '../chromium.ts'
import { invite, openWebApp, press, type WebApp } from '../web-app.ts'
import {
  fillAccount,
  pagesOf,
  PASSWORD,
  signUp,
  type FilledAccount,
  type TestUser,
} from '../web-seed.ts'
import type { WebService } from '../web-service.ts'

// Further actions of a user: webhooks, batches made from batches, a second factor.

const [backend = { name: 'postgres', redisUrl: undefined }] = backends()

/** A hostile response of an endpoint, to be shown as text. */
const HOSTILE = '<img src=x onerror=window.pwned=1> \u202Egnp قاعدة'

/** The refusal of a request. */
const REFUSAL = { error: 'Bad Request', message: 'This is refused for a test.' }

describe.skipIf(!canRunChromium())('in the app', () => {
  let app: WebApp
  let started: WebService
  let window: TestWindow
  let page: Page
  let user: TestUser
  let receiver: WebhookReceiver

  beforeAll(async () => {
    receiver = await startReceiver()
    app = await openWebApp({ backend, env: { EGRESS_ALLOW: '127.0.0.0/8' } })
    ;({ started, window, page, user } = app)
  })
  afterAll(async () => {
    await app[Symbol.asyncDispose]()
    await receiver[Symbol.asyncDispose]()
  })

  test('an endpoint is added, tested, viewed, replayed, rotated and removed', async () => {
    receiver.answer((_message, res) => res.writeHead(200).end(HOSTILE))
    await page.goto('/app/settings')
    await settle(page, 'Settings')
    await page.getByText('Add a webhook').click()
    await page.getByLabel('Address', { exact: true }).fill(`${receiver.url}/hook`)
    await page.getByLabel('A key was replaced').check()
    await press(page, 'Add')
    const first = await page.getByRole('status').textContent()
    expect(first).toMatch(/^whsec_/)
    await page.getByRole('link', { name: `${receiver.url}/hook` }).click()
    await settle(page, 'Webhook')

    await press(page, 'Send a test')
    await expect.poll(() => receiver.received).toHaveLength(1)
    await page.locator('.badge', { hasText: 'Arrived' }).waitFor()
    await page.getByRole('button', { name: /^Look at “A test”/ }).click()
    const dialog = page.getByRole('dialog')
    await dialog.locator('h2:focus').waitFor()
    expect(await dialog.evaluate(({ scrollTop }) => scrollTop)).toBe(0)
    await expect.poll(() => dialog.textContent()).toContain('<img src=x onerror=window.pwned=1>')
    expect(await dialog.textContent()).toContain('"webhook.test"')
    expect(await faultsOfPage(page, ONE_VIEW)).toEqual([])
    expect(
      await page.evaluate(
        'window.pwned ?? document.querySelectorAll("main img, dialog img").length',
      ),
    ).toBe(0)
    await press(page, 'Close')

    await page.getByRole('button', { name: /^Send again “A test”/ }).click()
    await expect.poll(() => receiver.received).toHaveLength(2)
    const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids).size).toBe(1)
    await page.getByText('Send again by time').click()
    await page.getByLabel('Since', { exact: true }).fill('2026-01-01T00:00')
    await press(page, 'Send all again')
    await page.getByRole('main').getByText('On their way again: 1 message.').waitFor()
    await expect.poll(() => receiver.received).toHaveLength(3)

    await press(page, 'Replace secret')
    await press(page, 'Replace it')
    expect(await page.getByRole('status').textContent()).not.toBe(first)
    await press(page, 'Switch it off')
    await page.getByText('Nothing is sent there.').waitFor()
    expect(await page.getByRole('button', { name: 'Send a test' }).count()).toBe(0)
    await press(page, 'Switch it on')
    await press(page, 'Send a test')
    await expect.poll(() => receiver.received).toHaveLength(4)
    // Both secrets sign for a day.
    expect(receiver.received[3]?.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/)
    expect(await faultsOfPage(page, ONE_VIEW)).toEqual([])

    await press(page, 'Remove')
    await press(page, 'Remove it')
    await settle(page, 'Settings')
    expect(await user.send('GET', '/v1/webhooks')).toEqual({ data: [] })
  })

  test('an ambiguous address is refused beside the input', async () => {
    await page.goto('/app/settings')
    await settle(page, 'Settings')
    await page.getByText('Add a webhook').click()
    await page.getByLabel('Address', { exact: true }).fill('http://8.8.8.8/hook')
    await press(page, 'Add')
    await expect.poll(() => page.getByRole('alert').textContent()).toContain('https://')
    expect(await page.getByLabel('Address', { exact: true }).inputValue()).toBe(
      'http://8.8.8.8/hook',
    )
  })

  test('rows of a batch are checked again at a price shown first, and the changes are shown', async () => {
    const rows = Array.from({ length: 60 }, (_, at) => `p${at}@example.com`)
    const done = await user.uploadCompleted({
      fileName: 'done.csv',
      text: `Email\n${rows.join('\n')}\n`,
    })
    await page.goto(`/app/batches/${done}`)
    await settle(page, 'done.csv')
    await page.getByText('Check some rows again').click()
    const unknown = page.getByRole('checkbox', { name: /^Unknown \(\d+\)$/ })
    expect(await unknown.isChecked()).toBe(true)
    const label = await page.locator('label', { hasText: /^Unknown/ }).textContent()
    await press(page, 'See what it costs')
    await settle(page, 'New batch')
    await expect.poll(() => page.locator('.figure').textContent()).toMatch(/^\d+$/)
    const cost = await page.locator('.figure').textContent()
    expect(label).toBe(`Unknown (${cost})`)
    await expect.poll(() => startButton(page).isEnabled()).toBe(true)
    await startButton(page).click()
    await page.getByText('Completed', { exact: true }).first().waitFor()
    await page.getByText('File and times').click()
    expect(
      await page.getByRole('link', { name: 'Rows of another, again' }).getAttribute('href'),
    ).toBe(`/app/batches/${done}`)
    await press(page, 'Compare')
    await page.getByText('Compared', { exact: true }).waitFor()
    expect(
      await page.getByRole('region', { name: 'Verdicts before and after' }).textContent(),
    ).toContain(`UnknownThe same${cost}`)
    expect(await faultsOfPage(page, ONE_VIEW)).toEqual([])
  })

  test('verdicts of another service are kept if the user chooses so, and differing ones are shown', async () => {
    const rows = Array.from({ length: 53 }, (_, at) => `k${at}@example.com,valid,${HOSTILE}`)
    const text = `Email,ZB Status,Id\n${rows.join('\n')}\nq@example.com,catch-all,\n`
    const judged = await user.uploadReady({ fileName: 'judged.csv', text })
    await page.goto(`/app/batches/new?id=${judged}`)
    await settle(page, 'New batch')
    const kept = page.getByLabel('Verdicts of another service', { exact: true })
    expect(await kept.inputValue()).toBe('')
    await kept.selectOption('30d')
    // The file has no date of the verdicts.
    await page
      .locator('.notice', { hasText: 'does not tell when its verdicts were given' })
      .waitFor()
    expect(await startButton(page).isEnabled()).toBe(false)
    await page.getByLabel('Day of the verdicts').fill(new Date().toISOString().slice(0, 10))
    await press(page, 'Take this day')
    await expect.poll(() => page.locator('dt:text-is("Known, free") + dd').textContent()).toBe('3')
    await expect.poll(() => page.locator('.figure').textContent()).toBe('51')
    await page.reload()
    await settle(page, 'New batch')
    expect(await kept.inputValue()).toBe('30d')
    expect(await faultsOfPage(page, ONE_VIEW)).toEqual([])
    await expect.poll(() => startButton(page).isEnabled()).toBe(true)
    await startButton(page).click()
    await page.getByText('Completed', { exact: true }).first().waitFor()
    await page.locator('dt:text-is("Checked") + dd:text-is("50 of 50")').waitFor()
    const pairs = page.getByRole('region', { name: 'Their verdicts and ours' })
    expect(await pairs.textContent()).toContain('DeliverableUndeliverable')
    await page.getByText('Rows on which we disagree').click()
    const differing = page.getByRole('region', { name: 'Rows on which we disagree' })
    expect(await differing.textContent()).toContain('<img src=x onerror=window.pwned=1>')
    expect(await differing.textContent()).toContain('Undeliverable: mailbox not found')
    expect(
      await page.evaluate('window.pwned ?? document.querySelectorAll("main img").length'),
    ).toBe(0)
    await page.getByLabel('Show', { exact: true }).selectOption('known')
    await page.getByText('ZeroBounce says valid').first().waitFor()
    expect(await faultsOfPage(page)).toEqual([])
    await page.route('**/known', (route) => route.fulfill({ status: 400, json: REFUSAL }))
    await page.reload()
    await page.getByRole('alert').filter({ hasText: REFUSAL.message }).waitFor()
    expect(await pairs.count()).toBe(0)
    await page.unroute('**/known')
  })

  test('numbers without country code are reported; choosing a country makes them valid', async () => {
    const text = 'Name,Phone\nA,030 1234567\nB,+44 20 7946 0958\n'
    const called = await user.uploadReady({ fileName: 'called.csv', product: 'phone', text })
    await page.goto(`/app/batches/new?id=${called}`)
    await settle(page, 'New batch')
    await page.getByText('Why rows are refused').click()
    await page.getByText('has no country code, which can be chosen under Columns').waitFor()
    const country = page.getByLabel('Country', { exact: true })
    expect(await country.inputValue()).toBe('')
    await country.selectOption({ label: 'Germany' })
    await expect.poll(() => page.locator('dt:text-is("Charged rows") + dd').textContent()).toBe('2')
    expect(await country.inputValue()).toBe('DE')
    await page.reload()
    await settle(page, 'New batch')
    expect(await country.inputValue()).toBe('DE')
    expect(await faultsOfPage(page, ONE_VIEW)).toEqual([])
  })

  test('a batch with scores is scored again, free of charge', async () => {
    const done = await user.uploadCompleted({
      fileName: 'scored.csv',
      product: 'fraud-signals',
      text: 'Email,IP\na@example.com,203.0.113.9\n',
    })
    await page.goto(`/app/batches/${done}`)
    await settle(page, 'scored.csv')
    await page.getByText('Score it again').click()
    await page.getByLabel('Version of the weights').fill('nobody had these')
    await press(page, 'Score again')
    await expect
      .poll(() => page.getByRole('alert').textContent())
      .toContain('no weights of this version')
    await page.getByLabel('Version of the weights').fill('')
    await press(page, 'Score again')
    await expect.poll(() => page.url()).not.toContain(done)
    await page.getByText('Completed', { exact: true }).first().waitFor()
    await page.getByText('File and times').click()
    await page.getByRole('link', { name: 'Another, scored again' }).waitFor()
    expect(await page.locator('dt:text-is("Used") + dd').textContent()).toBe('0')
  })

  test('values are erased after they are shown and confirmed, and all stored data is one file', async () => {
    const list = 'Email\ngone@example.com\nkept@example.com\n'
    const batch = await user.uploadCompleted({ fileName: 'people.csv', text: list })
    await page.goto('/app/settings')
    await settle(page, 'Settings')
    await page.getByRole('link', { name: 'Erase values', exact: true }).click()
    await settle(page, 'Erase values')
    await page.getByText('Nothing was erased yet').waitFor()
    const values = page.getByLabel('Values', { exact: true })
    await values.fill(`gone@example.com\n${HOSTILE}`)
    await page.locator('.notice', { hasText: 'No value that can be erased' }).waitFor()
    expect(
      await page.evaluate('window.pwned ?? document.querySelectorAll("main img").length'),
    ).toBe(0)
    const erase = page.getByRole('button', { name: 'Erase', exact: true })
    expect(await erase.isEnabled()).toBe(false)
    await values.fill('gone@example.com\ngone.example')
    await page.getByText('1 email, 1 domain', { exact: true }).waitFor()
    await erase.click()
    await press(page, 'Keep as it is')
    expect(await user.send('GET', '/v1/erase')).toEqual({ data: [], next_cursor: null })
    await erase.click()
    await press(page, 'Erase them')
    await page.locator('.notice', { hasText: 'Nothing of these values is left.' }).waitFor()
    expect(await values.inputValue()).toBe('')
    const receipts = page.getByRole('region', { name: 'Receipts, newest first' })
    expect(await receipts.getByRole('link').count()).toBe(1)
    expect(page.url()).toContain(await receipts.getByRole('link').textContent())
    expect(await faultsOfPage(page, ONE_VIEW)).toEqual([])

    await page.goto(`/app/batches/${batch}`)
    await settle(page, 'people.csv')
    const rows = page.getByRole('region', { name: 'Rows of the result' })
    expect(await rows.textContent()).toContain('kept@example.com')
    expect(await page.locator('body').textContent()).not.toContain('gone@example.com')
    await page.goto('/app/settings')
    await settle(page, 'Settings')
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download all of it', exact: true }).click(),
    ])
    expect(file.suggestedFilename()).toBe(`${user.accountId}.zip`)
    expect(await file.failure()).toBeNull()
  })

  test('a viewer sees no action that they may not do, and is refused it', async () => {
    const link = await invite(user, 'vera@people.test', 'viewer')
    const filled = await fillAccount(user)
    await using other = await openWindow(started.service.url)
    const { page: seen } = other
    await seen.goto(link.pathname + link.hash)
    await seen.getByLabel('Name', { exact: true }).fill('Vera')
    await seen.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await press(seen, 'Create account')
    await settle(seen, 'Overview')
    const offered: string[] = []
    for (const { path, heading } of pagesOf(filled)) {
      await seen.goto(path)
      await settle(seen, heading)
      for (const name of FOR_MEMBERS) {
        const count = await seen.getByRole('button', { name, exact: true, disabled: false }).count()
        if (
          count +
            (await seen.getByText(name, { exact: true }).and(seen.locator('summary')).count()) >
          0
        )
          offered.push(`${path} ${name}`)
      }
    }
    expect(offered).toEqual([])
    await seen.goto(`/app/batches/${filled.ready}`)
    await seen.getByText('An owner or member can start it.').waitFor()
    expect(await seen.getByRole('link', { name: 'See what it costs' }).count()).toBe(0)
    expect(other.faults).toEqual([])
    const refused = await seen.evaluate<readonly (readonly [number, string])[]>(`Promise.all(
      ${JSON.stringify(refusedToViewers(filled))}.map(async ([method, path]) => {
        const headers = { 'Content-Type': 'application/json' }
        const answer = await fetch(path, { method, headers, body: '{}' })
        return [answer.status, (await answer.json()).message]
      }))`)
    for (const [status, message] of refused) {
      expect(status).toBe(403)
      expect(message).toMatch(/^[A-Z].+\.$/)
    }
  })

  test('a page does nothing in another account that was chosen in another window meanwhile', async () => {
    await using other = await openWindow(started.service.url)
    const grace = await signUp(started.service, other.context.request, {
      email: 'grace@people.test',
      name: 'Grace',
    })
    const token = (await invite(user, 'grace@people.test', 'owner')).hash.slice(1)
    const choose = (id: string) => grace.send('POST', '/app/api/switch', { account_id: id })
    await grace.send('POST', '/app/api/invitations/accept', { token })
    await choose(grace.accountId)
    await other.page.goto('/app/keys')
    await settle(other.page, 'API keys')
    const before = await user.send('GET', '/app/api/keys')
    await choose(user.accountId)
    await press(other.page, 'Create live key')
    await other.page.getByText('You have switched to another account meanwhile').waitFor()
    expect(await user.send('GET', '/app/api/keys')).toEqual(before)
  })

  test('a second factor is set up from a QR code, which is in no request', async () => {
    const sent: string[] = []
    page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`))
    await page.goto('/app/settings')
    await settle(page, 'Settings')
    await page.getByLabel('Password to begin').fill(PASSWORD)
    await press(page, 'Set up a second factor')
    const uri = await page.getByRole('link', { name: 'open it there' }).getAttribute('href')
    expect(uri).toMatch(/^otpauth:\/\/totp\//)
    await page.locator('.qr-ink[d^=M]').waitFor()
    expect(await readCode(page)).toBe(uri)
    const secret = new URL(uri ?? '').searchParams.get('secret') ?? 'none'
    expect(sent.filter((one) => one.includes(secret))).toEqual([])
    expect(await faultsOfPage(page, ONE_VIEW)).toEqual([])
  })

  test('none of the actions above wrote to the console or executed customer data', () => {
    // The browser itself logs refused requests.
    const refused = /status of 4\d\d/
    expect(window.faults.filter((fault) => !refused.test(fault))).toEqual([])
  })
})

function startButton(page: Page): ReturnType<Page['getByRole']> {
  return page.getByRole('button', { name: 'Start', exact: true })
}

/** The content of the QR code on the page. */
async function readCode(page: Page): Promise<string | undefined> {
  const { side, pixels } = await page.evaluate<{ side: number; pixels: number[] }>(`(() => {
    const svg = document.querySelector('.qr')
    const scale = 4
    const side = svg.viewBox.baseVal.width * scale
    const canvas = new OffscreenCanvas(side, side).getContext('2d')
    const fill = (name) => getComputedStyle(svg.querySelector(name)).fill
    canvas.fillStyle = fill('.qr-ground')
    canvas.fillRect(0, 0, side, side)
    canvas.scale(scale, scale)
    canvas.fillStyle = fill('.qr-ink')
    canvas.fill(new Path2D(svg.querySelector('.qr-ink').getAttribute('d')))
    return { side, pixels: [...canvas.getImageData(0, 0, side, side).data] }
  })()`)
  return jsQr.default(new Uint8ClampedArray(pixels), side, side)?.data
}

/** Actions that change something or cost credits: buttons, and headings that open a form. */
const FOR_MEMBERS: readonly string[] = [
  'New batch',
  'Start',
  'Check a sample',
  'Delete',
  'Cancel batch',
  'Check some rows again',
  'Score it again',
  'Look up',
  'Create live key',
  'Create test key',
  'Replace key',
  'Revoke',
  'Save',
  'Invite',
  'Remove',
  'Hand over',
  'Add a webhook',
  'Send a test',
  'Switch it off',
  'Replace secret',
  'Send again',
  'Send again by time',
  'Close it for good',
  'Erase',
]

/** Calls that a page of a member makes. */
function refusedToViewers({ done, ready, webhook }: FilledAccount): readonly (readonly string[])[] {
  return [
    ['POST', `/v1/batches/${ready}/start`],
    ['PATCH', `/v1/batches/${ready}`],
    ['POST', `/v1/batches/${done}/recheck`],
    ['DELETE', `/v1/batches/${done}`],
    ['POST', '/v1/email'],
    ['POST', `/v1/webhooks/${webhook}/test`],
    ['POST', `/v1/webhooks/${webhook}/rotate`],
    ['DELETE', `/v1/webhooks/${webhook}`],
    ['POST', '/app/api/keys'],
    ['POST', '/app/api/invitations'],
    ['PATCH', '/app/api/account'],
    ['POST', '/v1/erase'],
  ]
}
