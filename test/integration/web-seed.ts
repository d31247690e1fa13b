import { setTimeout as wait } from 'node:timers/promises'
import { sessionView } from '@plumbline/contract/app/session'
import { batchPage, batchView } from '@plumbline/contract/batch-view'
import { erasureView } from '@plumbline/contract/erasure'
import { webhookView } from '@plumbline/contract/webhook'
import type { APIRequestContext } from 'playwright-core'

// A user with an account that has data on every page.

/** The password of every user of a test. */
export const PASSWORD = 'a long sentence with a plumb line'

/** Interval and time limit of waiting for a state, in ms. */
const POLL_MS = 100
const PATIENCE_MS = 120_000

/** A file to upload; of addresses unless it has another product. */
interface TestFile {
  /** Title of the batch. */
  readonly name?: string
  readonly fileName: string
  readonly text: string
  readonly product?: string
}

/** A user who is signed in in a window. */
export interface TestUser {
  readonly userId: string
  readonly accountId: string
  /** Sends a request as the app does. */
  send(method: string, path: string, body?: unknown): Promise<unknown>
  /** Uploads a file; returns the id of its batch. */
  upload(file: TestFile): Promise<string>
  /** Uploads a file, and waits until its batch can be started. */
  uploadReady(file: TestFile): Promise<string>
  /** Uploads a file, starts its batch, and waits until that is completed. */
  uploadCompleted(file: TestFile): Promise<string>
  /** Waits until a batch is in a state. */
  until(id: string, status: string): Promise<void>
}

/** Signs a user up, with requests of a window. */
export async function signUp(
  service: { readonly url: string },
  requests: APIRequestContext,
  { email, name = 'Ada' }: { readonly email: string; readonly name?: string },
): Promise<TestUser> {
  const headers = { origin: service.url, 'sec-fetch-site': 'same-origin' }
  const send = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const answer = await requests.fetch(`${service.url}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { data: body }),
    })
    const text = await answer.text()
    if (!answer.ok()) throw new Error(`${method} ${path}: ${answer.status()} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }
  await send('POST', '/app/api/sign-up', { name, email, password: PASSWORD })
  const { user, account } = sessionView.parse(await send('GET', '/app/api/session'))
  if (user === null || account === null) throw new Error('signed up without an account')
  const self: TestUser = {
    userId: user.id,
    accountId: account.id,
    send,
    uploadReady: async (file) => {
      const id = await self.upload(file)
      await self.until(id, 'ready')
      return id
    },
    uploadCompleted: async (file) => {
      const id = await self.uploadReady(file)
      await send('POST', `/v1/batches/${id}/start`)
      await self.until(id, 'completed')
      return id
    },
    upload: async ({ name: batchName, fileName, text, product = 'email' }) => {
      const answer = await requests.post(`${service.url}/v1/batches`, {
        headers,
        multipart: {
          product,
          start: 'false',
          ...(batchName === undefined ? {} : { name: batchName }),
          file: { name: fileName, mimeType: 'text/csv', buffer: Buffer.from(text) },
        },
      })
      if (!answer.ok()) throw new Error(`upload: ${answer.status()} ${await answer.text()}`)
      return batchView.parse(await answer.json()).id
    },
    until: async (id, status) => {
      const read = async (): Promise<string> => {
        const page = batchPage.parse(await send('GET', `/v1/batches?search=${id}`))
        return page.data[0]?.status ?? 'none'
      }
      const endMs = performance.now() + PATIENCE_MS
      for (let current = await read(); current !== status; current = await read()) {
        if (performance.now() > endMs) throw new Error(`${id} is ${current}, not ${status}`)
        await wait(POLL_MS)
      }
    },
  }
  return self
}

/**
 * Fills the account: an erasure, a lookup, a completed batch, one that waits to be started, a key,
 * a webhook.
 */
export async function fillAccount(user: TestUser): Promise<FilledAccount> {
  // Before there is any data that it could erase.
  const { id: erasure } = erasureView.parse(
    await user.send('POST', '/v1/erase', { email: 'nobody@example.com' }),
  )
  await user.send('POST', '/v1/email', { email: 'a@example.com' })
  const text = `Name,Email\n${Array.from({ length: 60 }, (_, at) => `P ${at},p${at}@example.com`).join('\n')}\n`
  const done = await user.uploadCompleted({ fileName: 'done.csv', text })
  const ready = await user.upload({ fileName: 'قائمة العملاء.csv', text })
  await user.until(ready, 'ready')
  await user.send('POST', '/app/api/keys', { mode: 'live' })
  const wish = { url: 'https://example.com/hook', events: ['key.replaced'] }
  const { id: webhook } = webhookView.loose().parse(await user.send('POST', '/v1/webhooks', wish))
  return { done, ready, webhook, erasure }
}

/** Ids of the objects of a filled account. */
export interface FilledAccount {
  readonly done: string
  readonly ready: string
  readonly webhook: string
  readonly erasure: string
}

/** Adds a batch that does not end, since no worker checks phones, and one whose file cannot be read. */
export async function addUnended(user: TestUser): Promise<readonly PageOf[]> {
  const rows = Array.from({ length: 40 }, (_, at) => `r${at}@example.com,+4930${1_000_000 + at}`)
  const running = await user.uploadReady({
    fileName: 'running.csv',
    product: 'contact-intel',
    text: `Email,Phone\n${rows.join('\n')}\n`,
  })
  const failed = await user.upload({
    fileName: 'failed.csv',
    text: 'Email\na\0b@example.com\n',
  })
  await user.send('POST', `/v1/batches/${running}/start`)
  await user.until(running, 'running')
  await user.until(failed, 'failed')
  return [
    { path: `/app/batches/${running}`, heading: 'running.csv' },
    { path: `/app/batches/${failed}`, heading: 'failed.csv' },
  ]
}

/** A page, by its path and h1. */
export interface PageOf {
  readonly path: string
  readonly heading: string
}

/** Every page: its path and h1; those of sign-in are for users who are not signed in. */
export function pagesOf(batches: FilledAccount): readonly PageOf[] {
  return [
    { path: '/app', heading: 'Overview' },
    { path: '/app/batches', heading: 'Batches' },
    { path: '/app/batches/new', heading: 'New batch' },
    { path: `/app/batches/new?id=${batches.ready}`, heading: 'New batch' },
    { path: `/app/batches/${batches.done}`, heading: 'done.csv' },
    { path: '/app/try', heading: 'Try it' },
    { path: '/app/keys', heading: 'API keys' },
    { path: '/app/usage', heading: 'Usage' },
    { path: '/app/credits', heading: 'Credits' },
    { path: '/app/settings', heading: 'Settings' },
    { path: `/app/settings/webhooks/${batches.webhook}`, heading: 'Webhook' },
    { path: '/app/settings/erase', heading: 'Erase values' },
    { path: `/app/settings/erase?receipt=${batches.erasure}`, heading: 'Erase values' },
  ]
}

/** A secret for links to forms, which is only checked when the form is sent. */
const LINK = 'a'.repeat(40)

/** The pages of sign-up and sign-in. */
export const SIGN_IN_PAGES: readonly PageOf[] = [
  { path: '/app/sign-in', heading: 'Sign in' },
  { path: '/app/sign-up', heading: 'Create an account' },
  { path: '/app/reset', heading: 'Reset the password' },
  { path: `/app/welcome#${LINK}`, heading: 'Welcome' },
  { path: `/app/reset#${LINK}`, heading: 'Reset the password' },
  { path: '/app/verify', heading: 'Verify the address' },
  { path: '/app/invitation', heading: 'Invitation' },
  { path: '/app/nowhere', heading: 'Nothing here' },
]

/** The operator's pages; one shows an account. */
export function operatorPagesOf(accountId: string): readonly PageOf[] {
  return [
    { path: '/operator', heading: 'Accounts' },
    { path: `/operator/accounts/${accountId}`, heading: `Account ${accountId}` },
    { path: '/operator/plans', heading: 'Plans' },
    { path: '/operator/plans/pro', heading: 'Plan pro' },
    { path: '/operator/packs/growth', heading: 'Pack growth' },
    { path: '/operator/queues', heading: 'Queues' },
    { path: '/operator/workers', heading: 'Workers' },
    { path: '/operator/audit', heading: 'Audit trail' },
  ]
}
