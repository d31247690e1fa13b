import type { BatchPreview } from '@plumbline/contract/batch-preview'
import type { BatchSample } from '@plumbline/contract/batch-sample'
import type { BatchView } from '@plumbline/contract/batch-view'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backends } from '@plumbline/testkit/backends'
import {
  call,
  expectSettled,
  formOf,
  readLines,
  submitBatch,
  untilBatch,
  viewBatch,
  type Caller,
} from '@plumbline/testkit/batches'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { BEFORE_IT_ENDS } from '@plumbline/testkit/patience'
import { startService, type TestService } from '@plumbline/testkit/service'

// Batches before their start, paused, and with waiting rows, in whole processes.

const SMALL = { CHUNK_RECORDS: '20', EVENTS_EVERY_MS: '50' }
const SLOW = ['email', 'phone', '--delay=20', '--width=5', '--later'] as const

describe.each(backends())('on $name', ({ redisUrl }) => {
  let stack: AsyncDisposableStack
  let service: TestService

  beforeAll(async () => {
    stack = new AsyncDisposableStack()
    const database = stack.use(await createTestDatabase())
    service = stack.use(
      await startService({
        databaseUrl: database.url,
        redisUrl,
        workers: [[...SLOW, 'batch']],
        env: SMALL,
      }),
    )
  })
  afterAll(() => stack.disposeAsync())

  async function callerWith(credits: number): Promise<Caller> {
    const account = await service.account({ credits })
    return { service, account, key: account.liveKey }
  }

  async function json<T>(caller: Caller, method: string, path: string, body?: unknown): Promise<T> {
    const response = await call(caller, method, path, body)
    const text = await response.text()
    expect([response.status, text]).toEqual([expect.toBeOneOf([200, 202]), expect.any(String)])
    // Safe because the tests compare what they read with the expected values.
    return JSON.parse(text) as T
  }

  test('a batch is previewed, changed, sampled, started, paused and resumed', async () => {
    const caller = await callerWith(2_000)
    const lines = Array.from({ length: 400 }, (_, at) => `Ada ${at};person${at}@example.com`)
    const { id } = await submitBatch(
      caller,
      formOf({ product: 'phone', start: 'false' }, `Name;Mail\n${lines.join('\n')}\n`),
    )
    const path = `/v1/batches/${id}`
    const broken = await untilBatch(caller, id)
    expect(broken).toMatchObject({ status: 'ready', error: { error: 'Unprocessable Content' } })
    const first = await json<BatchPreview>(caller, 'GET', `${path}/preview`)
    expect(first.columns.map(({ header }) => header)).toEqual(['Name', 'Mail'])
    await json(caller, 'PATCH', path, { product: 'email', name: 'Spring' })
    await untilBatch(caller, id)
    const preview = await json<BatchPreview>(caller, 'GET', `${path}/preview`)
    expect(preview).toMatchObject({
      counted: true,
      rows: { billable: 400 },
      cost: { credits: 400, balance: 27_000, balance_after: 26_600 },
    })
    await json(caller, 'POST', `${path}/sample`)
    await expect
      .poll(async () => (await json<BatchSample>(caller, 'GET', `${path}/sample`)).status, {
        timeout: 30_000,
      })
      .toBe('completed')
    const sample = await json<BatchSample>(caller, 'GET', `${path}/sample`)
    expect(sample).toMatchObject({ rows: { drawn: 50, known: 50 }, credits_used: 50 })
    await expect
      .poll(async () => (await call(caller, 'POST', `${path}/start`)).status, { timeout: 30_000 })
      .toBe(200)
    await expect
      .poll(async () => (await viewBatch(caller, id)).rows.done, BEFORE_IT_ENDS)
      .toBeGreaterThan(60)
    const paused = await json<BatchView>(caller, 'POST', `${path}/pause`)
    expect(paused).toMatchObject({ status: 'paused', credits: { held: expect.any(Number) } })
    // The state is read twice, a second apart: running work has been returned by then.
    const rest = async (): Promise<number> => (await viewBatch(caller, id)).progress
    let before = -1
    await expect
      .poll(
        async () => {
          const [last, now] = [before, await rest()]
          before = now
          return now - last
        },
        { interval: 1_000, timeout: 5_000 },
      )
      .toBe(0)
    expect(before).toBeLessThan(1)
    await json(caller, 'POST', `${path}/resume`)
    const ended = await untilBatch(caller, id)
    expect(ended).toMatchObject({
      status: 'completed',
      name: 'Spring',
      rows: { done: 400 },
      credits: { estimate: 400, held: 0, used: 400, released: 0 },
    })
    await expectSettled(caller, 26_600)
  })

  test('waiting rows are shown in their position, and do not block others', async () => {
    const caller = await callerWith(100)
    const addresses = Array.from({ length: 30 }, (_, at) =>
      at === 7 ? 'grey40@example.com' : `person${at}@example.com`,
    )
    const { id } = await submitBatch(
      caller,
      formOf({ product: 'email' }, `email\n${addresses.join('\n')}\n`),
    )
    await expect.poll(async () => (await viewBatch(caller, id)).rows.done).toBe(29)
    // While it is tried again, it has no reason to wait.
    await expect
      .poll(async () => (await readLines(caller, id))[7])
      .toMatchObject({
        status: 'waiting',
        result: null,
        credits_charged: 0,
        error: expect.stringMatching(/^waiting: .*greylisting.*not before 20/),
      })
    const lines = await readLines(caller, id)
    expect(lines).toHaveLength(30)
    expect(lines.filter(({ status }) => status === 'done')).toHaveLength(29)
    expect(await readLines(caller, id, '&after=0')).toHaveLength(7)
    expect(await readLines(caller, id, '&only=waiting')).toHaveLength(1)
    await untilBatch(caller, id)
    expect((await readLines(caller, id)).every(({ status }) => status === 'done')).toBe(true)
  })
})
