import { basename, join } from 'node:path'
import { backends } from '@plumbline/testkit/backends'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildClient, type BuiltClient } from '../built-client.ts'
import { canRunChromium, closeBrowser, openWindow, type TestWindow } from '../chromium.ts'
import { signUp } from '../web-seed.ts'
import { startWebService, type WebService } from '../web-service.ts'

// The built client package in a page of the service, where it calls as the signed-in user.

const [backend = { name: 'postgres', redisUrl: undefined }] = backends()

/** Path of the package for the page. */
const PACKAGE = '/app/client/public.js'

describe.skipIf(!canRunChromium())('in a page of the service', () => {
  let stack: AsyncDisposableStack
  let started: WebService
  let window: TestWindow
  let built: BuiltClient

  beforeAll(async () => {
    stack = new AsyncDisposableStack()
    built = stack.use(await buildClient())
    started = stack.use(await startWebService({ backend }))
    window = stack.use(await openWindow(started.service.url))
    await signUp(started.service, window.context.request, { email: 'ada@people.test' })
    await serveClient(window.page)
  })
  afterAll(async () => {
    await stack.disposeAsync()
    await closeBrowser()
  })

  async function serveClient(page: Page): Promise<void> {
    await page.route('**/app/client/*', async (route) => {
      const file = basename(new URL(route.request().url()).pathname)
      await route.fulfill({
        path: join(built.folder, 'dist', file),
        contentType: 'text/javascript',
      })
    })
    await page.goto('/app')
  }

  test('the client calls, uploads a Blob, waits and reads rows with the session, without a key', async () => {
    expect(await window.page.evaluate(EVERY_WAY)).toEqual({
      email: 'ada@b.example',
      plan: 'free',
      progressed: true,
      status: 'completed',
      fileName: 'قائمة "<b>عملاء&amp;".csv',
      rows: [
        [1, 'p0@b.example'],
        [2, 'p1@b.example'],
        [3, 'p2@b.example'],
      ],
      once: true,
      refused: ['NotFoundError', 404],
      path: 'A path names a file of this machine, which a browser cannot read; give a Blob or File as `file`.',
    })
    // The browser logs the refusal that the test has caused.
    expect(window.faults.filter((fault) => !fault.includes('status of 404'))).toEqual([])
  })

  test('after the end of the session, the client is refused', async () => {
    await window.context.clearCookies()
    expect(await window.page.evaluate(AS_NOBODY)).toEqual(['UnauthorizedError', 401])
  })
})

const OPEN = `
  const { createClient } = await import('${PACKAGE}')
  const client = createClient({ baseUrl: '' })
`

const EVERY_WAY = `(async () => { ${OPEN}
  const { email } = await client.email({ email: 'ada@b.example' })
  const { plan } = await client.account()
  const text = 'email\\n' + [0, 1, 2].map((at) => \`p\${at}@b.example\\n\`).join('')
  const upload = { product: 'email', file: new Blob([text]), fileName: 'قائمة "<b>عملاء&amp;".csv' }
  const idempotencyKey = 'of this page'
  const created = await client.batches.create(upload, { idempotencyKey })
  const again = await client.batches.create(upload, { idempotencyKey })
  let progressed = false
  const batch = await client.batches.wait(created.id, { everyMs: 50, onProgress: () => { progressed = true } })
  const rows = []
  for await (const { row, result } of client.batches.rows(batch.id)) rows.push([row, result.email])
  const gone = await client.batches.get('bat_nothing').catch((error) => error)
  const path = await client.batches.create({ product: 'email', path: '/etc/passwd' }).catch((error) => error)
  return {
    email, plan, progressed, status: batch.status, fileName: batch.file.name, rows,
    once: again.id === created.id, refused: [gone.name, gone.status], path: path.message,
  }
})()`

const AS_NOBODY = `(async () => { ${OPEN}
  const error = await client.account().catch((reason) => reason)
  return [error.name, error.status]
})()`
