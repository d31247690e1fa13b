import { randomBytes } from 'node:crypto'
import type { Limiter } from '@plumbline/ports/limiter'
import type { Memory } from '@plumbline/ports/memory'
import { openDatabase, type Db } from '@plumbline/db/database'
import { createPostgresMemory } from '@plumbline/db/memory'
import { sweepExpired } from '@plumbline/db/sweep-expired'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { testLimiter } from '@plumbline/testkit/limiter-conformance'
import { testMemory } from '@plumbline/testkit/memory-conformance'
import { PATIENT } from '@plumbline/testkit/patience'
import { createTestDatabase, type TestDatabase } from '@plumbline/testkit/postgres'
import { openPostgresTestQueue, openRedisTestQueue, type TestQueue } from '@plumbline/testkit/queue'
import { testRedisUrl } from '@plumbline/testkit/backends'
import { createRedisLimiter } from './redis-limiter.ts'
import type { RedisServer } from './redis.ts'
import { WITHOUT_REDIS } from '@plumbline/testkit/without-redis'

const redisUrl = testRedisUrl()

describe.skipIf(WITHOUT_REDIS)('on Redis', () => {
  testPorts(() => openRedisTestQueue(redisUrl ?? ''), {
    emptyBucket: async ({ backend: { redis } }, key) => {
      await redis?.commands.set(
        `${redis.prefix}:rate:${key}`,
        String((Date.now() + AHEAD_MS) * 1_000),
      )
    },
    holdLease: async ({ backend: { redis } }, key) => {
      const untilMicros = String((Date.now() + AHEAD_MS) * 1_000)
      await redis?.commands.zadd(`${redis.prefix}:lease:${key}`, untilMicros, 'dead')
    },
  })

  test('a lease is granted to its holder though its command is sent again after a lost reply', async () => {
    await using queue = await openRedisTestQueue(redisUrl ?? '')
    const { redis } = queue.backend
    if (redis === null) throw new Error('a queue on Redis has a server')
    const limiter = createRedisLimiter({ ...redis, commands: sentTwice(redis.commands) })
    const lease = await limiter.lease('busy', 1, 60_000)
    expect(lease.granted).toBe(true)
    expect((await queue.limiter.lease('busy', 1, 60_000)).granted).toBe(false)
    if (lease.granted) await lease.release()
    expect((await queue.limiter.lease('busy', 1, 60_000)).granted).toBe(true)
  })
})

/** Commands whose first reply is lost each time, as with a connection that breaks after a script. */
function sentTwice(commands: RedisServer['commands']): RedisServer['commands'] {
  return new Proxy(commands, {
    get(target, name) {
      const command: unknown = Reflect.get(target, name)
      if (typeof command !== 'function') return command
      return async (...args: readonly unknown[]): Promise<unknown> => {
        await Reflect.apply(command, target, args)
        return await Reflect.apply(command, target, args)
      }
    },
  })
}

describe('on Postgres', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  let db: Db
  beforeAll(() => {
    db = openDatabase({ url: database.url, poolSize: 4, applicationName: 'test' })
  })
  afterAll(() => db[Symbol.asyncDispose]())

  testPorts(() => openPostgresTestQueue(database.url), {
    emptyBucket: async (_, key) => {
      await db.pool.query('insert into rate_buckets (key, full_at) values ($1, $2)', [
        key,
        (Date.now() + AHEAD_MS) * 1_000,
      ])
    },
    holdLease: async (_, key) => {
      await db.pool.query(
        `insert into leases (key, holder, expires_at)
         values ($1, gen_random_uuid(), now() + $2 * interval '1 ms')`,
        [key, AHEAD_MS],
      )
    },
  })

  describe('durable memory', () => {
    testMemory(() => memoryOf(createPostgresMemory(db, { durable: true })))
  })

  test('a sweep deletes what has expired and leaves the rest', async () => {
    await using queue = await openPostgresTestQueue(database.url)
    await using db = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test' })
    await queue.memory.set([
      { key: 'sweep-short', value: 1, ttlMs: 1 },
      { key: 'sweep-long', value: 2, ttlMs: 60_000 },
    ])
    const durable = createPostgresMemory(db, { durable: true })
    await durable.set([{ key: 'sweep-short', value: 1, ttlMs: 1 }])
    await queue.limiter.lease('sweep', 1, 1)
    await vi.waitFor(async () => {
      await sweepExpired(db, new AbortController().signal)
      const { rows } = await db.pool.query(
        `select (select count(*) from memory_entries where key like 'sweep-%') as facts,
                (select count(*) from durable_entries where key like 'sweep-%') as durable,
                (select count(*) from leases where key = 'sweep') as leases`,
      )
      expect(rows).toEqual([{ facts: 1, durable: 0, leases: 0 }])
    }, PATIENT)
    expect(await queue.memory.get(['sweep-long'])).toEqual([2])
  })
})

/** Two days. */
const AHEAD_MS = 2 * 86_400_000

/** What is left of the time before the clock was set back by `AHEAD_MS`. */
interface BeforeStep {
  /** Empties a bucket. */
  emptyBucket(queue: TestQueue, key: string): Promise<void>
  /** Takes a lease. */
  holdLease(queue: TestQueue, key: string): Promise<void>
}

function testPorts(open: () => Promise<TestQueue>, before: BeforeStep): void {
  let queue: TestQueue
  beforeAll(async () => {
    queue = await open()
  })
  afterAll(() => queue[Symbol.asyncDispose]())

  describe('memory', () => {
    testMemory(() => memoryOf(queue.memory))
  })
  describe('limiter', () => {
    testLimiter(() => limiterOf(queue.limiter))
  })

  test('a bucket that was empty before the clock was set back costs one refill', async () => {
    const rate = { perSecond: 20, burst: 5 }
    await before.emptyBucket(queue, 'step')
    const first = await queue.limiter.take('step', 5, rate)
    if (first.granted) throw new Error('an empty bucket must refuse')
    expect(first.retryMs).toBeLessThanOrEqual(250)
    await vi.waitFor(
      async () =>
        expect(await queue.limiter.take('step', 5, rate)).toMatchObject({ granted: true }),
      PATIENT,
    )
  })

  test('a lease taken before the clock was set back ends after its time to live', async () => {
    await before.holdLease(queue, 'step')
    expect(await queue.limiter.lease('step', 1, 50)).toMatchObject({ granted: false })
    await vi.waitFor(
      async () => expect(await queue.limiter.lease('step', 1, 50)).toMatchObject({ granted: true }),
      PATIENT,
    )
  })

  test('messages reach every subscriber of their topic and no other, until it leaves', async () => {
    const { channel } = queue.backend
    const topic = `t:${randomBytes(4).toString('hex')}`
    const heard: string[] = []
    await using _ = await channel.subscribe(`${topic}-other`, (text) => heard.push(`?${text}`))
    const first = await channel.subscribe(topic, (text) => heard.push(`1${text}`))
    const second = await channel.subscribe(topic, (text) => heard.push(`2${text}`))
    const long = 'é'.repeat(3_500)
    await channel.publish(topic, ['a', long])
    await vi.waitFor(
      () => expect(heard.toSorted()).toEqual(['1a', `1${long}`, '2a', `2${long}`]),
      PATIENT,
    )
    await first[Symbol.asyncDispose]()
    heard.length = 0
    await channel.publish(topic, ['b'])
    await vi.waitFor(() => expect(heard).toEqual(['2b']), PATIENT)
    await second[Symbol.asyncDispose]()
  })

  test('replies of any size arrive once announced; missed ones are fetched', async () => {
    const { replyChannel } = queue.backend
    const replyTo = `b:${randomBytes(4).toString('hex')}`
    const replies = ['short', 'x'.repeat(100_000), 'é'.repeat(4_000)]
    await replyChannel.send(replyTo, replies)
    const heard: string[] = []
    await using channel = await replyChannel.listen(replyTo, (reply) => heard.push(reply))
    await channel.fetchMissed()
    expect(heard.toSorted()).toEqual(replies.toSorted())
    heard.length = 0
    await replyChannel.send(replyTo, replies)
    await vi.waitFor(() => expect(heard.toSorted()).toEqual(replies.toSorted()), PATIENT)
    await channel.acknowledge()
    heard.length = 0
    await channel.fetchMissed()
    expect(heard).toEqual([])
  })
}

/** Separate keys for each test, in one store. */
function memoryOf(memory: Memory): Memory {
  const mine = randomBytes(4).toString('hex')
  return {
    get: (keys) => memory.get(keys.map((key) => mine + key)),
    set: (entries) => memory.set(entries.map((entry) => ({ ...entry, key: mine + entry.key }))),
    claim: (entry) => memory.claim({ ...entry, key: mine + entry.key }),
    delete: (keys) => memory.delete(keys.map((key) => mine + key)),
  }
}

function limiterOf(limiter: Limiter): Limiter {
  const mine = randomBytes(4).toString('hex')
  return {
    take: (key, count, rate) => limiter.take(mine + key, count, rate),
    lease: (key, limit, ttlMs) => limiter.lease(mine + key, limit, ttlMs),
  }
}
