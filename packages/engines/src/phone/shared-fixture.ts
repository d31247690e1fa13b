import type { Limiter, Memory } from '@plumbline/contract/engine'
import { checkLease, checkTake } from '@plumbline/contract/limiter'
import type { Json } from '@plumbline/contract/outcome'
import type { HlrClock } from './buyer.ts'

/** A clock that moves when somebody waits. */
export interface TestClock extends HlrClock {
  advance(ms: number): void
}

/** Starts at noon of 2026-11-20. */
export function createTestClock(): TestClock {
  let nowMs = Date.UTC(2026, 10, 20, 12)
  return {
    now: () => nowMs,
    async wait(ms) {
      nowMs += ms
      await new Promise(setImmediate)
    },
    advance(ms) {
      nowMs += ms
    },
  }
}

/** A shared memory in one process, with the lifetimes of the test clock. */
export function createTestMemory(clock: HlrClock): Memory {
  const held = new Map<string, { readonly value: Json; readonly untilMs: number }>()
  const live = (key: string): Json | undefined => {
    const entry = held.get(key)
    return entry !== undefined && entry.untilMs > clock.now() ? entry.value : undefined
  }
  return {
    get: async (keys) => keys.map(live),
    async set(entries) {
      for (const { key, value, ttlMs } of entries) {
        held.set(key, { value, untilMs: clock.now() + ttlMs })
      }
    },
    async claim({ key, value, ttlMs }) {
      if (live(key) !== undefined) return false
      held.set(key, { value, untilMs: clock.now() + ttlMs })
      return true
    },
    async delete(keys) {
      for (const key of keys) held.delete(key)
    },
  }
}

/** A limiter in one process: buckets and leases by the test clock. */
export function createTestLimiter(
  clock: HlrClock,
): Limiter & { readonly mostLeased: () => number } {
  const buckets = new Map<string, { tokens: number; atMs: number }>()
  const leased = new Map<string, Set<{ readonly untilMs: number }>>()
  let most = 0
  return {
    async take(key, count, rate) {
      checkTake(count, rate)
      const { perSecond, burst } = rate
      const now = clock.now()
      const bucket = buckets.get(key) ?? { tokens: burst, atMs: now }
      const refilled = bucket.tokens + ((now - bucket.atMs) / 1_000) * perSecond
      const tokens = Math.min(burst, refilled)
      const granted = tokens >= count
      buckets.set(key, { tokens: granted ? tokens - count : tokens, atMs: now })
      if (granted) return { granted }
      return { granted, retryMs: Math.ceil(((count - tokens) / perSecond) * 1_000) }
    },
    async lease(key, limit, ttlMs) {
      checkLease(limit, ttlMs)
      const held = leased.get(key) ?? new Set()
      leased.set(key, held)
      for (const other of held) if (other.untilMs <= clock.now()) held.delete(other)
      if (held.size >= limit) return { granted: false, retryMs: 10 }
      const own = { untilMs: clock.now() + ttlMs }
      held.add(own)
      most = Math.max(most, held.size)
      return {
        granted: true,
        renew: async () => held.has(own),
        async release() {
          held.delete(own)
        },
      }
    },
    mostLeased: () => most,
  }
}
