import { revokeKey } from '@plumbline/db/keys'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call, formOf, runBatch, type Caller } from '@plumbline/testkit/batches'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService, type TestService } from '@plumbline/testkit/service'
import { openSlowReader, requestResults, type SlowReader } from '@plumbline/testkit/slow-readers'

// Downloads of results that are read slowly, or not at all. The backend of the queue does not matter
// here.

/** Ten times the rows that fit into the buffers of a connection. */
const ROWS = 60_000
const MOST = 4

let stack: AsyncDisposableStack
let service: TestService

beforeAll(async () => {
  stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase())
  service = stack.use(
    await startService({
      databaseUrl: database.url,
      workers: [['email', 'batch']],
      env: { SEND_TIMEOUT_SECONDS: '3' },
    }),
  )
})
afterAll(() => stack.disposeAsync())

async function openAccount(): Promise<Caller & { id: string }> {
  const account = await service.account({ credits: ROWS })
  const caller: Caller = { service, account, key: account.liveKey }
  const lines = Array.from({ length: ROWS }, (_, at) => `person${at}@company${at % 999}.example`)
  const { id } = await runBatch(
    caller,
    formOf({ product: 'email' }, `email\n${lines.join('\n')}\n`),
  )
  return { ...caller, id }
}

/** Starts a download and stops reading as soon as it has begun. */
async function startDownload({ key, id }: { key: string; id: string }): Promise<SlowReader> {
  const reader = openSlowReader({ url: service.url, requests: requestResults(key, id), bytes: 1 })
  stack.defer(() => void reader.socket.destroy())
  await expect.poll(() => reader.status()).toBeDefined()
  return reader
}

/** Responses to downloads by status, as counted by the API. */
async function downloadsEnded(status: number): Promise<number> {
  const text = await (await fetch(`${service.adminUrl}/metrics`)).text()
  const route = 'route="/v1/batches/:id/results"'
  const line = text
    .split('\n')
    .find((one) => one.startsWith(`http_requests_total{method="GET",${route},status="${status}"`))
  return Number(line?.split(' ').at(-1) ?? 0)
}

test('concurrent downloads of an account are limited; a reader that stops is disconnected, and another is admitted', async () => {
  const caller = await openAccount()
  const path = `/v1/batches/${caller.id}/results?format=ndjson`
  const readers = await Promise.all(
    Array.from({ length: MOST }, async () => await startDownload(caller)),
  )
  expect(readers.map((reader) => reader.status())).toEqual(readers.map(() => 200))
  for (const method of ['GET', 'HEAD']) {
    const refused = await call(caller, method, path)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
    await refused.text()
  }
  const other = await openAccount()
  const whole = await call(other, 'GET', `/v1/batches/${other.id}/results?format=ndjson`)
  expect((await whole.text()).trimEnd().split('\n')).toHaveLength(ROWS)
  // The time limit of those that do not read is over.
  await expect
    .poll(async () => {
      const again = await call(caller, 'HEAD', path)
      return again.status
    })
    .toBe(200)
  await expect.poll(() => downloadsEnded(499)).toBe(MOST)
  // They can detect that their download is incomplete.
  for (const reader of readers) reader.readRest()
  await Promise.all(readers.map(({ closed }) => closed))
  for (const reader of readers) expect(reader.text()).not.toMatch(/\r\n0\r\n\r\n$/)
})

test('the download of a revoked key is cut within a second', async () => {
  const caller = await openAccount()
  const before = await downloadsEnded(499)
  const reader = await startDownload(caller)
  await revokeKey(service.db, { accountId: caller.account.id, mode: 'live' })
  const began = performance.now()
  await expect.poll(() => downloadsEnded(499)).toBe(before + 1)
  // A second by decision 18, and more on a loaded machine; the reader's own limit is three.
  expect(performance.now() - began).toBeLessThan(2_000)
  reader.readRest()
  await reader.closed
  expect(reader.text()).not.toMatch(/\r\n0\r\n\r\n$/)
})
