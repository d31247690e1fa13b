import type { Budget } from '@plumbline/ports/budget'
import { type Limiter, checkLease, checkTake } from '@plumbline/ports/limiter'
import type { Memory } from '@plumbline/ports/memory'
import type { Json } from '@plumbline/contract/outcome'
import type { Clock } from '@plumbline/ports/clock'

/** A clock that advances only when code waits on it. */
export interface TestClock extends Clock {
  advance(ms: number): void
}

/** Starts at noon of 2026-11-20. */
export function createTestClock(): TestClock {
  let nowMs = Date.UTC(2026, 10, 20, 12)
  const repeated = new Set<{ dueMs: number; readonly everyMs: number; readonly work: () => void }>()
  const advance = (ms: number): void => {
    nowMs += ms
    for (const entry of repeated) {
      if (entry.dueMs > nowMs) continue
      entry.dueMs = nowMs + entry.everyMs
      entry.work()
    }
  }
  return {
    now: () => nowMs,
    async wait(ms) {
      advance(ms)
      await new Promise(setImmediate)
    },
    every(everyMs, work) {
      const entry = { dueMs: nowMs + everyMs, everyMs, work }
      repeated.add(entry)
      return { [Symbol.dispose]: () => repeated.delete(entry) }
    },
    advance,
  }
}

/** Budgets in one process, by the day of the test clock. */
export function createTestBudget(clock: Clock): Budget {
  const spent = new Map<string, number>()
  return {
    async take(name, count, mostPerDay) {
      const key = `${name} ${new Date(clock.now()).toISOString().slice(0, 10)}`
      const taken = Math.min(count, Math.max(0, mostPerDay - (spent.get(key) ?? 0)))
      spent.set(key, (spent.get(key) ?? 0) + taken)
      return {
        count: taken,
        giveBack: async (back) => {
          spent.set(key, (spent.get(key) ?? 0) - back)
        },
      }
    },
  }
}

/** A shared memory in one process, with the lifetimes of the test clock. */
export function createTestMemory(clock: Clock): Memory {
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
export function createTestLimiter(clock: Clock): Limiter & { readonly mostLeased: () => number } {
  const buckets = new Map<string, { tokens: number; atMs: number }>()
  const leased = new Map<string, Set<{ untilMs: number }>>()
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
        renew: async () => {
          if (!held.has(own) || own.untilMs <= clock.now()) return false
          own.untilMs = clock.now() + ttlMs
          return true
        },
        async release() {
          held.delete(own)
        },
      }
    },
    mostLeased: () => most,
  }
}
