import { batchKnown } from '@plumbline/contract/known-verdicts'
import type { BatchView } from '@plumbline/contract/batch-view'
import { closeFinishedBatches } from '@plumbline/db/batches/stages'
import { grantGoodwill } from '@plumbline/metering/grant'
import { openConnections } from '@plumbline/pipeline/connections'
import { dispatchOnce } from '@plumbline/pipeline/dispatch'
import { DEFAULT_LIMITS } from '@plumbline/pipeline/pipeline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backends } from '@plumbline/testkit/backends'
import {
  call,
  creditsOf,
  expectSettled,
  filesOf,
  formOf,
  readLines,
  runBatch,
  submitBatch,
  untilBatch,
  viewBatch,
  type Caller,
} from '@plumbline/testkit/batches'
import { isOneBackend } from '@plumbline/testkit/one-backend'
import { PATIENT } from '@plumbline/testkit/patience'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService, type Member, type TestService } from '@plumbline/testkit/service'

// The states of a batch from upload to erasure, and how each transition changes the credits.

const SMALL = { CHUNK_RECORDS: '20', SWEEP_SECONDS: '1', EVENTS_EVERY_MS: '50' }
const SLOW = ['email', '--delay=50', '--width=50', '--later'] as const
/** More rows than are processed while a test runs. */
const LONG = 12_000

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

describe.each(backends())('on $name', ({ name, redisUrl }) => {
  let stack: AsyncDisposableStack
  let service: TestService
  let databaseUrl: string

  beforeAll(async () => {
    stack = new AsyncDisposableStack()
    const database = stack.use(await createTestDatabase())
    databaseUrl = database.url
    service = stack.use(
      await startService({
        databaseUrl,
        redisUrl,
        workers: [SLOW, ['phone', 'ip', 'domain', 'batch']],
        env: SMALL,
      }),
    )
  })
  afterAll(() => stack.disposeAsync())

  async function callerWith(options: Parameters<TestService['account']>[0]): Promise<Caller> {
    const account = await service.account(options)
    return { service, account, key: account.liveKey }
  }

  /** The worker that reads batches, dispatches their tasks and writes their results. */
  function listWorker(): Member {
    const worker = service.workers[1]
    if (worker === undefined) throw new Error('no worker of batches')
    return worker
  }

  test('start=false stops at ready with the estimate and without a hold; a start runs it', async () => {
    const caller = await callerWith({ plan: 'free' })
    const records = [
      { email: 'a@example.com', phone: '+14155550100', ip: '8.8.8.8', domain: 'example.com' },
      { email: 'b@example.com', phone: 'unreadable' },
      { email: 'c@example.com' },
      { email: 'c@example.com' },
      { phone: '+14155550100' },
    ]
    const ready = await runBatch(caller, { product: 'contact-intel', start: false, records })
    expect(ready).toMatchObject({
      status: 'ready',
      rows: { total: 5, blank: 0, refused: 1, duplicate: 1, billable: 3, done: 0 },
      credits: { estimate: 6, held: 0, used: 0, released: 0 },
      progress: 0,
      error: null,
    })
    expect((await call(caller, 'GET', `/v1/batches/${ready.id}/results`)).status).toBe(409)
    await expectSettled(caller, 200)
    const started = await call(caller, 'POST', `/v1/batches/${ready.id}/start`)
    expect(await started.json()).toMatchObject({ status: 'running', credits: { held: 6 } })
    const done = await untilBatch(caller, ready.id, ['completed'])
    expect(done.credits).toEqual({ estimate: 6, held: 0, used: 6, released: 0 })
    expect((await call(caller, 'POST', `/v1/batches/${ready.id}/start`)).status).toBe(409)
    await expectSettled(caller, 194)
  })

  test('cancel while it runs: settled chunks stay charged, the rest is released and marked', async () => {
    const caller = await callerWith({ credits: LONG })
    const { left } = await creditsOf(caller)
    const { id } = await submitBatch(caller, largeUpload())
    await expect
      .poll(async () => (await viewBatch(caller, id)).rows.done, PATIENT)
      .toBeGreaterThan(0)
    expect((await call(caller, 'DELETE', `/v1/batches/${id}`)).status).toBe(409)
    expect((await creditsOf(caller)).held).toBeGreaterThan(0)
    const canceled = await cancel(caller, id)
    const { used } = canceled.credits
    expect(used).toBeGreaterThan(0)
    expect(canceled.credits).toEqual({ estimate: LONG, held: 0, used, released: LONG - used })
    expect(canceled.rows.done).toBe(used)
    const lines = await readLines(caller, id)
    expect(lines.map(({ row }) => row)).toEqual(lines.map((_, at) => at + 1))
    expect(lines.length).toBe(LONG)
    expect(lines.filter(({ status }) => status === 'done').length).toBe(used)
    expect(lines.filter(({ status }) => status === 'canceled').length).toBe(LONG - used)
    expect(lines.every(({ status, result }) => (status === 'done') === (result !== null))).toBe(
      true,
    )
    await expectSettled(caller, left - used)
    expect((await call(caller, 'POST', `/v1/batches/${id}/cancel`)).status).toBe(200)
  })

  test('cancel before the file is read: it is read nevertheless, and every record is in the result', async () => {
    const caller = await callerWith({ plan: 'free' })
    await listWorker().kill('SIGTERM')
    const { id } = await submitBatch(caller, emails(25))
    const response = await call(caller, 'POST', `/v1/batches/${id}/cancel`)
    expect(await response.json()).toMatchObject({ status: 'canceling' })
    expect((await call(caller, 'DELETE', `/v1/batches/${id}`)).status).toBe(409)
    await listWorker().restart()
    await untilBatch(caller, id, ['canceled'])
    await expectEveryRecord(caller, id, 25, 'canceled')
    await expectSettled(caller, 200)
  })

  test('cancel while the result is written: finished rows stay finished and charged', async () => {
    const caller = await callerWith({ plan: 'free' })
    const { id } = await runBatch(caller, emails(25, { start: false }))
    await listWorker().kill('SIGTERM')
    await call(caller, 'POST', `/v1/batches/${id}/start`)
    await using connections = await openConnections({
      databaseUrl,
      redisUrl,
      poolSize: 2,
      name: 'hand',
      log: silent,
    })
    const { db, queue } = connections
    // The test does the batch worker's part, up to a state that would otherwise be too short.
    await dispatchOnce({ db, queue, limits: DEFAULT_LIMITS })
    await expect.poll(async () => (await viewBatch(caller, id)).rows.done, PATIENT).toBe(25)
    await closeFinishedBatches(db)
    expect((await viewBatch(caller, id)).status).toBe('finalizing')
    const response = await call(caller, 'POST', `/v1/batches/${id}/cancel`)
    expect(await response.json()).toMatchObject({ status: 'canceling' })
    await listWorker().restart()
    const canceled = await untilBatch(caller, id, ['canceled'])
    expect(canceled.credits).toEqual({ estimate: 25, held: 0, used: 25, released: 0 })
    await expectEveryRecord(caller, id, 25, 'done')
    await expectSettled(caller, 175)
  })

  test('delete erases the batch with its rows and files, and refunds nothing', async () => {
    const caller = await callerWith({ plan: 'free' })
    const { id } = await runBatch(caller, emails(25))
    expect(await filesAbout(id)).toHaveLength(2)
    expect((await call(caller, 'DELETE', `/v1/batches/${id}`)).status).toBe(204)
    expect((await call(caller, 'GET', `/v1/batches/${id}`)).status).toBe(404)
    expect(await filesAbout(id)).toEqual([])
    await expect.poll(() => rowsAbout(id)).toEqual([0, 0, 0])
    await expectSettled(caller, 175)
  })

  test('a waiting subject is dispatched again with its state, and does not delay others', async () => {
    const caller = await callerWith({ plan: 'free' })
    const other = await callerWith({ plan: 'free' })
    const waiting = Array.from({ length: 8 }, (_, at) => `w${at}.busy2@example.com`)
    const greylisted = Array.from({ length: 8 }, (_, at) => `g${at}.grey${at % 3}@example.com`)
    const plain = Array.from({ length: 30 }, (_, at) => `p${at}@example.com`)
    const all = [...waiting, ...plain, ...greylisted]
    const { id } = await submitBatch(caller, uploadOf(all))
    const beside = await runBatch(other, uploadOf(plain))
    expect(beside.status).toBe('completed')
    const done = await untilBatch(caller, id, ['completed'])
    expect(done.credits).toEqual({ estimate: 46, held: 0, used: 46, released: 0 })
    const lines = await readLines(caller, id)
    expect(lines.map(({ result }) => result?.['email'])).toEqual(all)
    // One group waits twice, the other once.
    expect(Date.parse(done.completed_at ?? '') - Date.parse(done.running_at ?? '')).toBeGreaterThan(
      300,
    )
    await expectSettled(caller, 154)
    await expectSettled(other, 170)
  })

  test("another account's ten records are processed while a long batch runs", async () => {
    const busy = await callerWith({ credits: LONG })
    const other = await callerWith({ plan: 'free' })
    const { left } = await creditsOf(busy)
    const { id } = await submitBatch(busy, largeUpload())
    await expect.poll(async () => (await viewBatch(busy, id)).rows.done, PATIENT).toBeGreaterThan(0)
    expect((await runBatch(other, emails(10))).status).toBe('completed')
    // Queued after all tasks of the long batch, these would be last.
    expect((await viewBatch(busy, id)).status).toBe('running')
    const { credits } = await cancel(busy, id)
    await expectSettled(busy, left - credits.used)
    await expectSettled(other, 190)
  })

  test('the eleventh unfinished batch is refused until one has ended', async () => {
    const caller = await callerWith({ plan: 'free' })
    const batches: BatchView[] = []
    for (let at = 0; at < 10; at++) {
      batches.push(await submitBatch(caller, emails(1, { start: false })))
    }
    const refused = await call(caller, 'POST', '/v1/batches', emails(1))
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true])
    await untilBatch(caller, batches[0]?.id ?? '')
    await cancel(caller, batches[0]?.id ?? '')
    await runBatch(caller, emails(1))
    await expectSettled(caller, 199)
  })

  // What the queue has no part in: the start, the end, and what test keys get.
  describe.each(isOneBackend(name, 'redis') ? ['whatever the queue'] : [])('%s', () => {
    test('verdicts of another service are accepted, except for 50 rows, which are checked and compared', async () => {
      const caller = await callerWith({ plan: 'free' })
      const rows = Array.from({ length: 70 }, (_, at) => `p${at}@example.com,Valid,Today`)
      const file = `Email,NeverBounce Status,Note\n${rows.join('\n')}\nq@example.com,Catchall,\n`
      const known = { known: '365d', known_at: new Date().toISOString().slice(0, 10) }
      const done = await runBatch(caller, formOf({ product: 'email', ...known }, file))
      expect(done).toMatchObject({
        status: 'completed',
        rows: { total: 71, known: 20, billable: 51, done: 71 },
        credits: { estimate: 51, used: 51, held: 0 },
      })
      const compared = await call(caller, 'GET', `/v1/batches/${done.id}/known`)
      const { vendor, rows: counts } = batchKnown.parse(await compared.json())
      expect([vendor, counts]).toEqual([
        'neverbounce',
        { ...counts, known: 20, asked: 50, answered: 50 },
      ])
      const lines = await readLines(caller, done.id)
      expect(lines.filter(({ status }) => status === 'known')).toHaveLength(20)
      await expectSettled(caller, 149)
    })

    test('a start without enough credits is 402, and the batch can be started later', async () => {
      const caller = await callerWith({ plan: 'free' })
      const { id } = await runBatch(caller, emails(201, { start: false }))
      const refused = await call(caller, 'POST', `/v1/batches/${id}/start`)
      expect([refused.status, await refused.json()]).toEqual([
        402,
        { error: 'Payment Required', message: expect.stringContaining('201') },
      ])
      expect((await viewBatch(caller, id)).status).toBe('ready')
      await expectSettled(caller, 200)
      await grantGoodwill(service.db, caller.account.id, 1, `one:${caller.account.id}`)
      expect((await call(caller, 'POST', `/v1/batches/${id}/start`)).status).toBe(200)
      await untilBatch(caller, id, ['completed'])
      await expectSettled(caller, 0)
    })

    test('a batch with automatic start and without enough credits stops at ready with the reason', async () => {
      const caller = await callerWith({ plan: 'free' })
      const short = await runBatch(caller, emails(201))
      expect(short).toMatchObject({
        status: 'ready',
        credits: { estimate: 201, held: 0 },
        error: { error: 'Payment Required', message: expect.stringContaining('201') },
      })
      await expectSettled(caller, 200)
    })

    test('a batch above its max_credits stops at ready; an explicit start overrides that', async () => {
      const caller = await callerWith({ plan: 'free' })
      const over = await runBatch(caller, emails(30, { max_credits: 29 }))
      expect(over).toMatchObject({
        status: 'ready',
        error: { error: 'Payment Required', message: expect.stringContaining('max_credits') },
      })
      await expectSettled(caller, 200)
      const started = await call(caller, 'POST', `/v1/batches/${over.id}/start`)
      expect(await started.json()).toMatchObject({ status: 'running', error: null })
      await untilBatch(caller, over.id, ['completed'])
      await expectSettled(caller, 170)
      expect(await runBatch(caller, emails(30, { max_credits: 30 }))).toMatchObject({
        status: 'completed',
      })
      await expectSettled(caller, 140)
    })

    test('cancel at ready: the result holds every record and nothing is charged', async () => {
      const caller = await callerWith({ plan: 'free' })
      const { id } = await runBatch(caller, emails(25, { start: false }))
      const canceled = await cancel(caller, id)
      expect(canceled.credits).toEqual({ estimate: 25, held: 0, used: 0, released: 0 })
      await expectEveryRecord(caller, id, 25, 'canceled')
      await expectSettled(caller, 200)
    })

    test('cancel is refused once a batch has ended', async () => {
      const caller = await callerWith({ plan: 'free' })
      const { id } = await runBatch(caller, emails(2))
      expect((await call(caller, 'POST', `/v1/batches/${id}/cancel`)).status).toBe(409)
      await expectSettled(caller, 198)
    })

    test('the end of retention erases rows and files, and the batch says so', async () => {
      const caller = await callerWith({ plan: 'free' })
      const { id } = await submitBatch(caller, emails(25, { retention_days: 0 }))
      const expired = await untilBatch(caller, id, ['expired'])
      expect(expired).toMatchObject({
        rows: { total: 25, billable: 25 },
        credits: { estimate: 25, held: 0 },
        mapping: {},
        progress: 1,
      })
      expect(expired.completed_at).toBeDefined()
      expect((await call(caller, 'GET', `/v1/batches/${id}/results`)).status).toBe(404)
      // By the sweeps, after they can no longer be read.
      await expect.poll(() => filesAbout(id)).toEqual([])
      await expect.poll(async () => (await rowsAbout(id)).slice(0, 2)).toEqual([0, 0])
      await expectSettled(caller, 175)
    })

    test('a batch of a test key is answered from the table of magic values, without hold or charge', async () => {
      const caller = await callerWith({ plan: 'starter' })
      const rehearsal = { ...caller, key: caller.account.testKey }
      const { left } = await creditsOf(caller)
      const upload = uploadOf([
        'accepted@magic.test',
        'mailbox-not-found@magic.test',
        'x@example.com',
      ])
      const done = await runBatch(rehearsal, upload)
      expect(done).toMatchObject({
        status: 'completed',
        verdicts: { deliverable: 2, undeliverable: 1, risky: 0, unknown: 0 },
        credits: { estimate: 0, held: 0, used: 0, released: 0 },
      })
      const single = await call(rehearsal, 'POST', '/v1/email', { email: 'accepted@magic.test' })
      const [first] = await readLines(rehearsal, done.id)
      expect(first).toMatchObject({ credits_charged: 0, result: await single.json() })
      expect((await call(caller, 'GET', `/v1/batches/${done.id}`)).status).toBe(404)
      await expectSettled(caller, left)
    })

    test('rows with magic values of refused calls are errors, in bundles too', async () => {
      const caller = await callerWith({ plan: 'starter' })
      const rehearsal = { ...caller, key: caller.account.testKey }
      const refused = [
        { email: 'status-500@magic.test' },
        { email: 'status-402@magic.test', ip: '192.0.2.1' },
        { email: 'accepted@magic.test', phone: '+12025550150' },
        { email: 'accepted@magic.test', ip: '192.0.2.150' },
        { email: 'accepted@magic.test', domain: 'status-429.magic.test' },
      ]
      const records = [...refused, { email: 'accepted@magic.test', phone: '+12025550104' }]
      const done = await runBatch(rehearsal, { product: 'contact-intel', records })
      expect(done.credits).toMatchObject({ estimate: 0, held: 0, used: 0 })
      const lines = await readLines(rehearsal, done.id)
      expect(
        lines.map(({ status, result, credits_charged: charged, error }) => ({
          status,
          named: Object(result).email?.address,
          charged,
          error,
        })),
      ).toEqual([
        ...refused.map(() => ({
          status: 'error',
          named: undefined,
          charged: 0,
          error: expect.stringContaining('not charged'),
        })),
        { status: 'done', named: 'accepted@magic.test', charged: 0, error: null },
      ])
      expect(lines.map(({ result }) => result).slice(0, refused.length)).toEqual(
        refused.map(() => null),
      )
    })
  })

  async function filesAbout(id: string): Promise<readonly string[]> {
    return (await filesOf(service)).filter((path) => path.includes(id))
  }

  /** Chunks, parts and batches of an id. */
  async function rowsAbout(id: string): Promise<readonly number[]> {
    const { rows } = await service.db.pool.query<{ counts: number[] }>(
      `select array[(select count(*) from chunks where batch_id = $1),
        (select count(*) from parts where batch_id = $1),
        (select count(*) from batches where id = $1)]::int[] as counts`,
      [id],
    )
    return rows[0]?.counts ?? []
  }
})

async function cancel(caller: Caller, id: string): Promise<BatchView> {
  expect((await call(caller, 'POST', `/v1/batches/${id}/cancel`)).status).toBe(200)
  return await untilBatch(caller, id, ['canceled'])
}

async function expectEveryRecord(
  caller: Caller,
  id: string,
  count: number,
  status: string,
): Promise<void> {
  const lines = await readLines(caller, id)
  expect(lines.map((line) => [line.row, line.status])).toEqual(
    Array.from({ length: count }, (_, at) => [at + 1, status]),
  )
}

function uploadOf(addresses: readonly string[], options: object = {}): object {
  return { product: 'email', ...options, records: addresses.map((email) => ({ email })) }
}

function emails(count: number, options: object = {}): object {
  return uploadOf(
    Array.from({ length: count }, (_, at) => `person${at}@company.example`),
    options,
  )
}

function largeUpload(): FormData {
  const lines = Array.from({ length: LONG }, (_, at) => `person${at}@company${at % 50}.example`)
  return formOf({ product: 'email' }, `email\n${lines.join('\n')}\n`)
}
