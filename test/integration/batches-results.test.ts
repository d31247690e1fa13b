import type { BatchView } from '@plumbline/contract/batch-view'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { oneBackend } from '@plumbline/testkit/one-backend'
import {
  call,
  expectSettled,
  formOf,
  readCells,
  readLines,
  runBatch,
  submitBatch,
  untilBatch,
  viewBatch,
  type Caller,
} from '@plumbline/testkit/batches'
import { PATIENT } from '@plumbline/testkit/patience'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService, type TestService } from '@plumbline/testkit/service'

// Reads batches and their results, while they run and afterwards.

const SMALL = { CHUNK_RECORDS: '20', EVENTS_EVERY_MS: '50' }
const SLOW = ['email', 'phone', '--delay=50', '--width=50'] as const
const LONG = 4_000

describe.each(oneBackend('redis'))('on $name', ({ redisUrl }) => {
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

  async function callerWith(options: Parameters<TestService['account']>[0]): Promise<Caller> {
    const account = await service.account(options)
    return { service, account, key: account.liveKey }
  }

  test.each(['csv', 'ndjson'])(
    'results in %s grow by whole rows in order while the batch runs',
    async (format) => {
      const caller = await callerWith({ credits: LONG })
      // Each address is repeated at once, and again much later.
      const half = Array.from({ length: LONG / 2 }, (_, at) => `person${at}@example.com`)
      const addresses = [...half.flatMap((email) => [email, email]), ...half.slice(0, 500)]
      const { id } = await submitBatch(
        caller,
        formOf({ product: 'email' }, `email\n${addresses.join('\n')}\n`),
      )
      await untilBatch(caller, id, ['running'])
      const parts: string[] = []
      const completes: string[] = []
      let rows = 0
      while (completes.at(-1) !== 'true') {
        const path = `/v1/batches/${id}/results?format=${format}&after=${rows}`
        const response = await call(caller, 'GET', path)
        completes.push(response.headers.get('x-results-complete') ?? '')
        const text = await response.text()
        parts.push(text)
        rows += text.split('\n').length - 1 - (format === 'csv' && rows === 0 ? 1 : 0)
        await untilMore(caller, id, rows)
      }
      expect(completes[0]).toBe('false')
      expect(parts.filter((part) => part !== '').length).toBeGreaterThan(2)
      const whole = await call(caller, 'GET', `/v1/batches/${id}/results?format=${format}`)
      expect(whole.headers.get('x-results-complete')).toBe('true')
      expect(withoutRepeatedHeader(parts)).toBe(await whole.text())
      expect(rows).toBe(addresses.length)
    },
  )

  test('`only` selects rows by verdict and by status', async () => {
    const caller = await callerWith({ credits: 100 })
    const cells = ['a@example.com', '', 'b@example.com', 'c@example.com', 'a@example.com', 'oops']
    const csv = cells.map((email, at) => `${email},${email === '' ? 'x' : '+1415555010' + at}`)
    const form = (product: string): FormData =>
      formOf({ product }, `email,phone\n${csv.join('\n')}\n,\n`)
    for (const product of ['deliverability', 'email']) {
      const { id } = await runBatch(caller, form(product))
      const all = await readLines(caller, id)
      expect(all.map(({ status }) => status)).toContain('refused')
      expect(all.map(({ status }) => status)).toContain('blank')
      for (const status of ['done', 'refused', 'blank', 'canceled', 'error']) {
        expect(await readLines(caller, id, `&only=${status}`)).toEqual(
          all.filter((line) => line.status === status),
        )
      }
      const [names = [], ...rows] = await readCells(caller, id)
      const verdict = names.indexOf('result.email.status')
      for (const only of ['deliverable', 'undeliverable', 'risky', 'unknown']) {
        const [, ...shown] = await readCells(caller, id, `&only=${only}`)
        expect(shown).toEqual(rows.filter((row) => row[verdict] === only))
      }
      const both = await readLines(caller, id, '&only=undeliverable,refused')
      expect(both.length).toBe(
        rows.filter((row) => row[verdict] === 'undeliverable').length +
          all.filter(({ status }) => status === 'refused').length,
      )
    }
  })

  test('cells that a spreadsheet would execute are escaped; raw=1 returns them unchanged', async () => {
    const caller = await callerWith({ credits: 100 })
    const cells = [
      '=1+1',
      '+14155550100',
      '-5',
      "'quoted",
      '@sum',
      'a"b',
      'x\ty',
      ' pad ',
      '\u00e4',
    ]
    const rows = cells.map((cell, at) => [`p${at}@example.com`, cell])
    const csv = rows.map((row) => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(','))
    const body = formOf({ product: 'email' }, `email,note\n${csv.join('\n')}`)
    const { id } = await runBatch(caller, body)
    const [names, ...raw] = await readCells(caller, id, '&raw=1')
    expect(names?.slice(0, 2)).toEqual(['email', 'note'])
    expect(raw.map((row) => row.slice(0, 2))).toEqual(rows)
    const [, ...guarded] = await readCells(caller, id)
    expect(guarded.map((row) => row[1])).toEqual([
      "'=1+1",
      '+14155550100',
      '-5',
      "'quoted",
      "'@sum",
      'a"b',
      'x\ty',
      ' pad ',
      '\u00e4',
    ])
    const lines = await readLines(caller, id)
    expect(lines.map(({ input }) => input)).toEqual(rows.map(([email, note]) => ({ email, note })))
  })

  test('explain in NDJSON equals that of a single call', async () => {
    const caller = await callerWith({ credits: 100 })
    const records = [
      { email: 'ada@example.com', phone: '+14155550100', ref: 'one' },
      { email: 'bob@example.com', ref: 'two' },
      { email: 'bob@Example.com' },
    ]
    const { id } = await runBatch(caller, { product: 'fraud-signals', explain: true, records })
    const lines = await readLines(caller, id)
    expect(lines.map(({ ref }) => ref)).toEqual(['one', 'two', null])
    for (const [at, { ref: _, ...values }] of records.entries()) {
      const body = { ...values, explain: true }
      const single = await call(caller, 'POST', '/v1/fraud-signals', body)
      expect(lines[at]?.result).toEqual(await single.json())
    }
  })

  test('the event stream sends each state once and ends with the batch', async () => {
    const caller = await callerWith({ credits: 2_000 })
    const records = Array.from({ length: 2_000 }, (_, at) => ({ email: `p${at}@example.com` }))
    const { id } = await submitBatch(caller, { product: 'email', records })
    const response = await call(caller, 'GET', `/v1/batches/${id}/events`)
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    const events = (await response.text()).split('\n\n').filter((event) => event.startsWith('id:'))
    const views = events.map((event) => JSON.parse(event.split('data: ')[1] ?? '') as BatchView)
    const states = views.map(({ status }) => status).filter((s, at, all) => s !== all[at - 1])
    const order = ['analyzing', 'running', 'finalizing', 'completed']
    expect(states).toEqual(order.filter((state) => states.some((seen) => seen === state)))
    expect(states.at(-1)).toBe('completed')
    const done = views.map(({ rows }) => rows.done)
    expect(done).toEqual(done.toSorted((a, b) => a - b))
    expect(views.length).toBeGreaterThan(3)
    const after = await call(caller, 'GET', `/v1/batches/${id}/events`)
    expect((await after.text()).match(/^event: .*$/gm)).toEqual(['event: batch', 'event: end'])
  })

  test('an upload repeated with its idempotency key is the same batch, charged once', async () => {
    const caller = await callerWith({ plan: 'free' })
    const send = (content: string): Promise<Response> =>
      fetch(new URL('/v1/batches', service.url), {
        method: 'POST',
        headers: { authorization: `Bearer ${caller.key}`, 'idempotency-key': 'again' },
        body: formOf({ product: 'email' }, content),
      })
    const answers = [await send('email\na@example.com\n'), await send('email\na@example.com\n')]
    expect(answers.map(({ status }) => status)).toEqual([202, 202])
    expect(answers.map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true'])
    const [first, second] = (await Promise.all(answers.map((answer) => answer.json()))) as [
      BatchView,
      BatchView,
    ]
    expect(second).toEqual(first)
    expect((await send('email\nb@example.com\n')).status).toBe(422)
    await untilBatch(caller, first.id, ['completed'])
    const page = await (await call(caller, 'GET', '/v1/batches')).json()
    expect(page).toMatchObject({ data: [{ id: first.id }] })
    await expectSettled(caller, 199)
  })

  test('a batch of another account is not found on any route', async () => {
    const owner = await callerWith({ plan: 'free' })
    const stranger = await callerWith({ plan: 'free' })
    const { id } = await runBatch(owner, emails(1))
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/results'],
      ['GET', '/events'],
      ['POST', '/start'],
      ['POST', '/cancel'],
      ['DELETE', ''],
    ] as const) {
      expect((await call(stranger, method, `/v1/batches/${id}${path}`)).status).toBe(404)
    }
    expect(await (await call(stranger, 'GET', '/v1/batches')).json()).toMatchObject({ data: [] })
    expect((await viewBatch(owner, id)).status).toBe('completed')
  })
})

function withoutRepeatedHeader(parts: readonly string[]): string {
  const [header = ''] = (parts[0] ?? '').split('\n', 1)
  if (!header.startsWith('email,')) return parts.join('')
  return `${header}\n${parts.map((part) => part.replace(`${header}\n`, '')).join('')}`
}

/** Waits until more rows are done than the reader has, or all are. */
async function untilMore(caller: Caller, id: string, rows: number): Promise<void> {
  await expect
    .poll(async () => {
      const view = await viewBatch(caller, id)
      return view.status === 'completed' || view.rows.done > rows
    }, PATIENT)
    .toBe(true)
}

function emails(count: number): object {
  const records = Array.from({ length: count }, (_, at) => ({ email: `p${at}@example.com` }))
  return { product: 'email', records }
}
