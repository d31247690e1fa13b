import type { BatchView } from '@plumbline/contract/batch-view'
import { gzipSync } from 'node:zlib'
import { oneBackend } from '@plumbline/testkit/one-backend'
import {
  call,
  formOf,
  readCells,
  readLines,
  runBatch,
  untilBatch,
  type Caller,
} from '@plumbline/testkit/batches'
import { expectLedgerIntact } from '@plumbline/testkit/invariants'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService, type TestService } from '@plumbline/testkit/service'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

// Batches made from results, over HTTP: a result is uploaded as a workbook; rows are rechecked, rescored
// and compared.

const ROWS = 30
const CSV = `Name,E-Mail\n${Array.from({ length: ROWS }, (_, no) => `Zoë ${no},u${no}@b.example\n`).join('')}`

describe.each(oneBackend('postgres'))('on $name', ({ redisUrl }) => {
  const stack = new AsyncDisposableStack()
  let service: TestService

  beforeAll(async () => {
    const database = stack.use(await createTestDatabase())
    service = stack.use(
      await startService({
        databaseUrl: database.url,
        redisUrl,
        workers: [['email', 'ip', 'domain', 'batch']],
      }),
    )
  })
  afterAll(() => stack.disposeAsync())

  async function openCaller(): Promise<Caller> {
    const account = await service.account({ credits: 1_000 })
    return { service, account, key: account.liveKey }
  }

  test('a workbook of results can be uploaded, and has the same cells in the new results', async () => {
    const caller = await openCaller()
    const first = await runBatch(caller, formOf({ product: 'email' }, CSV))
    const answer = await call(
      caller,
      'GET',
      `/v1/batches/${first.id}/results?format=xlsx&columns=input`,
    )
    expect(answer.status).toBe(200)
    const workbook = new Uint8Array(await answer.arrayBuffer())
    for (const [name, bytes] of [
      ['again.xlsx', workbook],
      ['again.xlsx.gz', new Uint8Array(gzipSync(workbook))],
    ] as const) {
      const again = await runBatch(caller, formOf({ product: 'email' }, bytes, name))
      expect(again).toMatchObject({ status: 'completed', rows: { total: ROWS, billable: ROWS } })
      const cells = await readCells(caller, again.id)
      const before = await readCells(caller, first.id)
      expect(cells.map((row) => row.slice(0, 2))).toEqual(before.map((row) => row.slice(0, 2)))
    }
    await expectLedgerIntact(service)
  })

  test('rows are rechecked in a batch of their own, rescored for free, and compared', async () => {
    const caller = await openCaller()
    const list = `email,ip\n${Array.from({ length: ROWS }, (_, no) => `u${no}@b.example,8.8.4.${no}\n`).join('')}`
    const first = await runBatch(caller, formOf({ product: 'fraud-signals' }, list))
    const counted = first.verdicts['low'] ?? 0
    const recheck = { only: ['low', 'medium', 'high'] }
    const again = await post(caller, `/v1/batches/${first.id}/recheck`, recheck)
    const done = await untilBatch(caller, again.id)
    expect(done).toMatchObject({ status: 'completed', rows: { billable: ROWS } })
    expect((await readLines(caller, done.id)).map(({ input }) => input)).toEqual(
      (await readLines(caller, first.id)).map(({ input }) => input),
    )
    const rescored = await post(caller, `/v1/batches/${first.id}/rescore`, {
      weights: first.weights,
    })
    const scored = await untilBatch(caller, rescored.id)
    expect(scored).toMatchObject({ status: 'completed', verdicts: { low: counted } })
    expect(scored.credits.used).toBe(0)
    const compared = await call(caller, 'GET', `/v1/batches/${first.id}/compare?with=${done.id}`)
    expect(compared.status).toBe(200)
    expect(await compared.json()).toMatchObject({ rows: expect.any(Object) })
    await expectLedgerIntact(service)
  })
})

async function post(caller: Caller, path: string, body: object): Promise<BatchView> {
  const response = await caller.service.call(caller.key, 'POST', path, body)
  const text = await response.text()
  expect([response.status, text]).toEqual([202, expect.any(String)])
  // Safe because a test compares what it uses of it.
  return JSON.parse(text) as BatchView
}
