import { batchPreview } from '@plumbline/contract/batch-preview'
import { backends } from '@plumbline/testkit/backends'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { settle } from '../axe.ts'
import { canRunChromium, closeBrowser, openWindow, type TestWindow } from '../chromium.ts'
import { signUp, type TestUser } from '../web-seed.ts'
import { startWebService, type WebService } from '../web-service.ts'

// What happens meanwhile: in another window, by another member, on a slow network, or a refusal.

const [backend = { name: 'postgres', redisUrl: undefined }] = backends()

describe.skipIf(!canRunChromium())('in the app, meanwhile', () => {
  let stack: AsyncDisposableStack
  let started: WebService
  let window: TestWindow
  let page: Page
  let user: TestUser

  beforeAll(async () => {
    stack = new AsyncDisposableStack()
    // No worker checks phones, so that a sample with phones runs for a minute.
    started = stack.use(
      await startWebService({
        backend,
        kinds: ['email', 'ip', 'domain', 'batch'],
        env: {
          UNFINISHED_BATCHES_LIMIT: '100',
          SIGN_UPS_PER_NETWORK: '100',
          SIGN_UPS_PER_MAIL_DOMAIN: '100',
        },
      }),
    )
    window = stack.use(await openWindow(started.service.url))
    page = window.page
    user = await signUp(started.service, window.context.request, { email: 'ada@people.test' })
  })
  afterAll(async () => {
    await stack.disposeAsync()
    await closeBrowser()
  })

  test('two columns that are chosen on a slow network are both taken', async () => {
    const id = await user.upload({ fileName: 'columns.csv', text: 'A,B,C\nx,y,z\n1,2,3\n' })
    await user.until(id, 'ready')
    await page.goto(`/app/batches/new?id=${id}`)
    await settle(page, 'New batch')
    const answered = Promise.withResolvers<void>()
    await page.route(`**/v1/batches/${id}`, async (route) => {
      if (route.request().method() === 'PATCH') await answered.promise
      await route.continue()
    })
    await page.getByLabel('What “B” is taken for').selectOption('email')
    await page.getByLabel('What “C” is taken for').selectOption('ref')
    expect(await page.getByLabel('What “B” is taken for').inputValue()).toBe('email')
    answered.resolve()
    const fields = async (): Promise<unknown> => {
      const shown = batchPreview.parse(await user.send('GET', `/v1/batches/${id}/preview`))
      return shown.columns.map(({ field }) => field)
    }
    await expect.poll(fields).toEqual([null, 'email', 'ref'])
    await page.unroute(`**/v1/batches/${id}`)
  })
})
