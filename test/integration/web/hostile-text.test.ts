import { backends } from '@plumbline/testkit/backends'
import { writeAudit } from '@plumbline/db/audit-log'
import { setOperator } from '@plumbline/db/people/users'
import { HOSTILE_DOMAIN } from '@plumbline/testkit/instant-engines'
import type { TestService } from '@plumbline/testkit/service'
import type { Page } from 'playwright-core'
import { afterAll, expect, test } from 'vitest'
import { settle } from '../axe.ts'
import { canRunChromium, closeBrowser, openWindow, type TestWindow } from '../chromium.ts'
import { signUp, type TestUser } from '../web-seed.ts'
import { startWebService } from '../web-service.ts'

// Text of customers is shown as text in every place of the app.

const MARKUP = '<img src=x onerror=window.pwned=1>'

/** Parts of texts that could be executed, or could reverse, hide or widen the text around them. */
const PIECES: readonly string[] = [
  MARKUP,
  '<script>window.pwned=1</script>',
  '"><svg onload=window.pwned=1>',
  "' onmouseover='window.pwned=1",
  'javascript:window.pwned=1',
  '{{constructor.constructor("window.pwned=1")()}}',
  '</textarea></select></table><h1>Sign in</h1>',
  '<iframe srcdoc="<script>parent.pwned=1</script>">',
  '<style>*{display:none}</style>',
  '&lt;b&gt;&amp;&#x3C;&nbsp;',
  '=HYPERLINK("http://evil.test","Open")',
  '\u202Egnp.exe',
  '\u2066\u2067mixed\u2069',
  'محمد <b>العميل</b>',
  'x'.repeat(150),
  'Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L͠G',
  '👩‍👩‍👧‍👦'.repeat(12),
  '\uFEFF\u200B\u2028invisible',
  '%s%n%00 ../../etc/passwd',
  '${window.pwned=1} `window.pwned=1`',
]
const AROUND: readonly ((piece: string) => string)[] = [
  (piece) => piece,
  (piece) => ` ${piece} `,
  (piece) => `${piece}.csv`,
  (piece) => `"${piece}"`,
  (piece) => `name ${piece}`,
  (piece) => `${piece}${piece}`.slice(0, 190),
  (piece) => `قائمة ${piece}`,
  (piece) => `${piece}@example.com`,
  (piece) => `+1 ${piece}`,
  (piece) => `(${piece})`,
]
/** Twenty pieces in ten forms. */
const TEXTS = PIECES.flatMap((piece) => AROUND.map((write) => write(piece)))

/** Texts that may be names of batches: without control characters, at most 200 characters. */
const NAMES = [MARKUP, PIECES[1], PIECES[13], PIECES[14], PIECES[15]].filter(
  (piece) => piece !== undefined,
)

const [backend = { name: 'postgres', redisUrl: undefined }] = backends()

afterAll(closeBrowser)

test.skipIf(!canRunChromium())(
  '200 hostile texts as names, file names, headers and cells are text on every page',
  async () => {
    expect(new Set(TEXTS).size).toBe(200)
    await using started = await startWebService({ backend })
    await using window = await openWindow(started.service.url, { width: 360, height: 740 })
    const { page } = window
    const user = await signUp(started.service, window.context.request, {
      email: 'eve@people.test',
      name: `${MARKUP} Ada`,
    })
    const text = [
      ['Email', ...PIECES].map(quoted).join(','),
      ...TEXTS.slice(0, 10).map((piece) => quoted(piece)),
      ...TEXTS.slice(10).map((piece, at) => `p${at}@example.com,${quoted(piece)}`),
      '',
    ].join('\n')
    const name = `${MARKUP} cells`
    const done = await user.upload({ name, fileName: 'cells.csv', text })
    for (const [at, piece] of NAMES.entries()) {
      const fileName = `${NAMES.at(-1 - at) ?? ''}.csv`
      await user.uploadReady({ name: piece, fileName, text: 'Email\na@example.com\n' })
    }
    await user.until(done, 'ready')

    await page.goto(`/app/batches/new?id=${done}`)
    await settle(page, 'New batch')
    await page.getByText('First rows', { exact: true }).click()
    await expectText(page, MARKUP)
    await user.send('POST', `/v1/batches/${done}/start`)
    await user.until(done, 'completed')
    for (const [path, heading] of [
      [`/app/batches/${done}`, name],
      ['/app', 'Overview'],
      ['/app/batches', 'Batches'],
      ['/app/credits', 'Credits'],
      ['/app/settings', 'Settings'],
    ] as const) {
      await page.goto(path)
      await settle(page, heading)
      await expectText(page, MARKUP)
    }
    // The only text of a user on these pages is the name in the menu.
    for (const [path, heading] of [
      ['/app/usage', 'Usage'],
      ['/app/keys', 'API keys'],
      ['/app/try', 'Try it'],
    ] as const) {
      await page.goto(path)
      await settle(page, heading)
      await expectText(page, '')
    }
    await page.goto(`/app/batches/${done}`)
    await settle(page, name)
    await page.getByRole('button', { name: 'Delete', exact: false }).first().click()
    await page.getByRole('dialog').waitFor()
    await expectText(page, MARKUP)
    await page.goto('/app/settings/erase')
    await settle(page, 'Erase values')
    await expectText(page, '')
    expect(window.faults).toEqual([])
    await expectOperatorText(started.service, user, window)
  },
)

test.skipIf(!canRunChromium())(
  'replies of a mail server and a registry are shown as text in results and in rows of a batch',
  async () => {
    await using started = await startWebService({ backend })
    await using window = await openWindow(started.service.url, { width: 360, height: 740 })
    const { page } = window
    const user = await signUp(started.service, window.context.request, {
      email: 'eve@people.test',
    })
    await page.goto('/app/try')
    await settle(page, 'Try it')
    await page.getByLabel('Email', { exact: true }).fill(`a@${HOSTILE_DOMAIN}`)
    await page.getByRole('button', { name: 'Look up', exact: true }).click()
    await page.getByText('Evidence of email').click()
    await expectText(page, MARKUP)
    await page.getByLabel('Product', { exact: true }).selectOption('domain')
    await page.getByLabel('Domain', { exact: true }).fill(HOSTILE_DOMAIN)
    await page.getByRole('button', { name: 'Look up', exact: true }).click()
    await expectText(page, MARKUP)
    const text = `Domain\n${HOSTILE_DOMAIN}\n`
    const done = await user.uploadCompleted({ fileName: 'names.csv', product: 'domain', text })
    await page.goto(`/app/batches/${done}`)
    await settle(page, 'names.csv')
    await expectText(page, MARKUP)
    expect(window.faults).toEqual([])
  },
)

/** The operator's pages show texts of users, and texts of operators about them, as text. */
async function expectOperatorText(
  { db, adminUrl }: TestService,
  { userId, accountId }: TestUser,
  { context }: TestWindow,
): Promise<void> {
  await db.kysely.transaction().execute(async (tx) => {
    await setOperator(tx, userId, true)
    for (const reason of TEXTS) {
      const act = { actor: reason, action: 'account.suspend', accountId } as const
      await writeAudit(tx, { ...act, before: { status: 'active' }, after: { reason } })
    }
  })
  await db.pool.query('update accounts set email = $2 where id = $1', [
    accountId,
    `"${MARKUP}"@people.test`,
  ])
  await using operator = await openWindow(adminUrl, {
    width: 360,
    height: 740,
    cookies: await context.cookies(),
  })
  for (const path of ['', `/accounts/${accountId}`, '/audit']) {
    await operator.page.goto(`/operator${path}`)
    await expectText(operator.page, MARKUP)
  }
  for (const path of ['/plans', '/plans/pro', '/packs/growth', '/queues', '/workers']) {
    await operator.page.goto(`/operator${path}`)
    await expectText(operator.page, '')
  }
  expect(operator.faults).toEqual([])
}

/** Asserts that a text is shown, created no element, and did not widen the page. */
async function expectText(page: Page, text: string): Promise<void> {
  await expect.poll(() => page.locator('body').textContent()).toContain(text)
  const made = await page.evaluate(`({
    pwned: window.pwned ?? null,
    made: document.querySelectorAll('main :is(img, script, iframe, style, object, [onload], [onerror], [onmouseover], a[href^="javascript:"])').length,
    headings: document.querySelectorAll('h1').length,
    wide: Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth),
  })`)
  expect(made).toEqual({ pwned: null, made: 0, headings: 1, wide: 0 })
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}
