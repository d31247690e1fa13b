import { mkdtempDisposable, readFile } from 'node:fs/promises'
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
  type Caller,
} from '@plumbline/testkit/batches'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startRedis, type TestRedis } from '@plumbline/testkit/redis'
import { startService, type ServiceOptions } from '@plumbline/testkit/service'
import { WITHOUT_REDIS } from '@plumbline/testkit/without-redis'
import { expect, test } from 'vitest'

// Real processes, whose Redis is killed, or whose Redis or Postgres stops responding, as behind a
// network that drops all packets.

const CREDITS = 1_000

/** Rows of the batch. */
const ROWS = 3_000

test.skipIf(WITHOUT_REDIS)(
  'with Redis killed, a call is refused within a second and free, and answered soon after it is back',
  async () => {
    await using stack = new AsyncDisposableStack()
    const databaseUrl = stack.use(await createTestDatabase()).url
    const redis = await openRedis(stack)
    const service = { databaseUrl, redisUrl: redis.url, workers: [['email']] }
    const { caller, slowMs, calls } = await startCalling(stack, service)
    await redis.stop()
    for (let at = 0; at < 5; at += 1) await expectRefused(caller, 1_000 + slowMs)
    await expectAccepted(caller, 2_000 + slowMs)
    await expectAllRefused(caller, 50, 1_000 + slowMs)
    await openRedis(stack, Number(new URL(redis.url).port))
    await untilAnswered(caller)
    await expectCharged(caller, calls + 1)
  },
)

test.skipIf(WITHOUT_REDIS)(
  'with Redis silent, a call is refused within a second and free, and a batch goes on afterwards',
  async () => {
    await using stack = new AsyncDisposableStack()
    const databaseUrl = stack.use(await createTestDatabase()).url
    const redis = await openRedis(stack)
    const { caller, slowMs, calls } = await startCalling(stack, {
      databaseUrl,
      redisUrl: redis.url,
      // The batch has a worker of its own, and more tasks of five seconds than it has at once.
      workers: [['email'], ['ip', 'batch', '--delay=50', '--width=1']],
      env: { CHUNK_RECORDS: '100' },
    })
    using _ = continuedAtEnd([redis.pid])
    const rows = Array.from({ length: ROWS }, (_row, at) => `8.8.${at >> 8}.${at & 255}`)
    const { left } = await creditsOf(caller)
    const { id } = await submitBatch(caller, formOf({ product: 'ip' }, `ip\n${rows.join('\n')}\n`))
    await untilBatch(caller, id, ['running'])
    signal([redis.pid], 'SIGSTOP')
    await expectAllRefused(caller, 50, 1_000 + slowMs)
    await expectRefused(caller, 1_000 + slowMs)
    const later = await expectAccepted(caller, 2_000 + slowMs)
    await expectCharged(caller, calls)
    expect((await viewBatch(caller, id)).status).toBe('running')
    signal([redis.pid], 'SIGCONT')
    await untilAnswered(caller)
    const ended = await untilBatch(caller, id)
    expect(ended).toMatchObject({ status: 'completed', rows: { total: ROWS, done: ROWS } })
    await expectCharged(caller, calls + 1)
    expect(await untilBatch(caller, later)).toMatchObject({ status: 'completed' })
    await expectSettled(caller, left - ended.credits.used - 2)
  },
)

test.each(backends())(
  'with Postgres silent and the queue on $name, a call is refused within two seconds and free, and one under way ends by its deadline',
  async ({ redisUrl }) => {
    await using stack = new AsyncDisposableStack()
    const dataDir = stack.use(await mkdtempDisposable(join(tmpdir(), 'plumbline-away-'))).path
    const postgres = await startEmbeddedPostgres({ dataDir })
    stack.defer(() => postgres.stop())
    const { caller, slowMs, calls } = await startCalling(stack, {
      databaseUrl: postgres.url,
      redisUrl,
      workers: [['email'], ['ip', '--delay=1500']],
      env: { REDIS_PREFIX: `away-${process.pid}`, CALL_TIMEOUT_SECONDS: '4' },
    })
    const lookup = await begunLookup(caller)
    const slow = { path: '/v1/ip', body: { ip: '8.8.8.8' }, headers: { 'idempotency-key': 'slow' } }
    const tester = { ...caller, key: caller.account.testKey }
    const rehearsed = { ...slow, body: { ip: '192.0.2.199' } }
    const underWay = [timedCall(caller, slow), timedCall(tester, rehearsed)]
    await expect.poll(() => openDebits(caller)).toBe(1)
    const claimed = 'select count(*)::int as count from idempotency_keys'
    await expect
      .poll(async () => (await caller.service.db.pool.query(claimed)).rows)
      .toEqual([{ count: 2 }])
    const pids = await processesOf(postgres.url)
    using _ = continuedAtEnd(pids)
    signal(pids, 'SIGSTOP')
    const later = { headers: { prefer: 'respond-async' } }
    await Promise.all([
      expectAllRefused(caller, 20, 2_000 + slowMs),
      expectRefused(caller, 2_000 + slowMs, later),
      expectRefused(caller, 2_000 + slowMs, lookup),
    ])
    await expectRefused(caller, 2_000 + slowMs)
    await expectRefused(caller, 2_000 + slowMs, later)
    await expectRefused(caller, 2_000 + slowMs, lookup)
    for (const ended of await Promise.all(underWay)) {
      expect([503, 504]).toContain(ended.status)
      expect(ended.ms).toBeLessThan(5_000 + slowMs)
    }
    signal(pids, 'SIGCONT')
    await untilAnswered(caller)
    await untilAnswered(caller, slow)
    await untilAnswered(tester, rehearsed)
    await expectCharged(caller, calls + 2)
    const begun = 'select count(*)::int as count from batches where is_lookup'
    expect((await caller.service.db.pool.query(begun)).rows).toEqual([{ count: 1 }])
  },
)

/** Starts Redis, on a previous port if one is given; `stack` stops it. */
async function openRedis(stack: AsyncDisposableStack, port?: number): Promise<TestRedis> {
  const redis = await startRedis(port === undefined ? {} : { port })
  if (redis === null) throw new Error('redis-server is not installed')
  stack.defer(() => redis.stop())
  return redis
}

/**
 * Starts a service and makes a burst of calls, which are answered and charged; `slowMs` is the slowest
 * of them under the machine's present load.
 */
async function startCalling(
  stack: AsyncDisposableStack,
  options: ServiceOptions,
): Promise<{ caller: Caller; slowMs: number; calls: number }> {
  const service = stack.use(await startService(options))
  const account = await service.account({ credits: CREDITS })
  const caller = { service, account, key: account.liveKey }
  const calls = 50
  const timed = await Promise.all(Array.from({ length: calls }, () => timedCall(caller)))
  expect(timed.map(({ status }) => status)).toEqual(timed.map(() => 200))
  await expectCharged(caller, calls)
  return { caller, slowMs: Math.max(...timed.map(({ ms }) => ms)), calls }
}

interface Timed {
  readonly status: number
  readonly headers: Headers
  readonly ms: number
}

/** A request; default: a POST to `/v1/email` with an address that no call has named before. */
interface Request {
  readonly method?: string
  readonly path?: string
  readonly body?: object | null
  readonly headers?: Readonly<Record<string, string>>
}

let count = 0

async function timedCall(
  { service, key }: Caller,
  { method = 'POST', path = '/v1/email', body, headers: own }: Request = {},
): Promise<Timed> {
  count += 1
  const beganMs = performance.now()
  const response = await fetch(new URL(path, service.url), {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...own },
    body: body === null ? null : JSON.stringify(body ?? { email: `user${count}@example.com` }),
  })
  await response.text()
  const { status, headers } = response
  return { status, headers, ms: performance.now() - beganMs }
}

/** The request that reads a lookup begun for it. */
async function begunLookup(caller: Caller): Promise<Request> {
  const { status, headers } = await timedCall(caller, { headers: { prefer: 'respond-async' } })
  expect(status).toBe(202)
  return { method: 'GET', path: headers.get('location') ?? '', body: null }
}

async function untilAnswered(caller: Caller, request?: Request): Promise<void> {
  await expect.poll(async () => (await timedCall(caller, request)).status).toBe(200)
}

async function expectAllRefused(caller: Caller, atOnce: number, withinMs: number): Promise<void> {
  await Promise.all(Array.from({ length: atOnce }, () => expectRefused(caller, withinMs)))
}

async function expectRefused(caller: Caller, withinMs: number, request?: Request): Promise<void> {
  const { status, headers, ms } = await timedCall(caller, request)
  expect(status).toBe(503)
  expect(headers.get('retry-after')).toBe('2')
  expect(ms).toBeLessThan(withinMs)
  expect(headers.get('x-credits-charged') ?? '0').toBe('0')
}

/** A batch is accepted in time, since it is stored in Postgres; returns its id. */
async function expectAccepted(caller: Caller, withinMs: number): Promise<string> {
  const beganMs = performance.now()
  const { id } = await submitBatch(caller, formOf({ product: 'ip' }, 'ip\n9.9.9.9\n'))
  expect(performance.now() - beganMs).toBeLessThan(withinMs)
  return id
}

/** How many debits of the account are neither final nor refunded. */
async function openDebits({ service, account }: Caller): Promise<unknown> {
  const open = 'select count(*)::int as count from credit_unanswered where account_id = $1'
  return (await service.db.pool.query<{ count: number }>(open, [account.id])).rows[0]?.count
}

/** All debits are final or refunded, and those of `calls` calls remain. */
async function expectCharged(caller: Caller, calls: number): Promise<void> {
  await expect.poll(() => openDebits(caller)).toBe(0)
  const { service, account } = caller
  const { rows } = await service.db.pool.query(
    `select coalesce(-sum(allowance_delta + packs_delta), 0)::int as sum from credit_entries
     where account_id = $1 and kind in ('debit', 'refund', 'give_back')`,
    [account.id],
  )
  expect(rows).toEqual([{ sum: calls }])
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

/** Lets processes continue at the end of a test, since closing a service waits for its stores. */
function continuedAtEnd(pids: readonly number[]): Disposable {
  return { [Symbol.dispose]: () => signal(pids, 'SIGCONT') }
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
