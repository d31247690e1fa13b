import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '@plumbline/db/database'
import { startEmbeddedPostgres } from '@plumbline/db/embedded'
import { backends } from '@plumbline/testkit/backends'
import {
  creditsOf,
  expectSettled,
  formOf,
  submitBatch,
  untilBatch,
  viewBatch,
} from '@plumbline/testkit/batches'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startRedis } from '@plumbline/testkit/redis'
import { startService, type Account, type TestService } from '@plumbline/testkit/service'
import { WITHOUT_REDIS } from '@plumbline/testkit/without-redis'
import { expect, test } from 'vitest'

// Real processes, whose Redis is killed, or whose Redis or Postgres stops responding, as behind a
// network that drops all packets.

const CREDITS = 1_000

/** Rows of a batch. */
const ROWS = 3_000

test.skipIf(WITHOUT_REDIS)(
  'with Redis killed, a call is refused within a second and free, and answered soon after it is back',
  async () => {
    const redis = await startRedis()
    if (redis === null) throw new Error('redis-server is not installed')
    await using database = await createTestDatabase()
    await using stack = new AsyncDisposableStack()
    stack.defer(() => redis.stop())
    await using service = await startService({
      databaseUrl: database.url,
      redisUrl: redis.url,
      workers: [['email']],
    })
    const account = await service.account({ credits: CREDITS })
    const { slowMs, calls } = await slowestCall(service, account)
    await expect.poll(() => openDebits(service, account)).toBe(0)
    expect(await spent(service, account)).toBe(calls)
    await redis.stop()
    for (let at = 0; at < 5; at += 1) await expectRefused(service, account, 1_000 + slowMs)
    await Promise.all(
      Array.from({ length: 50 }, () => expectRefused(service, account, 1_000 + slowMs)),
    )
    const again = await startRedis({ port: Number(new URL(redis.url).port) })
    stack.defer(() => again?.stop())
    await expect.poll(async () => (await timedCall(service, account)).status).toBe(200)
    await expect.poll(() => openDebits(service, account)).toBe(0)
    expect(await spent(service, account)).toBe(calls + 1)
  },
)

test.skipIf(WITHOUT_REDIS)(
  'with Redis silent, a call is refused within a second and free, and a batch goes on afterwards',
  async () => {
    const redis = await startRedis()
    if (redis === null) throw new Error('redis-server is not installed')
    await using database = await createTestDatabase()
    await using stack = new AsyncDisposableStack()
    stack.defer(() => redis.stop())
    await using service = await startService({
      databaseUrl: database.url,
      redisUrl: redis.url,
      // The batch has a worker of its own, and more tasks of five seconds than it has at once.
      workers: [['email'], ['ip', 'batch', '--delay=50', '--width=1']],
      env: { CHUNK_RECORDS: '100' },
    })
    // Whatever fails, nothing that closes waits for a server that hangs.
    using _ = { [Symbol.dispose]: () => signal([redis.pid], 'SIGCONT') }
    const account = await service.account({ credits: CREDITS })
    const caller = { service, account, key: account.liveKey }
    const { slowMs, calls } = await slowestCall(service, account)
    await expect.poll(() => openDebits(service, account)).toBe(0)
    expect(await spent(service, account)).toBe(calls)
    const rows = Array.from({ length: ROWS }, (_row, at) => `8.8.${at >> 8}.${at & 255}`)
    const { left } = await creditsOf(caller)
    const { id } = await submitBatch(caller, formOf({ product: 'ip' }, `ip\n${rows.join('\n')}\n`))
    await untilBatch(caller, id, ['running'])
    signal([redis.pid], 'SIGSTOP')
    await Promise.all(
      Array.from({ length: 50 }, () => expectRefused(service, account, 1_000 + slowMs)),
    )
    await expectRefused(service, account, 1_000 + slowMs)
    await expect.poll(() => openDebits(service, account)).toBe(0)
    expect(await spent(service, account)).toBe(calls)
    expect((await viewBatch(caller, id)).status).toBe('running')
    signal([redis.pid], 'SIGCONT')
    await expect.poll(async () => (await timedCall(service, account)).status).toBe(200)
    const ended = await untilBatch(caller, id)
    expect(ended).toMatchObject({ status: 'completed', rows: { total: ROWS, done: ROWS } })
    expect(await spent(service, account)).toBe(calls + 1)
    await expectSettled(caller, left - ended.credits.used - 1)
  },
)

test.each(backends())(
  'with Postgres silent and the queue on $name, a call is refused within two seconds and free',
  async ({ redisUrl }) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-away-'))
    const postgres = await startEmbeddedPostgres({ dataDir })
    await using stack = new AsyncDisposableStack()
    stack.defer(() => rm(dataDir, { recursive: true, force: true }))
    stack.defer(() => postgres.stop())
    await using service = await startService({
      databaseUrl: postgres.url,
      redisUrl,
      workers: [['email']],
      env: { REDIS_PREFIX: `away-${process.pid}` },
    })
    const account = await service.account({ credits: CREDITS })
    const { slowMs, calls } = await slowestCall(service, account)
    await expect.poll(() => openDebits(service, account)).toBe(0)
    expect(await spent(service, account)).toBe(calls)
    const pids = await processesOf(postgres.url)
    // Even after a failure, closing must not wait for a server that hangs.
    using _ = { [Symbol.dispose]: () => signal(pids, 'SIGCONT') }
    signal(pids, 'SIGSTOP')
    await Promise.all(
      Array.from({ length: 20 }, () => expectRefused(service, account, 2_000 + slowMs)),
    )
    await expectRefused(service, account, 2_000 + slowMs)
    signal(pids, 'SIGCONT')
    await expect.poll(async () => (await timedCall(service, account)).status).toBe(200)
    await expect.poll(() => openDebits(service, account)).toBe(0)
    expect(await spent(service, account)).toBe(calls + 1)
  },
)

interface Timed {
  readonly status: number
  readonly headers: Headers
  readonly ms: number
}

let count = 0

async function timedCall(service: TestService, account: Account): Promise<Timed> {
  count += 1
  const beganMs = performance.now()
  const body = { email: `user${count}@example.com` }
  const response = await service.call(account.liveKey, 'POST', '/v1/email', body)
  await response.text()
  const { status, headers } = response
  return { status, headers, ms: performance.now() - beganMs }
}

/** Makes some calls, and measures the slowest of a burst under the machine's present load. */
async function slowestCall(
  service: TestService,
  account: Account,
): Promise<{ slowMs: number; calls: number }> {
  const calls = 50
  const timed = await Promise.all(Array.from({ length: calls }, () => timedCall(service, account)))
  expect(timed.map(({ status }) => status)).toEqual(timed.map(() => 200))
  return { slowMs: Math.max(...timed.map(({ ms }) => ms)), calls }
}

async function expectRefused(
  service: TestService,
  account: Account,
  withinMs: number,
): Promise<void> {
  const { status, headers, ms } = await timedCall(service, account)
  expect(status).toBe(503)
  expect(headers.get('retry-after')).toBe('2')
  expect(ms).toBeLessThan(withinMs)
  expect(headers.get('x-credits-charged') ?? '0').toBe('0')
}

/** Processes of a server: the first one, and its children. */
async function processesOf(url: string): Promise<readonly number[]> {
  await using db = openDatabase({ url, poolSize: 1, applicationName: 'test' })
  const { rows } = await db.pool.query<{ pid: number }>('select pg_backend_pid() as pid')
  const stat = await readFile(`/proc/${rows[0]?.pid}/stat`, 'utf8')
  const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  const children = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8')
  return [parent, ...children.trim().split(' ').map(Number)]
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch {
      // The child has ended meanwhile.
    }
  }
}

async function spent({ db }: TestService, { id }: Account): Promise<number> {
  const { rows } = await db.pool.query<{ sum: number }>(
    `select coalesce(-sum(allowance_delta + packs_delta), 0)::int as sum from credit_entries
     where account_id = $1 and kind in ('debit', 'refund', 'give_back')`,
    [id],
  )
  return rows[0]?.sum ?? Number.NaN
}

async function openDebits({ db }: TestService, { id }: Account): Promise<number> {
  const { rows } = await db.pool.query<{ count: number }>(
    'select count(*)::int as count from credit_unanswered where account_id = $1',
    [id],
  )
  return rows[0]?.count ?? Number.NaN
}
