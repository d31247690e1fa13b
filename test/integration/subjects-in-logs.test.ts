import { randomBytes } from 'node:crypto'
import { openSync } from 'node:fs'
import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PRODUCTS } from '@plumbline/contract/products'
import { Redis } from 'ioredis'
import { describe, expect, test, vi } from 'vitest'
import { spawnSimnet } from '../simnet/child.ts'
import { HLR_KEY, HLR_SECRET } from '../simnet/hlr/protocol.ts'
import { KINDS } from '../simnet/world/kinds.ts'
import {
  formOf,
  readLines,
  submitBatch,
  untilBatch,
  viewBatch,
  type Caller,
} from '@plumbline/testkit/batches'
import {
  findMarks,
  readFolder,
  readRedis,
  readTables,
  type Occurrence,
} from '@plumbline/testkit/marks'
import { PATIENT } from '@plumbline/testkit/patience'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startRedis } from '@plumbline/testkit/redis'
import { startService, type Member, type TestService } from '@plumbline/testkit/service'
import { WITHOUT_REDIS } from '@plumbline/testkit/without-redis'

// Unique values are sent through every route, refusal and engine; then everything that the service has
// written is searched for them.

const WORD = 'qzmark'
const LOCAL = 'user481516234'
const PHONE = '+41794816234'
const IPV4 = '93.184.48.15'
const IPV6 = '2606:4700:4815:1623::42'
const KIND_COUNT = Object.keys(KINDS).length
const FAULTY_ZONES = [
  'rdap-server-error',
  'rdap-silent',
  'rdap-closes-in-body',
  'rdap-redirects-to-itself',
  'nowhere',
]
const INSTALLATION_KEY = randomBytes(32).toString('base64url')
/** An address that has tried too many keys, in another network than the other calls. */
const GUESSER = `${WORD}, 198.51.100.77`
const FAILED_KEYS = 20
/** Polling: each scan reads everything that was written. */
const SCANS = { timeout: 120_000, interval: 1_000 } as const
const REFUSALS = [400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 431]
const WRONG_KEY = `svc_live_${WORD}${'a'.repeat(26)}bbbbbb`

const emails = [
  ...Array.from({ length: KIND_COUNT }, (_, kind) => `${LOCAL}@${WORD}${kind}.example`),
  `${WORD}.missing@${WORD}0.example`,
  `${LOCAL}@${WORD}.nowhere`,
  `${LOCAL}@[192.0.2.1]`,
  `no mailbox of ${WORD}`,
  `${WORD}ü@${WORD}0.example`,
]
const domains = [
  `${WORD}0.example`,
  `www.${WORD}1.example`,
  ...FAULTY_ZONES.map((zone) => `${WORD}.${zone}`),
]
const phones = [PHONE, '+41794816235', '+99994816234']
const ips = [IPV4, IPV6, '192.0.2.1']
const VALUES = { email: emails, phone: phones, ip: ips, domain: domains } as const

const HEADERS = {
  'x-forwarded-for': `${WORD}, 203.0.113.9`,
  referer: `https://${WORD}.example/`,
  cookie: `${WORD}=1`,
  'x-request-id': `${WORD}-request`,
}

describe.concurrent.each([
  { name: 'postgres', onRedis: false },
  ...(WITHOUT_REDIS ? [] : [{ name: 'redis', onRedis: true }]),
])('on $name', ({ onRedis }) => {
  test('marked subjects, keys and secrets are in no log, metric or file name, and in no queue once they are answered', async () => {
    await using stack = new AsyncDisposableStack()
    const bulkDomains = { prefix: WORD, count: KIND_COUNT, kinds: kindNames() }
    const simnet = stack.use(await spawnSimnet({ bulkDomains }))
    const redis = onRedis ? await startRedis() : null
    stack.defer(async () => await redis?.stop())
    const database = stack.use(await createTestDatabase())
    const folder = stack.use(await mkdtempDisposable(join(tmpdir(), 'plumbline-marked-'))).path
    const output = join(folder, 'output')
    const service = stack.use(
      await startService({
        databaseUrl: database.url,
        redisUrl: redis?.url,
        engines: 'real',
        workers: [['email'], ['phone', 'ip', 'domain', 'batch']],
        output: openSync(output, 'a'),
        env: {
          ...simnet.settings,
          INSTALLATION_KEY,
          LOG_LEVEL: 'trace',
          CALL_TIMEOUT_SECONDS: '3',
          DEBIT_TIMEOUT_SECONDS: '5',
          SWEEP_SECONDS: '1',
          TRUSTED_PROXIES: '127.0.0.1',
          PARKED_PAGES: 'true',
        },
      }),
    )
    const account = await service.account({ credits: 100_000 })
    const caller = { service, account, key: account.liveKey }

    await askEverything(caller)
    await refuseEverything(service, caller)
    const batches = await runBatches(caller)
    await breakThings(caller)

    const secrets = [
      ...[account.liveKey, account.testKey].map((key) => key.slice('svc_live_'.length)),
      INSTALLATION_KEY,
      HLR_KEY,
      HLR_SECRET,
      Buffer.from(`${HLR_KEY}:${HLR_SECRET}`).toString('base64'),
    ]
    const find = findMarks(
      [WORD, LOCAL.slice(4), PHONE.slice(1, -1), IPV4, '4815:1623', ...secrets],
      [...emails, ...phones, ...ips, ...domains],
    )
    // The batches themselves still contain their subjects.
    const own = ['batches', 'batch_previews', 'chunks', 'parts', 'tasks']
    const scanNow = async (leftOut: readonly string[]): Promise<readonly Occurrence[]> =>
      await scan(service, redis?.url ?? null, output, leftOut, find)
    await vi.waitFor(async () => expect(await scanNow(own)).toEqual([]), SCANS)
    // The search finds what must be there.
    expect(await scanNow([])).not.toEqual([])
    expect((await readFile(output, 'utf8')).split('\n').length).toBeGreaterThan(100)
    expect((await redisContents(redis?.url ?? null)).length > 0).toBe(onRedis)
    for (const id of batches) await erase(caller, id)
    await vi.waitFor(async () => {
      const files = await readFolder(service.dataDir)
      const occurrences = [
        ...(await scanNow([])),
        ...files.flatMap(({ place, text }) => find(place, text)),
      ]
      expect(occurrences).toEqual([])
    }, SCANS)
  })
})

/** Each product with values of every kind, with and without explain and an idempotency key. */
async function askEverything(caller: Caller): Promise<void> {
  const calls = PRODUCTS.flatMap((product) => {
    const most = Math.max(...Object.values(VALUES).map(({ length }) => length))
    return Array.from({ length: most }, (_, at) => ({ product, at }))
  })
  const statuses = new Map<number, number>()
  const next = calls.values()
  const work = async (): Promise<void> => {
    for (const { product, at } of next) {
      const body = bodyOf(product, at)
      if (body === null) continue
      const explain = at % 3 !== 0
      const headers = at % 2 === 0 ? { 'idempotency-key': `${WORD}-${product}-${at}` } : {}
      const asked = await send(caller, 'POST', `/v1/${product}`, { ...body, explain }, headers)
      statuses.set(asked.status, (statuses.get(asked.status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: 12 }, work))
  expect(statuses.get(200)).toBeGreaterThan(50)
}

function bodyOf(product: string, at: number): Readonly<Record<string, string>> | null {
  const single =
    product === 'email' || product === 'phone' || product === 'ip' || product === 'domain'
  if (single) {
    const value = VALUES[product][at]
    return value === undefined ? null : { [product]: value }
  }
  const fields =
    product === 'deliverability'
      ? (['email', 'phone'] as const)
      : (['email', 'phone', 'ip', 'domain'] as const)
  const values = fields.map((field) => [field, VALUES[field][at % VALUES[field].length] ?? ''])
  return Object.fromEntries(values) as Record<string, string>
}

/** Every status of a refusal, with marks in everything that a client sends. */
async function refuseEverything(service: TestService, caller: Caller): Promise<void> {
  const mail = { email: emails[0] }
  const statuses = new Set<number>()
  const refuse = async (
    path: string,
    body: unknown,
    { method = 'POST', headers = {}, by = caller }: Refusal = {},
  ): Promise<void> => {
    statuses.add((await send(by, method, path, body, headers)).status)
  }
  await refuse('/v1/email', `{"email": "${WORD}`)
  await refuse('/v1/email', { ...mail, [`${WORD}_field`]: 1 })
  await refuse('/v1/email', { email: `${WORD}${'x'.repeat(2_000)}` })
  await refuse('/v1/email', { email: `${WORD}\u0000@${WORD}0.example` })
  await refuse('/v1/phone', { phone: `${PHONE} ext ${WORD}` })
  await refuse('/v1/ip', { ip: `${IPV4}:${WORD}` })
  await refuse('/v1/domain', { domain: `https://${WORD}.example/` })
  await refuse(`/v1/email?email=${WORD}`, mail)
  await refuse(`/v1/${WORD}`, mail)
  await refuse(`/v1/batches/bat_${WORD}`, undefined, { method: 'GET' })
  await refuse(`/v1/batches?cursor=${WORD}`, undefined, { method: 'GET' })
  await refuse('/v1/email', mail, { method: 'PUT' })
  await refuse('/v1/email', mail, { by: { ...caller, key: WRONG_KEY } })
  await refuse('/v1/email', mail, { by: { ...caller, key: `${caller.key}x` } })
  await refuse('/v1/email', WORD.repeat(40_000))
  await refuse('/v1/email', mail, { headers: { 'content-type': `text/${WORD}` } })
  await refuse('/v1/email', mail, {
    headers: { 'content-type': `application/json; charset=${WORD}` },
  })
  await refuse('/v1/email', mail, { headers: { 'idempotency-key': `${WORD}-${'k'.repeat(300)}` } })
  const headers = { 'idempotency-key': `${WORD}-twice` }
  await refuse('/v1/ip', { ip: IPV4 }, { headers })
  await refuse('/v1/ip', { ip: IPV6 }, { headers })
  const atOnce = { headers: { 'idempotency-key': `${WORD}-at-once` } }
  await whileHeld(service.workers[0], async () => {
    // The first lasts until its time limit, since no worker answers it.
    await Promise.all(Array.from({ length: 4 }, () => refuse('/v1/email', mail, atOnce)))
  })
  await refuse('/v1/email', mail, { by: await onFreePlan(caller) })
  const guessing = { by: { ...caller, key: WRONG_KEY }, headers: { 'x-forwarded-for': GUESSER } }
  for (let guess = 0; guess <= FAILED_KEYS; guess++) await refuse('/v1/email', mail, guessing)
  for (const text of rawRequests(caller.key)) statuses.add(await sendRaw(service.url, text))
  expect([...statuses]).toEqual(expect.arrayContaining(REFUSALS))
}

/** Runs `act` while a worker is stopped. */
async function whileHeld(worker: Member | undefined, act: () => Promise<void>): Promise<void> {
  worker?.process.kill('SIGSTOP')
  try {
    await act()
  } finally {
    worker?.process.kill('SIGCONT')
  }
}

/** A caller with a test key that a change to the Free plan has made useless. */
async function onFreePlan(caller: Caller): Promise<Caller> {
  const { service } = caller
  const account = await service.account()
  await service.db.pool.query("update accounts set plan = 'free' where id = $1", [account.id])
  return { service, account, key: account.testKey }
}

interface Refusal {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly by?: Caller
}

/** Requests that no client library would send. */
function rawRequests(key: string): readonly string[] {
  const head = (line: string, ...lines: readonly string[]): string =>
    [line, 'Host: localhost', `Authorization: Bearer ${key}`, ...lines, '', ''].join('\r\n')
  return [
    `${WORD} ${WORD} ${WORD}\r\n\r\n`,
    head(`GET /${WORD}%ZZ HTTP/1.1`),
    head(`POST /v1/email HTTP/1.1`, `X-${WORD}: ${'y'.repeat(70_000)}`),
    head(
      'POST /v1/email HTTP/1.1',
      'Content-Length: 5',
      'Transfer-Encoding: chunked',
      `X: ${WORD}`,
    ),
    `${head('POST /v1/email HTTP/1.1', 'Content-Length: 50')}{"email":"${WORD}`,
    `${head('POST /v1/email HTTP/1.1', 'Transfer-Encoding: chunked')}${WORD}\r\n`,
  ]
}

/** Batches in every format and with every final state. */
async function runBatches(caller: Caller): Promise<readonly string[]> {
  // A batch waits a quarter of an hour for a host that refuses us, and half a minute for a silent one.
  const isLong = (kind = ''): boolean => kind.startsWith('blocked') || kind === 'silent'
  const quick = emails.filter((_, at) => !isLong(kindNames()[at]))
  const rows = quick.map((email, at) =>
    [email, phones[at % 3], ips[at % 3], domains[at % domains.length], `${WORD}-cell`].join(','),
  )
  const csv = `email,phone,ip,domain,${WORD}-column\n${rows.join('\n')}\n`
  const fields = { product: 'contact-intel', name: `${WORD}-name`, explain: 'true' }
  const whole = await submitBatch(caller, formOf(fields, csv, `${WORD}-file.csv`))
  const form = formOf({ ...fields, start: 'false' }, csv, `${WORD}-kept.csv`)
  const kept = await send(caller, 'POST', '/v1/batches', form, {
    'idempotency-key': `${WORD}-list`,
  })
  const waiting = JSON.parse(kept.text) as { id: string }
  const json = await submitBatch(caller, records(3))
  // A quote that never closes; the sentence of the failure is the client's to read.
  const torn = await submitBatch(
    caller,
    formOf(fields, `email\n"${WORD}@x.example\n`, `${WORD}.csv`),
  )
  const canceled = await submitBatch(
    caller,
    formOf({ product: 'email' }, `email\n${emails.join('\n')}\n`),
  )
  await vi.waitFor(
    async () => expect((await viewBatch(caller, canceled.id)).progress).toBeGreaterThan(0.4),
    PATIENT,
  )
  await call(caller, 'POST', `/v1/batches/${canceled.id}/cancel`)
  await untilBatch(caller, waiting.id)
  for (const id of [whole.id, json.id, torn.id, canceled.id]) await untilBatch(caller, id)
  expect((await viewBatch(caller, torn.id)).status).toBe('failed')
  expect(await readLines(caller, whole.id)).toHaveLength(rows.length)
  for (const query of [
    'format=csv',
    'format=csv&raw=1',
    'format=xlsx',
    `format=${WORD}`,
    `only=${WORD}`,
  ]) {
    await call(caller, 'GET', `/v1/batches/${whole.id}/results?${query}`)
  }
  await call(caller, 'GET', `/v1/batches/${whole.id}/events`)
  return [whole.id, waiting.id, json.id, torn.id, canceled.id]
}

function records(count: number): object {
  const each = (_: unknown, at: number): object => ({
    email: emails[at % emails.length],
    ref: `${WORD}-ref-${at}`,
  })
  return { product: 'email', name: `${WORD}-records`, records: Array.from({ length: count }, each) }
}

/** Calls while a dependency of the service fails: a broken store, a stopped worker. */
async function breakThings(caller: Caller): Promise<void> {
  const { service } = caller
  const { pool } = service.db
  const statuses: number[] = []
  const ask = async (headers = {}): Promise<void> => {
    const body = { email: `${LOCAL}@${WORD}0.example`, explain: true }
    statuses.push((await send(caller, 'POST', '/v1/email', body, headers)).status)
  }
  for (const table of ['memory_entries', 'durable_entries', 'rate_buckets', 'idempotency_keys']) {
    await pool.query(`alter table ${table} rename to ${table}_away`)
    await ask({ 'idempotency-key': `${WORD}-${table}` })
    await send(caller, 'POST', '/v1/phone', { phone: '+41794816236' })
    await pool.query(`alter table ${table}_away rename to ${table}`)
  }
  await service.workers[0]?.kill('SIGKILL')
  await ask()
  await service.workers[0]?.restart()
  expect(statuses).toEqual(expect.arrayContaining([500, 504]))
}

async function erase(caller: Caller, id: string): Promise<void> {
  const view = await viewBatch(caller, id)
  expect(view.status).not.toBe('running')
  const { status } = await send(caller, 'DELETE', `/v1/batches/${id}`)
  expect(status).toBe(204)
}

/** Marks in the output of all processes, the metrics, the names of files, and every store. */
async function scan(
  service: TestService,
  redisUrl: string | null,
  output: string,
  except: readonly string[],
  find: ReturnType<typeof findMarks>,
): Promise<readonly Occurrence[]> {
  const pages = ['/metrics', '/readyz'].map(async (path) => {
    const answer = await fetch(new URL(path, service.adminUrl))
    return find(path, await answer.text())
  })
  const stored = [...(await readTables(service.db, except)), ...(await redisContents(redisUrl))]
  const names = await readFolder(service.dataDir)
  const occurrences = [
    ...find('output', await readFile(output, 'utf8')),
    ...(await Promise.all(pages)).flat(),
    ...names.flatMap(({ place, name }) => find(`name of ${place}`, name)),
    ...stored.flatMap(({ place, text }) => find(place, text)),
  ]
  return occurrences.slice(0, 8)
}

async function redisContents(url: string | null): ReturnType<typeof readRedis> {
  if (url === null) return []
  const redis = new Redis(url)
  try {
    return await readRedis(redis)
  } finally {
    redis.disconnect()
  }
}

async function call(caller: Caller, method: string, path: string): Promise<void> {
  const signal = AbortSignal.timeout(60_000)
  const headers = { ...HEADERS, authorization: `Bearer ${caller.key}` }
  const response = await fetch(new URL(path, caller.service.url), { method, headers, signal })
  await response.text()
}

async function send(
  { service, key }: Caller,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly text: string }> {
  const isForm = body instanceof FormData
  const response = await fetch(new URL(path, service.url), {
    method,
    headers: {
      ...HEADERS,
      authorization: `Bearer ${key}`,
      ...(isForm ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isForm ? body : textOf(body) }),
  })
  return { status: response.status, text: await response.text() }
}

function textOf(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body)
}

/** The status of the response to the text, 0 if there was none. */
async function sendRaw(url: string, text: string): Promise<number> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const { promise, resolve } = Promise.withResolvers<void>()
  socket.setTimeout(2_000, () => socket.destroy())
  socket.on('error', () => undefined)
  socket.on('close', () => resolve())
  let answer = ''
  socket.on('data', (bytes) => (answer += bytes.toString('latin1')))
  socket.end(text)
  await promise
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0)
}

function kindNames(): (keyof typeof KINDS)[] {
  // Safe: the keys of a literal.
  return Object.keys(KINDS) as (keyof typeof KINDS)[]
}
