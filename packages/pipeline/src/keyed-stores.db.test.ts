import { randomBytes } from 'node:crypto'
import type { Limiter } from '@plumbline/ports/limiter'
import type { Memory } from '@plumbline/ports/memory'
import { openDatabase, type Db } from '@plumbline/db/database'
import { createPostgresMemory } from '@plumbline/db/memory'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { testLimiter } from '@plumbline/testkit/limiter-conformance'
import { testMemory } from '@plumbline/testkit/memory-conformance'
import { createTestDatabase, type TestDatabase } from '@plumbline/testkit/postgres'
import { openPostgresTestQueue, openRedisTestQueue, type TestQueue } from '@plumbline/testkit/queue'
import { testRedisUrl } from '@plumbline/testkit/backends'
import { WITHOUT_REDIS } from '@plumbline/testkit/without-redis'
import { openConnections } from './connections.ts'
import { createInstallationKey } from './installation-key.ts'
import { keyedLimiter, keyedMemory } from './keyed-stores.ts'

const MARK = 'marked-subject.example'
const ENTRY = { value: { said: MARK }, ttlMs: 60_000 } as const
const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

const redisUrl = testRedisUrl()
const key = createInstallationKey(randomBytes(32).toString('base64url'))
const other = createInstallationKey(randomBytes(32).toString('base64url'))

describe.skipIf(WITHOUT_REDIS)('on Redis', () => {
  testKeyed(() => openRedisTestQueue(redisUrl ?? ''), dumpRedis)
})

describe('on Postgres', () => {
  let database: TestDatabase
  let db: Db
  beforeAll(async () => {
    database = await createTestDatabase()
    db = openDatabase({ url: database.url, poolSize: 4, applicationName: 'test' })
  })
  afterAll(async () => {
    await db[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
  })

  testKeyed(
    () => openPostgresTestQueue(database.url),
    () => dumpPostgres(db),
  )

  test('durable facts do not reveal a subject either', async () => {
    const durable = keyedMemory(createPostgresMemory(db, { durable: true }), key)
    await durable.set([{ key: `hlr:verdict:${MARK}`, ...ENTRY }])
    expect(await dumpPostgres(db)).not.toContain(MARK)
    expect(await durable.get([`hlr:verdict:${MARK}`])).toEqual([ENTRY.value])
  })
})

test('of a fact under a key it stays known whether it is only cached', async () => {
  const stored: boolean[] = []
  const memory = keyedMemory(
    {
      get: async () => [],
      set: async (entries) => void stored.push(...entries.map((entry) => entry.isCached === true)),
      claim: async () => true,
      delete: async () => {},
    },
    key,
  )
  await memory.set([{ key: `email:result:ada@${MARK}`, ...ENTRY, isCached: true }])
  await memory.set([{ key: `email:dictionary:${MARK}`, ...ENTRY }])
  expect(stored).toEqual([true, false])
})

test('a process with another key than the first one is refused with instructions', async () => {
  await using database = await createTestDatabase()
  await using queue = await openPostgresTestQueue(database.url)
  const open = async (installationKey: typeof key): Promise<void> => {
    const databaseUrl = database.url
    const options = { databaseUrl, redisUrl: undefined, poolSize: 2, name: 'test', log }
    await using connections = await openConnections({ ...options, installationKey })
    expect(connections.queue.kind).toBe(queue.backend.kind)
  }
  await open(key)
  await open(key)
  await expect(open(other)).rejects.toThrow(/the same INSTALLATION_KEY/)
})

test('of concurrent starts with two keys, those with one of the keys succeed', async () => {
  await using database = await createTestDatabase()
  await using queue = await openPostgresTestQueue(database.url)
  const open = async (installationKey: typeof key): Promise<string> => {
    const databaseUrl = database.url
    const options = { databaseUrl, redisUrl: undefined, poolSize: 2, name: 'test', log }
    await using connections = await openConnections({ ...options, installationKey })
    return `${connections.queue.kind} ${installationKey.fingerprint}`
  }
  const keys = [key, other, key, other, key, other]
  const opened = await Promise.allSettled(keys.map(open))
  const up = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  expect(up).toHaveLength(3)
  expect(new Set(up).size).toBe(1)
  expect(queue.errors).toEqual([])
})

function testKeyed(open: () => Promise<TestQueue>, dump: (queue: TestQueue) => Promise<string>) {
  let queue: TestQueue
  beforeAll(async () => {
    queue = await open()
  })
  afterAll(() => queue[Symbol.asyncDispose]())

  describe('memory under a key', () => {
    testMemory(() => keyedMemory(apart(queue.memory), key))

    test('stores neither subjects nor facts about them in plain text', async () => {
      const memory = keyedMemory(queue.memory, key)
      await memory.set([{ key: `email:finding:ada@${MARK}`, ...ENTRY }])
      await memory.claim({ key: `domain:registration:${MARK}`, ...ENTRY })
      expect(await dump(queue)).not.toContain(MARK)
      expect(await memory.get([`email:finding:ada@${MARK}`])).toEqual([ENTRY.value])
      expect(await keyedMemory(queue.memory, other).get([`email:finding:ada@${MARK}`])).toEqual([
        undefined,
      ])
    })

    test("leaves names of the operator's providers readable without the key", async () => {
      await keyedMemory(queue.memory, key).set([
        { key: 'hlr:pause:infobip', value: 'out of credit', ttlMs: 60_000 },
      ])
      const without = keyedMemory(queue.memory, null)
      expect(await without.get(['hlr:pause:infobip'])).toEqual(['out of credit'])
      await expect(without.get(['email:finding:a'])).rejects.toThrow(/not available/)
    })
  })

  describe('limiter under a key', () => {
    testLimiter(() => keyedLimiter(apartLimiter(queue.limiter), key))

    test('stores no subject in plain text', async () => {
      const limiter = keyedLimiter(queue.limiter, key)
      await limiter.take(`email:domain:${MARK}`, 1, { perSecond: 0.001, burst: 1 })
      await limiter.lease(`email:connections:${MARK}`, 1, 60_000)
      expect(await dump(queue)).not.toContain(MARK)
      const again = await limiter.take(`email:domain:${MARK}`, 1, { perSecond: 0.001, burst: 1 })
      expect(again.granted).toBe(false)
    })
  })
}

/** An empty store for each conformance test. */
function apart(memory: Memory): Memory {
  const run = randomBytes(6).toString('hex')
  const own = (name: string): string => `${run}:${name}`
  return {
    get: (names) => memory.get(names.map(own)),
    set: (entries) => memory.set(entries.map((entry) => ({ ...entry, key: own(entry.key) }))),
    claim: (entry) => memory.claim({ ...entry, key: own(entry.key) }),
    delete: (names) => memory.delete(names.map(own)),
  }
}

function apartLimiter(limiter: Limiter): Limiter {
  const run = randomBytes(6).toString('hex')
  return {
    take: (name, count, rate) => limiter.take(`${run}:${name}`, count, rate),
    lease: (name, limit, ttlMs) => limiter.lease(`${run}:${name}`, limit, ttlMs),
  }
}

async function dumpRedis({ backend }: TestQueue): Promise<string> {
  const { redis } = backend
  if (redis === null) throw new Error('a queue on Redis has a server')
  const names = await redis.commands.keys(`${redis.prefix}*`)
  const values = await Promise.all(names.map((name) => redis.commands.dump(name)))
  return [...names, ...values.map(String)].join('\n')
}

async function dumpPostgres(db: Db): Promise<string> {
  const tables = ['memory_entries', 'durable_entries', 'rate_buckets', 'leases']
  const dumps = await Promise.all(
    tables.map((table) =>
      db.pool.query<{ text: string }>(`select t::text as text from ${table} t`),
    ),
  )
  return dumps.flatMap(({ rows }) => rows.map(({ text }) => text)).join('\n')
}
