import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { memoryFlags } from '@plumbline/local/children'
import { call, formOf, runBatch, type Caller } from '@plumbline/testkit/batches'
import { peakMebibytes, resetPeak } from '@plumbline/testkit/peak-memory'
import { startService, type TestService } from '@plumbline/testkit/service'
import { openSlowReader, requestResults } from '@plumbline/testkit/slow-readers'
import { bounded, type Figure } from './figure.ts'
import type { BenchBackend } from './servers.ts'

/** Heap limits as set by `npm start`. */
const HEAP_MEGABYTES = 160
const HEALTH_SECONDS = 1

/** Concurrent downloads, their limit of the API's memory growth, their duration, and how often they read. */
const READERS = 150
const READERS_MEGABYTES = 128
const READERS_MS = 10_000
const TRICKLE_EVERY_MS = 100
const DOWNLOADS_OF_ACCOUNT = 4

const SILENT = 10_000
/** An address on loopback that no other client uses, and the API's limit of its connections. */
const SILENT_ADDRESS = '127.0.0.2'
const CONNECTIONS_OF_ADDRESS = 256

/** Free and paid calls, together as many as a connection may have at once; the free ones fill its buffers. */
const FREE_CALLS = 12
const PAID_CALLS = 4

/**
 * Effect on the API of clients that do not read their responses, or send no request: memory growth,
 * the longest response time of `/healthz`, and responses without a charge. Each measurement has a
 * service of its own.
 */
export async function measureClients({ name, stores }: BenchBackend): Promise<readonly Figure[]> {
  const figures: Figure[] = []
  const measures = [measureReaders, measureReadersOfMany, measureSilent, measureTrickle]
  for (const measure of measures) {
    await using service = await startService({
      ...stores,
      workers: [['email', 'phone', 'ip', 'domain', 'batch']],
      execArgv: (program) => memoryFlags(HEAP_MEGABYTES, program),
      // So that refunds are made soon.
      env: { CALL_TIMEOUT_SECONDS: '2', DEBIT_TIMEOUT_SECONDS: '3', SWEEP_SECONDS: '1' },
    })
    figures.push(...(await measure(service, name)))
  }
  return figures
}

/** Slow readers of one batch. */
async function measureReaders(service: TestService, backend: string): Promise<readonly Figure[]> {
  const caller = await openCaller(service, 60_000)
  const measured = await readSlowly(
    service,
    Array.from({ length: READERS }, () => caller),
  )
  return readersFigures('hostile: 150 slow readers of one account', backend, measured)
}

/** Slow readers of as few accounts as the limits require for all to be admitted. */
async function measureReadersOfMany(
  service: TestService,
  backend: string,
): Promise<readonly Figure[]> {
  const callers: (Caller & { id: string })[] = []
  for (let no = 0; no * DOWNLOADS_OF_ACCOUNT < READERS; no += 1) {
    callers.push(await openCaller(service, 12_000))
  }
  const readers = callers.flatMap((caller) =>
    Array.from({ length: DOWNLOADS_OF_ACCOUNT }, () => caller),
  )
  const measured = await readSlowly(service, readers.slice(0, READERS))
  return readersFigures('hostile: 150 slow readers of many accounts', backend, measured)
}

interface Measured {
  readonly megabytes: number
  readonly healthMs: number
}

function readersFigures(name: string, backend: string, measured: Measured): readonly Figure[] {
  return [
    bounded(
      { name: `${name}, memory growth`, backend, unit: 'MB' },
      measured.megabytes,
      READERS_MEGABYTES,
    ),
    bounded(
      { name: `${name}, /healthz`, backend, unit: 's' },
      measured.healthMs / 1_000,
      HEALTH_SECONDS,
    ),
  ]
}

/** An account with a batch of this many rows, which was read once by an ordinary client. */
async function openCaller(service: TestService, rows: number): Promise<Caller & { id: string }> {
  const account = await service.account({ credits: rows })
  const caller: Caller = { service, account, key: account.liveKey }
  const lines = Array.from({ length: rows }, (_, at) => `person${at}@company${at % 999}.example`)
  const { id } = await runBatch(
    caller,
    formOf({ product: 'email' }, `email\n${lines.join('\n')}\n`),
  )
  await (await call(caller, 'GET', `/v1/batches/${id}/results?format=ndjson`)).arrayBuffer()
  return { ...caller, id }
}

async function readSlowly(
  service: TestService,
  callers: readonly { key: string; id: string }[],
): Promise<Measured> {
  const before = await resetPeak(service.api)
  const health = watchHealth(service)
  const readers = callers.map(({ key, id }) =>
    openSlowReader({
      url: service.url,
      requests: requestResults(key, id),
      bytes: 1,
      keptBytes: 1,
    }),
  )
  const trickle = setInterval(() => {
    for (const { socket } of readers) socket.resume()
  }, TRICKLE_EVERY_MS)
  await wait(READERS_MS)
  clearInterval(trickle)
  for (const { socket } of readers) socket.destroy()
  const healthMs = await health.slowestMs()
  return { megabytes: (await peakMebibytes(service.api)) - before, healthMs }
}

/** 10,000 silent connections, all from one address. */
async function measureSilent(service: TestService, backend: string): Promise<readonly Figure[]> {
  const health = watchHealth(service)
  const port = Number(new URL(service.url).port)
  const open = new Set<Socket>()
  for (let no = 0; no < SILENT; no += 200) {
    await Promise.all(Array.from({ length: 200 }, async () => await openSilent(port, open)))
  }
  const healthMs = await health.slowestMs()
  // The last resets may not have arrived yet.
  await until(async () => open.size <= CONNECTIONS_OF_ADDRESS, 5).catch(() => undefined)
  const held = open.size
  for (const socket of open) socket.destroy()
  const head = { backend, unit: 's' }
  return [
    bounded(
      { ...head, name: 'hostile: 10,000 silent connections, /healthz' },
      healthMs / 1_000,
      HEALTH_SECONDS,
    ),
    bounded(
      { ...head, name: 'hostile: 10,000 silent connections, left open', unit: 'connections' },
      held,
      CONNECTIONS_OF_ADDRESS,
    ),
  ]
}

async function openSilent(port: number, open: Set<Socket>): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: SILENT_ADDRESS })
  socket.on('error', () => undefined).on('close', () => open.delete(socket))
  open.add(socket)
  await once(socket, 'connect').catch(() => undefined)
}

/**
 * A client pipelines paid calls behind free ones whose responses it does not read, and reads them
 * after the time limit of the debits: responses of paid calls that were not charged.
 */
async function measureTrickle(service: TestService, backend: string): Promise<readonly Figure[]> {
  const account = await service.account({ credits: 1_000 })
  const caller: Caller = { service, account, key: account.liveKey }
  const left = await leftOf(caller)
  const body = JSON.stringify({ ip: '8.8.8.8' })
  const free = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'
  const paid =
    `POST /v1/ip HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.liveKey}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const requests = free.repeat(FREE_CALLS) + paid.repeat(PAID_CALLS)
  const reader = openSlowReader({ url: service.url, requests, bytes: 1 })
  await until(async () => (await operationsOf(caller)).debits === PAID_CALLS)
  // Each debit is either answered or refunded by the sweep.
  await until(async () => (await operationsOf(caller)).unanswered === 0)
  reader.readRest()
  const had = (): number => reader.text().match(/x-credits-charged: 1\r/gi)?.length ?? 0
  await until(async () => had() === PAID_CALLS || reader.socket.closed)
  reader.socket.destroy()
  const unpaid = had() - (left - (await leftOf(caller)))
  return [bounded({ name: 'hostile: uncharged responses', backend, unit: 'responses' }, unpaid, 0)]
}

async function leftOf(caller: Caller): Promise<number> {
  const { rows } = await caller.service.db.pool.query<{ left: number }>(
    'select (allowance + packs)::int as left from credit_accounts where account_id = $1',
    [caller.account.id],
  )
  return rows[0]?.left ?? Number.NaN
}

async function operationsOf(caller: Caller): Promise<{ debits: number; unanswered: number }> {
  const { rows } = await caller.service.db.pool.query<{ debits: number; unanswered: number }>(
    `select (select count(*)::int from credit_entries where account_id = $1 and kind = 'debit') as debits,
      (select count(*)::int from credit_unanswered where account_id = $1) as unanswered`,
    [caller.account.id],
  )
  return rows[0] ?? { debits: 0, unanswered: 0 }
}

/**
 * Polls until the condition holds.
 *
 * @throws after this many seconds
 */
async function until(isSo: () => Promise<boolean>, seconds = 60): Promise<void> {
  const endMs = performance.now() + seconds * 1_000
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`the condition did not hold within ${seconds} s`)
    await wait(20)
  }
}

/** Polls `/healthz`; returns the longest response time when it is stopped. */
function watchHealth({ url }: TestService): { slowestMs: () => Promise<number> } {
  const over = new AbortController()
  const watching = (async (): Promise<number> => {
    let slowest = 0
    while (!over.signal.aborted) {
      const began = performance.now()
      await (await fetch(new URL('/healthz', url), { headers: { connection: 'close' } })).text()
      slowest = Math.max(slowest, performance.now() - began)
      await wait(20)
    }
    return slowest
  })()
  // Awaited at the end; until then, a failure must not count as an unhandled rejection.
  watching.catch(() => undefined)
  return {
    slowestMs: async () => {
      over.abort()
      return await watching
    },
  }
}
