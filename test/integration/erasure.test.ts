import type { ErasureView } from '@plumbline/contract/erasure'
import { call, formOf, runBatch, type Caller } from '@plumbline/testkit/batches'
import { expectLedgerIntact } from '@plumbline/testkit/invariants'
import { findMarks } from '@plumbline/testkit/marks'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startRedis } from '@plumbline/testkit/redis'
import { startService, type TestService } from '@plumbline/testkit/service'
import { startReceiver } from '@plumbline/testkit/webhook-receiver'
import { WITHOUT_REDIS } from '@plumbline/testkit/without-redis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, storedTexts, untilErased } from './erasure-service.ts'

// Values that are in every store of a running service are erased; then all stores are searched.

const EMAIL = 'qzgone481516@b.example'
const PHONE = '+41794816234'
const IP = '93.184.48.15'
const DOMAIN = 'qzgone4815.example'
/** Values to erase, as searched for anywhere, also within longer values that must stay. */
const MARKS = [
  '"qzgone481516@b',
  ',qzgone481516@b',
  PHONE.slice(1),
  '93.184.48.15',
  '"qzgone4815.ex',
]
const OTHERS = [
  'xqzgone481516@b.example',
  '+417948162345',
  '93.184.48.151',
  'not-qzgone4815.example',
]

describe.each([
  { name: 'postgres', onRedis: false },
  ...(WITHOUT_REDIS ? [] : [{ name: 'redis', onRedis: true }]),
])('on $name', ({ onRedis }) => {
  const stack = new AsyncDisposableStack()
  let service: TestService
  let redisUrl: string | null = null

  beforeAll(async () => {
    const redis = onRedis ? await startRedis() : null
    stack.defer(async () => await redis?.stop())
    redisUrl = redis?.url ?? null
    const database = stack.use(await createTestDatabase())
    service = stack.use(
      await startService({
        databaseUrl: database.url,
        redisUrl: redis?.url,
        workers: [['email', 'phone', 'ip', 'domain', 'batch', '--later']],
        env: { EGRESS_ALLOW: '127.0.0.1/32', SWEEP_SECONDS: '1' },
      }),
    )
  })
  afterAll(() => stack.disposeAsync())

  async function openCaller(): Promise<Caller> {
    const account = await service.account({ credits: 1_000 })
    return { service, account, key: account.liveKey }
  }

  test('values are erased from every store, and the receipt counts them by store', async () => {
    await using receiver = await startReceiver()
    const caller = await openCaller()
    const events = ['lookup.completed']
    await service.call(caller.key, 'POST', '/v1/webhooks', { url: receiver.url, events })
    const record = { email: EMAIL, phone: PHONE, ip: IP, domain: DOMAIN }
    await ask(caller, '/v1/contact-intel', { ...record, explain: true }, { 'idempotency-key': 'k' })
    const later = await ask(caller, '/v1/contact-intel', record, { prefer: 'respond-async' })
    expect(later.status).toBe(202)
    const csv = `email,phone,ip,domain\n${Object.values(record).join(',')}\n${OTHERS.join(',')}\n`
    const { id } = await runBatch(
      caller,
      formOf({ product: 'contact-intel', explain: 'true', name: `of ${EMAIL}` }, csv, 'list.csv'),
    )
    await expect.poll(() => receiver.received.length).toBe(1)
    await expect.poll(async () => await marksLeft()).not.toEqual([])
    const archive = await zipOf(caller)
    expect(archive.names).toEqual(
      expect.arrayContaining(['account.ndjson', 'lookups.ndjson', `batches/${id}/rows.ndjson`]),
    )

    const begun = await ask(caller, '/v1/erase', {
      email: EMAIL,
      phone: [PHONE],
      ip: IP,
      domain: DOMAIN,
    })
    expect(begun.status).toBe(202)
    const { id: erasure } = (await begun.json()) as ErasureView
    const receipt = await untilErased(caller, erasure)
    expect(begun.headers.get('location')).toBe(`/v1/erase/${receipt.id}`)
    expect(receipt).toMatchObject({
      values: 4,
      erased: { batches: 2, rows: 2, uploads: 1, results: 2, answers: 1, deliveries: 1 },
    })
    expect(await marksLeft()).toEqual([])
    const rows = await (
      await call(caller, 'GET', `/v1/batches/${id}/results?format=csv&raw=1`)
    ).text()
    for (const other of OTHERS) expect(rows).toContain(other)
    const repeat = await ask(
      caller,
      '/v1/contact-intel',
      { ...record, explain: true },
      { 'idempotency-key': 'k' },
    )
    expect(repeat.status).toBe(409)
    const after = await zipOf(caller)
    expect(after.names).not.toContain(`batches/${id}/upload`)
    await expectLedgerIntact(service)
  })

  test('invalid values, too many values, and another account’s receipt are refused', async () => {
    const caller = await openCaller()
    const status = async (body: object): Promise<number> =>
      (await ask(caller, '/v1/erase', body)).status
    expect(await status({})).toBe(400)
    expect(await status({ email: [] })).toBe(400)
    expect(await status({ phone: '020 7946 0123' })).toBe(400)
    expect(await status({ domain: 'a@b.example' })).toBe(400)
    expect(await status({ email: 'a@b.example', include_addresses: true })).toBe(400)
    expect(await status({ emails: ['a@b.example'] })).toBe(400)
    const many = Array.from({ length: 10_000 }, (_, no) => `user.number.${no}@somewhere.example`)
    expect(await status({ email: [...many, 'x@y.example'] })).toBe(400)
    const begun = await ask(caller, '/v1/erase', { email: many })
    expect(begun.status).toBe(202)
    const { id } = (await begun.json()) as ErasureView
    const stranger = await openCaller()
    expect((await call(stranger, 'GET', `/v1/erase/${id}`)).status).toBe(404)
    const tester = { ...caller, key: caller.account.testKey }
    expect((await call(tester, 'GET', `/v1/erase/${id}`)).status).toBe(404)
    expect((await call(caller, 'GET', '/v1/erase/ers_0')).status).toBe(404)
  })

  /** Marks in tables (compressed values unpacked), keys of Redis and files. */
  async function marksLeft(): Promise<readonly string[]> {
    const find = findMarks(MARKS, [EMAIL, PHONE, IP, DOMAIN])
    const stored = await storedTexts(service, redisUrl)
    return stored.flatMap(({ place, text }) =>
      // Longer values that contain one must stay.
      find(
        place,
        OTHERS.reduce((left, other) => left.replaceAll(other, ''), text),
      ).map(({ mark }) => `${place}: ${mark}`),
    )
  }
})

/** Names of the files of an export, by its directory. */
async function zipOf(caller: Caller): Promise<{ readonly names: readonly string[] }> {
  const response = await call(caller, 'GET', '/v1/export')
  expect(response.headers.get('content-type')).toBe('application/zip')
  const text = Buffer.from(await response.arrayBuffer()).toString('latin1')
  // A central directory header: 46 bytes, of which 28 and 29 say how long the name behind them is.
  const names = [...text.matchAll(/PK\x01\x02[^]{24}([^]{2})[^]{16}/g)].map(
    ({ 1: length = '', index }) => {
      const size = Buffer.from(length, 'latin1').readUInt16LE()
      return text.slice(index + 46, index + 46 + size)
    },
  )
  return { names }
}
