import { createAccount } from '@plumbline/db/accounts'
import { openDatabase, type Db } from '@plumbline/db/database'
import { createKey, revokeKey } from '@plumbline/db/keys'
import { newKey } from '@plumbline/db/keys-format'
import { createLocalLimiter } from '@plumbline/queue/local-limiter'
import { expect, test } from 'vitest'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { findCaller } from './access.ts'
import { createFailedKeyLimit, type FailedKeyLimit } from './failed-key-limit.ts'
import { createApiKeyCache, type ApiKeyCache } from './api-key-cache.ts'
import { createRateLimit } from './rate-limit.ts'

const PER_MINUTE = 20
const ADDRESS = '198.51.100.7'

interface Fixture extends AsyncDisposable {
  readonly apiKeys: ApiKeyCache
  /** Queries of the cache, by the name of the statement. */
  readonly queries: string[]
  /** Advances the clock of the cache and the limits. */
  pass(ms: number): void
  /** A valid key of a new account. */
  account(): Promise<{ id: string; key: string }>
  revoke(accountId: string): Promise<void>
  /** The account of a key that is sent from an address, or the status with which it is refused. */
  judge(key: string, address?: string): Promise<string | number>
}

async function openFixture(most?: number): Promise<Fixture> {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase())
  const db = stack.use(openDatabase({ url: database.url, poolSize: 4, applicationName: 'test' }))
  const queries: string[] = []
  let time = 0
  const now = (): number => time
  const apiKeys = stack.use(
    createApiKeyCache({
      db: counting(db, queries),
      prefix: 'svc',
      onError: () => undefined,
      now,
      ...(most === undefined ? {} : { maxKeys: most }),
    }),
  )
  const failedKeys = failuresOf(now)
  const owned = stack.move()
  return {
    apiKeys,
    queries,
    pass: (ms) => {
      time += ms
    },
    account: async () => {
      const { id } = await createAccount(db, { email: 'a@b.example', plan: 'pro' })
      const { key } = await createKey(db, { accountId: id, mode: 'live', service: 'svc' })
      return { id, key }
    },
    revoke: async (accountId) => {
      await revokeKey(db, { accountId, mode: 'live' })
    },
    judge: async (key, address = ADDRESS) => {
      const known = apiKeys.cached(key)
      if (known !== undefined) return known.accountId
      try {
        return (await findCaller({ apiKeys, failedKeys }, address, key)).accountId
      } catch (error) {
        return Number(Object(error).status)
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function failuresOf(now: () => number): FailedKeyLimit {
  const limiter = createLocalLimiter({ nowMs: now })
  const perSecond = PER_MINUTE / 60
  const rate = createRateLimit({ name: 'failed-keys', perSecond, burst: PER_MINUTE, limiter })
  return createFailedKeyLimit({ rate, perMinute: PER_MINUTE, now })
}

/** The same database, which records each statement. */
function counting(db: Db, queries: string[]): Db {
  const pool = new Proxy(db.pool, {
    get: (target, property) => {
      if (property !== 'query') return Reflect.get(target, property, target)
      return async (statement: { name: string; text: string; values: unknown[] }) => {
        queries.push(statement.name)
        return await target.query(statement)
      }
    },
  })
  return { ...db, pool }
}

const lookups = (queries: readonly string[]): number =>
  queries.filter((name) => name === 'keys.find').length

test('keys that do not exist cause no more queries than an address may have failures', async () => {
  await using fixture = await openFixture()
  const statuses = await Promise.all(
    Array.from({ length: 500 }, () => fixture.judge(newKey('svc', 'live'))),
  )
  expect(statuses.filter((status) => status === 401)).toHaveLength(PER_MINUTE)
  expect(statuses.filter((status) => status === 429)).toHaveLength(500 - PER_MINUTE)
  expect(lookups(fixture.queries)).toBe(PER_MINUTE)
  // The hashes of all keys were read once, for all of them.
  expect(fixture.queries).toHaveLength(PER_MINUTE + 1)
})

test('an invalid key counts as a failure each time it is sent', async () => {
  await using fixture = await openFixture()
  const key = newKey('svc', 'live')
  for (let no = 0; no < 100; no += 1) await fixture.judge(key)
  expect(lookups(fixture.queries)).toBe(PER_MINUTE)
  expect(await fixture.judge(newKey('svc', 'live'), '198.51.100.8')).toBe(401)
})

test('valid keys work from an address without failures left, also if they were never used before', async () => {
  await using fixture = await openFixture()
  const [seen, fresh] = [await fixture.account(), await fixture.account()]
  expect(await fixture.judge(seen.key)).toBe(seen.id)
  for (let no = 0; no < 2 * PER_MINUTE; no += 1) await fixture.judge(newKey('svc', 'live'))
  fixture.pass(1_000)
  expect(await fixture.judge(seen.key)).toBe(seen.id)
  expect(await fixture.judge(fresh.key)).toBe(fresh.id)
})

test('a new key works within seconds from an address without failures left', async () => {
  await using fixture = await openFixture()
  for (let no = 0; no < 2 * PER_MINUTE; no += 1) await fixture.judge(newKey('svc', 'live'))
  const { id, key } = await fixture.account()
  for (let second = 0; second < 5; second += 1) {
    // What is refilled each second is used up by invalid keys.
    for (let no = 0; no < 5; no += 1) await fixture.judge(newKey('svc', 'live'))
    fixture.pass(1_000)
  }
  for (let no = 0; no < 5; no += 1) await fixture.judge(newKey('svc', 'live'))
  expect(await fixture.judge(key)).toBe(id)
})

test('invalid keys evict no valid one', async () => {
  await using fixture = await openFixture(10)
  const { id, key } = await fixture.account()
  expect(await fixture.judge(key)).toBe(id)
  for (let no = 0; no < 100; no += 1) {
    await fixture.judge(newKey('svc', 'live'), `198.51.100.${no}`)
  }
  expect(fixture.apiKeys.cached(key)).toMatchObject({ accountId: id })
})

test('beyond the limit the key that was queried least recently is evicted', async () => {
  await using fixture = await openFixture(2)
  const [first, second, third] = [
    await fixture.account(),
    await fixture.account(),
    await fixture.account(),
  ]
  await fixture.judge(first.key)
  await fixture.judge(second.key)
  fixture.pass(1_000)
  await fixture.judge(first.key)
  await fixture.judge(third.key)
  expect([first, second, third].map(({ key }) => fixture.apiKeys.wasValid(key))).toEqual([
    true,
    false,
    true,
  ])
})

test('a valid key is queried once a second, however many calls are concurrent', async () => {
  await using fixture = await openFixture()
  const { id, key } = await fixture.account()
  const callers = await Promise.all(Array.from({ length: 50 }, () => fixture.judge(key)))
  expect(new Set(callers)).toEqual(new Set([id]))
  expect(lookups(fixture.queries)).toBe(1)
  fixture.pass(1_000)
  await Promise.all(Array.from({ length: 50 }, () => fixture.judge(key)))
  expect(lookups(fixture.queries)).toBe(2)
})

test('a revoked key is invalid, and its calls are failures', async () => {
  await using fixture = await openFixture()
  const { id, key } = await fixture.account()
  expect(await fixture.judge(key)).toBe(id)
  await fixture.revoke(id)
  fixture.pass(900)
  expect(await fixture.judge(key)).toBe(401)
  for (let no = 0; no < 100; no += 1) await fixture.judge(key)
  expect(lookups(fixture.queries)).toBe(1 + PER_MINUTE)
})
