import type { Memory } from '@plumbline/ports/memory'
import type { Json } from '@plumbline/contract/outcome'
import { checkLifetime } from '@plumbline/ports/limiter'
import type { RedisServer } from './redis.ts'

/**
 * Creates a memory in Redis, with a key for each fact. Concurrent commands are pipelined, also in a
 * cluster.
 */
export function createRedisMemory(server: RedisServer): Memory {
  const redis = server.commands
  const keyOf = (key: string): string => `${server.prefix}:memory:${key}`
  return {
    async get(keys) {
      const values = await Promise.all(keys.map((key) => redis.get(keyOf(key))))
      return values.map((value) => (value === null ? undefined : parsed(value)))
    },
    async set(entries) {
      await Promise.all(
        entries.map(({ key, value, ttlMs }) =>
          redis.set(keyOf(key), JSON.stringify(value), 'PX', lifetimeMs(ttlMs)),
        ),
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

/** Safe: only `set` and `claim` write these keys, both from JSON. */
function parsed(text: string): Json {
  return JSON.parse(text) as Json
}

/** A lifetime in whole milliseconds, as Redis requires. */
function lifetimeMs(ttlMs: number): number {
  checkLifetime(ttlMs)
  return Math.ceil(ttlMs)
}
