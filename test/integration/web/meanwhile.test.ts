import { accountSettings, memberList } from '@plumbline/contract/app/members'
import { keyList, newKeyResponse } from '@plumbline/contract/app/keys'
import { batchPreview } from '@plumbline/contract/batch-preview'
import { batchView } from '@plumbline/contract/batch-view'
import { rowOf, xlsxOf, zipOf } from '@plumbline/intake/workbook-fixture'
import { backends } from '@plumbline/testkit/backends'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { settle, untilRepainted } from '../axe.ts'
import { canRunChromium, openWindow, type TestWindow } from '../chromium.ts'
import { addSecondFactor, holdBack, invite, openWebApp, press, type WebApp } from '../web-app.ts'
import { PASSWORD, signUp, type TestUser } from '../web-seed.ts'
import type { WebService } from '../web-service.ts'

// What happens meanwhile: in another window, by another member, on a slow network, or a refusal.

const [backend = { name: 'postgres', redisUrl: undefined }] = backends()

const REFUSED = 'This is refused for a test.'

describe.skipIf(!canRunChromium())('in the app, meanwhile', () => {
  let app: WebApp
  let started: WebService
  let window: TestWindow
  let page: Page
  let user: TestUser

  beforeAll(async () => {
    // No worker checks phones, so that a sample with phones runs for a minute.
    app = await openWebApp({
      backend,
      kinds: ['email', 'ip', 'domain', 'batch'],
      env: {
        UNFINISHED_BATCHES_LIMIT: '100',
        SIGN_UPS_PER_NETWORK: '100',
        SIGN_UPS_PER_MAIL_DOMAIN: '100',
      },
    })
    ;({ started, window, page, user } = app)
  })
  afterAll(async () => await app[Symbol.asyncDispose]())

  /** A user with an account of their own, who is shown that of the first user as a member. */
  async function join(other: TestWindow, name: string): Promise<TestUser> {
    const email = `${name.toLowerCase()}@people.test`
    const joined = await signUp(started.service, other.context.request, { email, name })
    const token = (await invite(user, email, 'member')).hash.slice(1)
    await joined.send('POST', '/app/api/invitations/accept', { token })
    return joined
  }

  test('a member who is removed goes on in another account', async () => {
    await using other = await openWindow(started.service.url)
    const grace = await join(other, 'Grace')
    await user.send('DELETE', `/app/api/members/${grace.userId}`)
    await other.page.goto('/app/keys')
    await settle(other.page, 'API keys')
    await press(other.page, 'Go to Grace')
    await other.page.getByText('No key yet').first().waitFor()
    expect(await other.page.locator('.who-name').textContent()).toBe('Grace')
  })

  test('nothing of one account is shown in another that was chosen in another window', async () => {
    await using other = await openWindow(started.service.url)
    const grace = await join(other, 'Hedy')
    await user.upload({ fileName: 'of-ada.csv', text: 'Email\na@example.com\n' })
    await other.page.goto('/app/batches')
    await other.page.getByText('of-ada.csv').waitFor()
    await other.page.getByRole('link', { name: 'Try it', exact: true }).click()
    await settle(other.page, 'Try it')
    await grace.send('POST', '/app/api/switch', { account_id: grace.accountId })
    await other.page.route('**/v1/batches?*', () => undefined)
    await other.page.evaluate(`dispatchEvent(new Event('visibilitychange'))`)
    const shown = other.page.getByLabel('Account', { exact: true })
    await expect.poll(() => shown.inputValue()).toBe(grace.accountId)
    await other.page.getByRole('link', { name: 'Batches', exact: true }).click()
    await other.page.getByRole('heading', { level: 1, name: 'Batches', exact: true }).waitFor()
    await other.page.locator('.skeleton').first().waitFor()
    expect(await other.page.getByText('of-ada.csv').count()).toBe(0)
  })

  test('a narrow page says which of several accounts it shows', async () => {
    await using other = await openWindow(started.service.url, { width: 320 })
    const { page: narrow } = other
    const lise = await join(other, 'Lise')
    await lise.send('POST', '/app/api/switch', { account_id: lise.accountId })
    await narrow.goto('/app')
    await settle(narrow, 'Overview')
    const shown = narrow.locator('.shown-account')
    expect([await shown.isVisible(), await shown.textContent()]).toEqual([true, 'Lise'])
    await narrow.setViewportSize({ width: 1_280, height: 800 })
    await expect.poll(() => shown.isVisible()).toBe(false)
  })

  test('whoever has not verified an address can have another link sent', async () => {
    await using other = await openWindow(started.service.url, {
      cookies: await window.context.cookies(),
    })
    const { page: shown } = other
    await shown.route('**/app/api/session', async (route) => {
      const view = await (await route.fetch()).json()
      const [user, service] = [
        { ...view.user, verified: false },
        { ...view.service, has_mail: true },
      ]
      await route.fulfill({ json: { ...view, user, service } })
    })
    const asked: unknown[] = []
    await shown.route('**/app/api/verify/resend', async (route) => {
      asked.push(route.request().postDataJSON())
      await route.fulfill({ json: { outcome: 'check_mail' } })
    })
    await shown.goto('/app')
    await press(shown, 'Send a link')
    await shown.getByText('A message is on its way.').first().waitFor()
    expect(asked).toEqual([{ email: 'ada@people.test' }])
  })

  test('whoever lacks the second factor that an account asks for is told so before anything is refused', async () => {
    await using other = await openWindow(started.service.url)
    const { page: shown } = other
    const joined = await join(other, 'Nina')
    await started.service.db.pool.query(
      'update accounts set requires_second_factor = true where id = $1',
      [user.accountId],
    )
    await shown.goto('/app/batches/new')
    await settle(shown, 'New batch')
    await shown.getByText('This account asks its members for a second factor.').waitFor()
    await joined.send('POST', '/app/api/switch', { account_id: joined.accountId })
    await shown.reload()
    await settle(shown, 'New batch')
    expect(await shown.getByText('This account asks its members').count()).toBe(0)
    await started.service.db.pool.query(
      'update accounts set requires_second_factor = false where id = $1',
      [user.accountId],
    )
  })

  test('an invitation opened by another user can be accepted after signing out there', async () => {
    const link = await invite(user, 'rosa@people.test', 'viewer')
    await using other = await openWindow(started.service.url)
    const { page: shown } = other
    await signUp(started.service, other.context.request, { email: 'joan@people.test' })
    await shown.goto(link.pathname + link.hash)
    await shown.getByText('You are signed in as joan@people.test.').waitFor()
    await press(shown, 'Join the account')
    await shown.getByText('The invitation is for another address').waitFor()
    await press(shown, 'Sign out')
    await shown.getByLabel('Name', { exact: true }).fill('Rosa')
    await shown.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await press(shown, 'Create account')
    await settle(shown, 'Overview')
    // The browser itself logs the refusal.
    expect(other.faults.filter((fault) => !fault.includes('status of 403'))).toEqual([])
  })

  test('two columns that are chosen on a slow network are both taken', async () => {
    const id = await user.uploadReady({ fileName: 'columns.csv', text: 'A,B,C\nx,y,z\n1,2,3\n' })
    await page.goto(`/app/batches/new?id=${id}`)
    await settle(page, 'New batch')
    const release = await holdBack(page, `**/v1/batches/${id}`, 'PATCH')
    await page.getByLabel('What “B” is taken for').selectOption('email')
    await page.getByLabel('What “C” is taken for').selectOption('ref')
    expect(await page.getByLabel('What “B” is taken for').inputValue()).toBe('email')
    release()
    const fields = async (): Promise<unknown> => {
      const shown = batchPreview.parse(await user.send('GET', `/v1/batches/${id}/preview`))
      return shown.columns.map(({ field }) => field)
    }
    await expect.poll(fields).toEqual([null, 'email', 'ref'])
    await page.unroute(`**/v1/batches/${id}`)
  })

  test('a batch to which one goes back is read again in its own encoding', async () => {
    const [first, second] = [
      await user.upload({ fileName: 'first.csv', text: 'Email\na@example.com\n' }),
      await user.upload({ fileName: 'second.csv', text: 'Email\nb@example.com\n' }),
    ]
    await user.until(second, 'ready')
    await user.send('PATCH', `/v1/batches/${second}`, { encoding: 'windows-1252' })
    await user.until(first, 'ready')
    await user.until(second, 'ready')
    await page.goto(`/app/batches/new?id=${first}`)
    await settle(page, 'New batch')
    await page.getByText('Correct how it is read').click()
    const encoding = page.getByLabel('Encoding', { exact: true })
    expect(await encoding.inputValue()).toBe('utf-8')
    await page.evaluate(`(() => {
      history.pushState(null, '', '/app/batches/new?id=${second}')
      dispatchEvent(new PopStateEvent('popstate'))
    })()`)
    await page.locator('dt:text-is("Encoding") + dd:text-is("windows-1252")').waitFor()
    await page.goBack()
    await page.locator('dt:text-is("Encoding") + dd:text-is("utf-8")').waitFor()
    expect(await encoding.inputValue()).toBe('utf-8')
  })

  test('a workbook whose sheet was mistyped is read as at first again, and its sheets are named', async () => {
    const buffer = await xlsxOf({
      sheets: { Notes: rowOf('nothing here'), People: rowOf('Email') + rowOf('a@example.com') },
    })
    await page.goto('/app/batches/new')
    const file = { name: 'people.xlsx', mimeType: 'application/octet-stream', buffer }
    await page.getByLabel('File', { exact: true }).setInputFiles(file)
    await page.getByText('Correct how it is read').click()
    await page.getByText('There are: Notes, People.').waitFor()
    await page.getByLabel('Sheet', { exact: true }).fill('Poeple')
    await page.getByRole('button', { name: 'Read it anew', exact: true }).click()
    await page.getByText('The workbook has no sheet "Poeple"').waitFor()
    await page.getByRole('button', { name: 'Read it as at first', exact: true }).click()
    await page.locator('dt:text-is("Sheet") + dd:has-text("People")').waitFor()
    const start = page.getByRole('button', { name: 'Start', exact: true })
    await expect.poll(() => start.isEnabled()).toBe(true)
  })

  test('of a ZIP file with several files one is chosen, and the row of its header', async () => {
    const text = 'Our list of 2026\nc@d.example,1234567\n\nEmail,Name\na@example.com,Ann\n'
    const buffer = await zipOf({ 'readme.txt': 'hello', 'list.csv': text })
    await page.goto('/app/batches/new')
    const file = { name: 'all.zip', mimeType: 'application/zip', buffer }
    await page.getByLabel('File', { exact: true }).setInputFiles(file)
    await page.getByLabel('File to read', { exact: true }).selectOption('list.csv')
    await page.getByRole('button', { name: 'Read this file', exact: true }).click()
    await page.locator('dt:text-is("Rows") + dd:text-is("5")').waitFor()
    await page.getByText('Correct how it is read').click()
    await page.getByLabel('Header', { exact: true }).selectOption('Row 4')
    await page.locator('dt:text-is("Rows") + dd:text-is("1")').waitFor()
    await page.locator('dt:text-is("Header") + dd:text-is("Row 4")').waitFor()
    const start = page.getByRole('button', { name: 'Start', exact: true })
    await expect.poll(() => start.isEnabled()).toBe(true)
  })

  test('a preview of a file that is not read yet is asked for again', async () => {
    const id = await user.uploadReady({ fileName: 'late.csv', text: 'Email\na@example.com\n' })
    let count = 0
    await page.route('**/preview', async (route) => {
      count += 1
      if (count > 1) await route.continue()
      else {
        const headers = { 'Retry-After': '1' }
        await route.fulfill({ status: 409, headers, json: { error: 'Conflict', message: REFUSED } })
      }
    })
    await page.goto(`/app/batches/new?id=${id}`)
    const start = page.getByRole('button', { name: 'Start', exact: true })
    await expect.poll(() => start.isEnabled()).toBe(true)
    await page.unroute('**/preview')
  })

  test('a refused start says so where it was pressed, however many columns there are', async () => {
    const names = Array.from({ length: 40 }, (_, at) => `Column ${at}`)
    const id = await user.uploadReady({
      fileName: 'wide.csv',
      text: `Email,${names.join(',')}\na@example.com${',x'.repeat(40)}\n`,
    })
    await page.goto(`/app/batches/new?id=${id}`)
    await settle(page, 'New batch')
    await page.route('**/start', (route) =>
      route.fulfill({ status: 402, json: { error: 'Payment Required', message: REFUSED } }),
    )
    const start = page.getByRole('button', { name: 'Start', exact: true })
    await expect.poll(() => start.isEnabled()).toBe(true)
    await start.click()
    await page.getByRole('alert').filter({ hasText: REFUSED }).waitFor()
    expect(await isInView(page, '[role=alert]')).toBe(true)
    await page.unroute('**/start')
  })

  test('a refused change of the last of many columns says so within the window', async () => {
    const names = Array.from({ length: 40 }, (_, at) => `Column ${at}`)
    const id = await user.uploadReady({
      fileName: 'changed.csv',
      text: `Email,${names.join(',')}\na@example.com${',x'.repeat(40)}\n`,
    })
    await page.goto(`/app/batches/new?id=${id}`)
    await settle(page, 'New batch')
    await page.route(`**/v1/batches/${id}`, async (route) => {
      if (route.request().method() !== 'PATCH') await route.continue()
      else await route.fulfill({ status: 409, json: { error: 'Conflict', message: REFUSED } })
    })
    const last = page.getByLabel('What “Column 39” is taken for')
    await last.scrollIntoViewIfNeeded()
    await last.selectOption('ref')
    await page.getByRole('alert').filter({ hasText: REFUSED }).waitFor()
    expect(await isInView(page, '[role=alert]')).toBe(true)
    await page.unroute(`**/v1/batches/${id}`)
  })

  test('a batch that was started in another window, or resumed there, is shown as it is', async () => {
    const rows = Array.from({ length: 3 }, (_, at) => `+4930${1_000_000 + at}`)
    const id = await user.uploadReady({
      fileName: 'elsewhere.csv',
      product: 'phone',
      text: `Phone\n${rows.join('\n')}\n`,
    })
    await page.goto(`/app/batches/new?id=${id}`)
    await settle(page, 'New batch')
    await expect
      .poll(() => page.getByRole('button', { name: 'Start', exact: true }).isEnabled())
      .toBe(true)
    await user.send('POST', `/v1/batches/${id}/start`)
    await press(page, 'Start')
    await page.getByText('This batch was started already.').waitFor()
    expect(await page.getByLabel('Product', { exact: true }).isDisabled()).toBe(true)
    await page.getByRole('link', { name: 'Open it', exact: true }).click()
    await press(page, 'Pause')
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    await page.getByText(/^It resumes by itself on .+ cancel it\.$/).waitFor()
    await user.send('POST', `/v1/batches/${id}/resume`)
    await page.locator('.page-title .badge:text-is("Running")').waitFor()
    await press(page, 'Pause')
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    // The page does not see it before the user acts.
    await page.route(`**/v1/batches/${id}`, () => undefined)
    await page.route('**/resume', async (route) => {
      await page.unroute(`**/v1/batches/${id}`)
      await route.continue()
    })
    await user.send('POST', `/v1/batches/${id}/cancel`)
    await press(page, 'Resume')
    await page.locator('.page-title .badge:text-is("Canceled")').waitFor()
    expect(await page.getByRole('button', { name: 'Resume' }).count()).toBe(0)
    expect(await page.getByText('It resumes by itself').count()).toBe(0)
  })

  test('a batch whose progress is cut off is shown as unreachable until it is followed again', async () => {
    const id = await user.uploadReady({
      fileName: 'cut-off.csv',
      product: 'phone',
      text: 'Phone\n+4930123456\n',
    })
    await user.send('POST', `/v1/batches/${id}/start`)
    await page.route('**/events', async (route) => {
      await page.route(`**/v1/batches/${id}*`, (read) => read.abort('connectionrefused'))
      await page.route('**/events', (again) => again.abort('connectionrefused'))
      await route.fulfill({ contentType: 'text/event-stream', body: ': alive\n\n' })
    })
    await page.goto(`/app/batches/${id}`)
    await page.locator('.page-title .badge:text-is("Running")').waitFor()
    await page.getByRole('alert').filter({ hasText: 'cannot be reached' }).waitFor()
    await page.unrouteAll()
    await expect.poll(() => page.getByRole('alert').count()).toBe(0)
    await user.send('POST', `/v1/batches/${id}/cancel`)
    await page.locator('.page-title .badge:text-is("Canceled")').waitFor()
  })

  test('the list of batches is searched and filtered as before after going back to it', async () => {
    for (const fileName of ['found me.csv', 'another.csv']) {
      await user.uploadReady({ fileName, text: 'Email\na@example.com\n' })
    }
    await page.goto('/app/batches')
    await settle(page, 'Batches')
    const search = page.getByLabel('Search', { exact: true })
    const state = page.getByLabel('State', { exact: true })
    await search.fill('found me')
    await state.selectOption('ready')
    const links = page.getByRole('region', { name: 'Batches, newest first' }).getByRole('link')
    await expect.poll(() => links.allTextContents()).toEqual(['found me.csv'])
    await links.click()
    await settle(page, 'found me.csv')
    await page.goBack()
    await settle(page, 'Batches')
    expect([await search.inputValue(), await state.inputValue()]).toEqual(['found me', 'ready'])
    expect(await links.allTextContents()).toEqual(['found me.csv'])
    // The menu leads to all of them.
    await page.getByRole('link', { name: 'Batches', exact: true }).click()
    await expect.poll(() => links.count()).toBeGreaterThan(1)
    expect([await search.inputValue(), await state.inputValue()]).toEqual(['', ''])
  })

  test('a batch that runs is shown as running, however many newer ones there are', async () => {
    const running = await user.uploadReady({
      fileName: 'long.csv',
      product: 'phone',
      text: 'Phone\n+4930123456\n',
    })
    await user.send('POST', `/v1/batches/${running}/start`)
    for (let newer = 0; newer < 10; newer += 1) {
      const id = await user.uploadReady({
        fileName: `${newer}.csv`,
        text: 'Email\na@example.com\n',
      })
      await user.send('POST', `/v1/batches/${id}/cancel`)
    }
    await page.goto('/app')
    await settle(page, 'Overview')
    await page.getByRole('link', { name: 'long.csv', exact: true }).waitFor()
    expect(await page.getByText('Nothing runs at the moment.').count()).toBe(0)
    await user.send('POST', `/v1/batches/${running}/cancel`)
  })

  test('pasted lines and options outlast a refused and a stopped upload', async () => {
    await page.goto('/app/batches/new')
    await settle(page, 'New batch')
    await page.getByText('More options').click()
    await page.getByLabel('Title', { exact: true }).fill('Spring')
    await page.getByText('Paste lines instead').click()
    const lines = page.getByLabel('Lines', { exact: true })
    await lines.fill('a@example.com\nb@example.com')
    const isAsked = Promise.withResolvers<void>()
    await page.route('**/v1/batches', async (route) => {
      await isAsked.promise
      await route.fulfill({ status: 429, json: { error: 'Too Many Requests', message: REFUSED } })
    })
    await press(page, 'Submit these lines')
    await press(page, 'Stop the upload')
    expect(await lines.inputValue()).toBe('a@example.com\nb@example.com')
    await press(page, 'Submit these lines')
    await page.getByRole('button', { name: 'Stop the upload' }).waitFor()
    isAsked.resolve()
    await page.getByRole('alert').filter({ hasText: REFUSED }).waitFor()
    expect(await lines.isVisible()).toBe(true)
    expect(await lines.inputValue()).toBe('a@example.com\nb@example.com')
    expect(await page.getByLabel('Title', { exact: true }).inputValue()).toBe('Spring')
    await page.unroute('**/v1/batches')
    await press(page, 'Submit these lines')
    await page.getByText('Received:').waitFor()
  })

  test('neither a reload nor a link stops an upload unasked', async () => {
    await using other = await openWindow(started.service.url)
    const { page: shown } = other
    await signUp(started.service, other.context.request, { email: 'lotte@people.test' })
    await shown.route('**/v1/batches', () => undefined)
    await shown.goto('/app/batches/new')
    await settle(shown, 'New batch')
    await shown.getByText('Paste lines instead').click()
    await shown.getByLabel('Lines', { exact: true }).fill('a@example.com')
    await press(shown, 'Submit these lines')
    await shown.getByText('leaving it stops the upload').waitFor()
    const asked = shown.waitForEvent('dialog')
    await shown.evaluate('setTimeout(() => location.reload())')
    expect((await asked).type()).toBe('beforeunload')
    // The window says no to each dialog.
    const askedToo = shown.waitForEvent('dialog')
    await shown.getByRole('link', { name: 'Usage', exact: true }).click()
    expect((await askedToo).type()).toBe('confirm')
    expect(await shown.locator('h1').textContent()).toBe('New batch')
    await press(shown, 'Stop the upload')
    await shown.reload()
    await settle(shown, 'New batch')
  })

  test('a file is taken wherever it is dropped, and of several none', async () => {
    const drop = async (count: number): Promise<boolean> =>
      await page.evaluate<boolean>(`(() => {
        const dataTransfer = new DataTransfer()
        for (let at = 0; at < ${count}; at += 1)
          dataTransfer.items.add(new File(['Email\\na@example.com\\n'], 'dropped' + at + '.csv'))
        const options = { dataTransfer, bubbles: true, cancelable: true }
        const isTaken = (type) => !document.querySelector('h1').dispatchEvent(new DragEvent(type, options))
        return isTaken('dragover') && isTaken('drop')
      })()`)
    await page.goto('/app/batches/new')
    await page.getByLabel('File', { exact: true }).waitFor()
    expect(await drop(2)).toBe(true)
    await page.getByText('of several, none was sent').waitFor()
    expect(await drop(1)).toBe(true)
    await page.getByText('Received: dropped0.csv').waitFor()
  })

  test('the cost of a batch is that after its sample', async () => {
    const rows = Array.from({ length: 60 }, (_, at) => `s${at}@example.com`)
    const id = await user.uploadReady({
      fileName: 'sampled.csv',
      text: `Email\n${rows.join('\n')}\n`,
    })
    await page.goto(`/app/batches/new?id=${id}`)
    await settle(page, 'New batch')
    await expect.poll(() => page.locator('.figure').textContent()).toBe('60')
    await press(page, 'Check a sample')
    await page.locator('dt:text-is("Rows known") + dd:text-is("50 of 50")').waitFor()
    await page.locator('dt:text-is("The whole costs about")').waitFor()
    const { cost } = batchPreview.parse(await user.send('GET', `/v1/batches/${id}/preview`))
    expect(cost?.sampled).toBeGreaterThan(0)
    await expect.poll(() => page.locator('.figure').textContent()).toBe(String(cost?.credits))
    await expect
      .poll(() => page.locator('dt:text-is("Balance now") + dd').textContent())
      .toBe(String(cost?.balance))
  })

  test('a batch cannot be started while the cost of an earlier reading is shown', async () => {
    const text = 'Email,Phone\na@example.com,+4930123456\n'
    const id = await user.uploadReady({ fileName: 'dearer.csv', text })
    await page.goto(`/app/batches/new?id=${id}`)
    await settle(page, 'New batch')
    await expect.poll(() => page.locator('.figure').textContent()).toBe('1')
    const release = await holdBack(page, '**/preview')
    const isReadAnew = page.waitForResponse(
      async (answer) =>
        answer.url().endsWith(id) &&
        answer.request().method() === 'GET' &&
        batchView.parse(await answer.json()).status === 'ready',
    )
    await page.getByLabel('Product', { exact: true }).selectOption('deliverability')
    await page.evaluate(NOTE_OFFERS)
    await isReadAnew
    await untilRepainted(page)
    release()
    await expect.poll(() => page.locator('.figure').textContent()).toBe('3')
    await page.getByRole('button', { name: 'Start', exact: true, disabled: false }).waitFor()
    expect(new Set(await page.evaluate<string[]>('offers'))).toEqual(new Set(['3']))
    await page.unroute('**/preview')
  })

  test('a sample that was begun in another window is shown, not refused', async () => {
    const id = await user.uploadReady({
      fileName: 'phones.csv',
      product: 'phone',
      text: 'Phone\n+4930123456\n+4930123457\n',
    })
    await user.send('POST', `/v1/batches/${id}/sample`)
    await page.goto(`/app/batches/new?id=${id}`)
    await settle(page, 'New batch')
    await press(page, 'Check a sample')
    await page.locator('dt:text-is("Rows known") + dd:text-is("0 of 2")').waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
  })

  test('a key that was made meanwhile is neither replaced nor revoked unasked', async () => {
    await page.goto('/app/keys')
    await settle(page, 'API keys')
    const make = async (): Promise<string> => {
      const { record } = newKeyResponse.parse(
        await user.send('POST', '/app/api/keys', { mode: 'live' }),
      )
      return record.id
    }
    const active = async (): Promise<readonly string[]> => {
      const { data } = keyList.parse(await user.send('GET', '/app/api/keys'))
      return data.filter(({ revoked_at: at }) => at === null).map(({ id }) => id)
    }
    const made = await make()
    await press(page, 'Create live key')
    await page.getByRole('alert').waitFor()
    expect(await active()).toEqual([made])
    const next = await make()
    await press(page, 'Revoke')
    await press(page, 'Revoke it')
    await page.getByRole('alert').waitFor()
    expect(await active()).toEqual([next])
    await press(page, 'Revoke')
    await press(page, 'Revoke it')
    await page.getByRole('button', { name: 'Create live key' }).waitFor()
    expect(await active()).toEqual([])
  })

  test('saving a setting keeps those that another owner has changed meanwhile', async () => {
    await page.goto('/app/settings')
    await settle(page, 'Settings')
    await user.send('PATCH', '/app/api/account', { daily_spending_limit: 150 })
    const name = page.getByLabel('Account', { exact: true })
    await name.fill('Works')
    // Whoever comes back to the window is shown what is new, and keeps what they have typed.
    const comeBack = async (): Promise<string> => {
      await page.evaluate(`dispatchEvent(new Event('visibilitychange'))`)
      return await page.getByLabel('Daily spending limit').inputValue()
    }
    await expect.poll(comeBack).toBe('150')
    expect(await name.inputValue()).toBe('Works')
    await press(page, 'Save')
    await page.getByText('The settings are saved.').first().waitFor()
    const kept = accountSettings.parse(await user.send('GET', '/app/api/account'))
    expect(kept.daily_spending_limit).toBe(150)
    await user.send('PATCH', '/app/api/account', { daily_spending_limit: null })
  })

  test('members read the settings of the account in words', async () => {
    await using other = await openWindow(started.service.url)
    const limits = { retention_days: 1, daily_spending_limit: 100_000 }
    await user.send('PATCH', '/app/api/account', limits)
    await join(other, 'Karen')
    await other.page.goto('/app/settings')
    await settle(other.page, 'Settings')
    const facts = await other.page
      .locator('section', { hasText: 'Kept for' })
      .locator('dd')
      .allTextContents()
    expect(facts.slice(-2)).toEqual(['1 day', '100,000 credits'])
    await user.send('PATCH', '/app/api/account', {
      retention_days: null,
      daily_spending_limit: null,
    })
  })

  test('saving one form of the settings keeps what is typed into the others', async () => {
    await page.goto('/app/settings')
    await settle(page, 'Settings')
    const mark = page.getByLabel('Low-credit mark', { exact: true })
    await mark.fill('77')
    await page.getByText('Add a webhook').click()
    const address = page.getByLabel('Address', { exact: true })
    await address.fill('https://example.com/typed')
    await page.getByLabel('Name', { exact: true }).fill('Ada L')
    await press(page, 'Save name')
    await page.getByText('The name is saved.').first().waitFor()
    await page.getByRole('region', { name: 'Members' }).getByText('Ada L').waitFor()
    expect(await mark.inputValue()).toBe('77')
    expect(await address.inputValue()).toBe('https://example.com/typed')
  })

  test('a changed password ends other sessions, and they are not listed any more', async () => {
    await using other = await openWindow(started.service.url)
    await signUp(started.service, other.context.request, { email: 'iris@people.test' })
    await using second = await openWindow(started.service.url)
    await second.page.goto('/app/sign-in')
    await second.page.getByLabel('Email', { exact: true }).fill('iris@people.test')
    await second.page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await press(second.page, 'Sign in')
    await settle(second.page, 'Overview')
    await second.page.goto('/app/settings')
    await settle(second.page, 'Settings')
    const sessions = second.page.getByRole('region', { name: 'Sessions', exact: true })
    expect(await sessions.locator('tbody tr').count()).toBe(2)
    await sessions.getByRole('button', { name: /^End Chrome on Linux, last used / }).waitFor()
    await second.page.getByLabel('Present password').fill(PASSWORD)
    await second.page.getByLabel('New password').fill(`${PASSWORD} again`)
    await press(second.page, 'Change password')
    await second.page.getByRole('main').getByText('The password is changed.').waitFor()
    await expect.poll(() => sessions.locator('tbody tr').count()).toBe(1)
  })

  test('later rows are asked for once, however often it is pressed', async () => {
    const rows = Array.from({ length: 80 }, (_, at) => `r${at}@example.com`)
    const id = await user.uploadCompleted({
      fileName: 'paged.csv',
      text: `Email\n${rows.join('\n')}\n`,
    })
    await page.goto(`/app/batches/${id}`)
    await settle(page, 'paged.csv')
    const shown = page.getByRole('region', { name: 'Rows of the result' })
    await expect.poll(() => shown.locator('tbody tr').count()).toBe(25)
    const release = await holdBack(page, '**/results?*after=25*')
    await press(page, 'Later rows')
    await page.getByRole('button', { name: 'Later rows' }).click({ force: true })
    release()
    await shown.getByText('r25@example.com').waitFor()
    const head = '[aria-label="Rows of the result"] thead'
    await expect.poll(() => isInView(page, head)).toBe(true)
    await page.locator('#app > [aria-live=polite]', { hasText: 'From row 26.' }).waitFor()
    await press(page, 'Earlier rows')
    await shown.getByText('r0@example.com', { exact: true }).waitFor()
  })

  test('rows of one kind are not shown below another while that is read', async () => {
    const id = await user.uploadCompleted({ fileName: 'kinds.csv', text: 'Email\nk@example.com\n' })
    await page.goto(`/app/batches/${id}`)
    await page.getByText('k@example.com').waitFor()
    const release = await holdBack(page, '**/results?*only=refused*')
    await page.getByLabel('Show', { exact: true }).selectOption('refused')
    await expect.poll(() => page.getByText('k@example.com').count()).toBe(0)
    release()
    await page.getByText('No such row').waitFor()
  })

  test('figures of other days, and batches in another state, are not shown below the choice', async () => {
    await user.send('POST', '/v1/email', { email: 'a@example.com' })
    const held = Promise.withResolvers<void>()
    for (const [path, heading, choice, option, shown] of [
      ['/app/usage', 'Usage', 'Days', '7', '.figure'],
      ['/app/batches', 'Batches', 'State', 'failed', 'main tbody tr'],
    ] as const) {
      await page.goto(path)
      await settle(page, heading)
      expect(await page.locator(shown).count()).toBeGreaterThan(0)
      await page.route('**/v1/*?*', () => held.promise)
      await page.getByLabel(choice, { exact: true }).selectOption(option)
      await expect.poll(() => page.locator(shown).count()).toBe(0)
      await page.unroute('**/v1/*?*')
    }
    held.resolve()
  })

  test('another text than the one that was copied is not said to be on the clipboard', async () => {
    await page.goto('/app/try')
    await settle(page, 'Try it')
    await press(page, 'Copy')
    const said = page.getByText(/^(?:On the clipboard|Not copied)/)
    await said.waitFor()
    await press(page, 'Python')
    await expect.poll(() => said.count()).toBe(0)
  })

  test('the answer of a lookup is not shown below another product', async () => {
    await page.goto('/app/try')
    await settle(page, 'Try it')
    const isAnswered = page.waitForResponse('**/v1/email')
    const release = await holdBack(page, '**/v1/email')
    await page.getByLabel('Email', { exact: true }).fill('a@example.com')
    await press(page, 'Look up')
    await page.getByLabel('Product', { exact: true }).selectOption('ip')
    release()
    await isAnswered
    await expect
      .poll(() => page.getByRole('button', { name: 'Look up' }).getAttribute('aria-busy'))
      .toBe(null)
    expect(await page.getByRole('region', { name: 'Fields of the answer' }).count()).toBe(0)
  })

  test('one code of the second factor serves all actions that wait for one', async () => {
    await using other = await openWindow(started.service.url)
    const { page: shown } = other
    const lise = await signUp(started.service, other.context.request, {
      email: 'anita@people.test',
    })
    const recovery = await addSecondFactor(lise)
    await started.service.db.kysely
      .updateTable('sessions')
      .set({ proven_at: new Date(0) })
      .where('user_id', '=', lise.userId)
      .execute()
    await shown.goto('/app/settings')
    await settle(shown, 'Settings')
    const areBoth = Promise.withResolvers<void>()
    await shown.route(/\/app\/api\/(?:account|password)$/, async (route) => {
      if (route.request().method() !== 'GET') await areBoth.promise
      await route.continue()
    })
    await shown.getByLabel('Daily spending limit').fill('50')
    await press(shown, 'Save')
    await shown.getByLabel('Present password').fill(PASSWORD)
    await shown.getByLabel('New password').fill(`${PASSWORD} again`)
    await press(shown, 'Change password')
    areBoth.resolve()
    await shown.getByRole('dialog').getByLabel('Code', { exact: true }).fill(recovery)
    await press(shown, 'Go on')
    await shown.getByRole('main').getByText('The password is changed.').waitFor()
    await shown.getByText('The settings are saved.').first().waitFor()
    expect(await shown.getByRole('dialog').count()).toBe(0)
  })

  test('whoever was signed out in another window is told so, not about keys', async () => {
    await using other = await openWindow(started.service.url)
    const { page: shown } = other
    const emmy = await signUp(started.service, other.context.request, { email: 'emmy@people.test' })
    await shown.goto('/app/try')
    await settle(shown, 'Try it')
    await shown.getByLabel('Email', { exact: true }).fill('a@example.com')
    await emmy.send('POST', '/app/api/sign-out')
    await press(shown, 'Look up')
    await shown.getByRole('alert').filter({ hasText: 'Your session has ended. Sign in' }).waitFor()
    expect(await shown.getByLabel('Email', { exact: true }).inputValue()).toBe('a@example.com')
  })

  test('a download that is refused says why, on the page', async () => {
    await using other = await openWindow(started.service.url)
    const { page: shown } = other
    const ida = await signUp(started.service, other.context.request, { email: 'ida@people.test' })
    await shown.goto('/app/credits')
    await settle(shown, 'Credits')
    const link = shown.getByRole('link', { name: 'Download CSV', exact: true })
    const arriving = shown.waitForEvent('download')
    await link.press('Enter')
    expect((await arriving).suggestedFilename()).toMatch(/\.csv$/)
    const downloads: string[] = []
    shown.on('download', (one) => downloads.push(one.suggestedFilename()))
    await ida.send('POST', '/app/api/sign-out')
    await link.press('Enter')
    await shown.getByRole('alert').filter({ hasText: 'Your session has ended. Sign in' }).waitFor()
    expect(downloads).toEqual([])
  })

  test('the role of a member is changed by keyboard, step by step', async () => {
    await using other = await openWindow(started.service.url)
    const mary = await join(other, 'Mary')
    await user.send('PATCH', `/app/api/members/${mary.userId}`, { role: 'viewer' })
    await page.goto('/app/settings')
    await settle(page, 'Settings')
    const role = page.getByLabel('Role of mary@people.test', { exact: true })
    await role.focus()
    for (const next of ['member', 'owner']) {
      await page.keyboard.press('ArrowDown')
      await expect.poll(() => role.inputValue()).toBe(next)
      await expect.poll(() => role.getAttribute('aria-busy')).toBe(null)
      expect(await role.and(page.locator(':focus')).count()).toBe(1)
    }
    const list = memberList.parse(await user.send('GET', '/app/api/members'))
    expect(list.data.find(({ id }) => id === mary.userId)?.role).toBe('owner')
  })

  test('whoever closes an account is told so', async () => {
    await using other = await openWindow(started.service.url)
    await signUp(started.service, other.context.request, { email: 'kim@people.test', name: 'Kim' })
    await other.page.goto('/app/settings')
    await settle(other.page, 'Settings')
    await other.page.getByText('Close it for good').click()
    await other.page.getByLabel('What the account is called').fill('Kim')
    await other.page.getByLabel('Password to close it').fill(PASSWORD)
    await press(other.page, 'Close the account')
    await other.page.getByRole('paragraph').filter({ hasText: 'The account is closed.' }).waitFor()
    expect(await other.page.locator('h1').textContent()).toBe('Sign in')
  })
})

/** Script for the page: notes the costs that it shows while `Start` can be pressed. */
const NOTE_OFFERS = `
  window.offers = []
  new MutationObserver(() => {
    const start = [...document.querySelectorAll('button')].find((one) => one.textContent === 'Start')
    if (start?.disabled === false) offers.push(document.querySelector('.figure')?.textContent)
  }).observe(document.body, { attributes: true, characterData: true, childList: true, subtree: true })
`

async function isInView(page: Page, selector: string): Promise<boolean> {
  return await page.evaluate(`(() => {
    const { top, bottom } = document.querySelector('${selector}').getBoundingClientRect()
    return top >= 0 && bottom <= innerHeight
  })()`)
}
