import type { Memory } from '@plumbline/ports/memory'
import type { Json } from '@plumbline/contract/outcome'
import { checkLifetime } from '@plumbline/ports/limiter'
import { readUsedShare } from './redis-used-memory.ts'
import type { RedisServer } from './redis.ts'

/**
 * Share of the server's memory above which no cached fact is added: the rest is for queues, limiters
 * and claims, without which nothing works.
 */
const CACHED_SHARE_MAX = 0.6

/** Milliseconds for which a reading of the used share counts: the cache grows by megabytes then. */
const READING_MS = 5_000

/**
 * Creates a memory in Redis, with a key for each fact. Concurrent commands are pipelined, also in a
 * cluster.
 *
 * @param readingMs milliseconds between two readings of the used share, default 5 seconds
 */
export function createRedisMemory(server: RedisServer, readingMs: number = READING_MS): Memory {
  const redis = server.commands
  const isShort = createShortage(server, readingMs)
  const keyOf = (key: string): string => `${server.prefix}:memory:${key}`
  return {
    async get(keys) {
      const values = await Promise.all(keys.map((key) => redis.get(keyOf(key))))
      return values.map((value) => (value === null ? undefined : parsed(value)))
    },
    async set(entries) {
      const short = entries.some(({ isCached }) => isCached === true) && (await isShort())
      await Promise.all(
        entries.map(({ key, value, ttlMs, isCached = false }) => {
          const entry = [keyOf(key), JSON.stringify(value), 'PX', lifetimeMs(ttlMs)] as const
          return short && isCached ? redis.set(...entry, 'XX') : redis.set(...entry)
        }),
      )
    },
    async claim({ key, value, ttlMs }) {
      const text = JSON.stringify(value)
      const stored = await redis.set(keyOf(key), text, 'PX', lifetimeMs(ttlMs), 'NX')
      return stored === 'OK'
    },
    async delete(keys) {
      await Promise.all(keys.map((key) => redis.unlink(keyOf(key))))
    },
  }
}

/** Whether the server is short of memory, by the last reading that succeeded. */
function createShortage(server: RedisServer, readingMs: number): () => Promise<boolean> {
  let share = 0
  let readAtMs = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined
  const read = async (): Promise<void> => {
    try {
      share = (await readUsedShare(server)) ?? 0
    } catch {
      // A cache that cannot be stored fails by itself.
    }
  }
  return async () => {
    if (performance.now() - readAtMs >= readingMs) {
      readAtMs = performance.now()
      reading = read()
    }
    await reading
    return share > CACHED_SHARE_MAX
  }
}

/** Safe: only `set` and `claim` write these keys, both from JSON. */
function parsed(text: string): Json {
  return JSON.parse(text) as Json
}

/** A lifetime in whole milliseconds, as Redis requires. */
function lifetimeMs(ttlMs: number): number {
  checkLifetime(ttlMs)
  return Math.ceil(ttlMs)
}
