import {
  type Limiter,
  checkLease,
  checkTake,
  grantOf,
  leaseRetryMs,
} from '@plumbline/ports/limiter'

/** A limiter of one process, with the same behaviour as the shared ones. */
export function createLocalLimiter({
  nowMs = () => performance.now(),
}: { nowMs?: () => number } = {}): Limiter {
  const full = new Map<string, number>()
  const leases = new Map<string, Map<symbol, number>>()
  let sweepAt = SWEEP_AT
  return {
    async take(key, count, rate) {
      checkTake(count, rate)
      const now = nowMs()
      if (full.size > sweepAt) {
        sweep(full, now)
        // If most buckets are in use, the next sweep is at twice their number.
        sweepAt = Math.max(SWEEP_AT, full.size * 2)
      }
      const interval = 1_000 / rate.perSecond
      const before = Math.max(now, full.get(key) ?? 0)
      const after = before + count * interval
      const limit = now + rate.burst * interval
      if (after > limit + ROUNDING_MS) {
        return grantOf(false, Math.ceil(after - limit), wholeUnits(limit - before, interval))
      }
      full.set(key, after)
      return grantOf(true, 0, wholeUnits(limit - after, interval))
    },
    async lease(key, limit, ttlMs) {
      checkLease(limit, ttlMs)
      const holders = leases.get(key) ?? new Map<symbol, number>()
      const now = nowMs()
      sweep(holders, now)
      if (holders.size >= limit) {
        return { granted: false, retryMs: leaseRetryMs(Math.min(...holders.values()) - now) }
      }
      const holder = Symbol(key)
      leases.set(key, holders.set(holder, now + ttlMs))
      return {
        granted: true,
        renew: async () => {
          if ((holders.get(holder) ?? 0) <= nowMs()) return false
          holders.set(holder, nowMs() + ttlMs)
          return true
        },
        release: async () => {
          holders.delete(holder)
          if (holders.size === 0 && leases.get(key) === holders) leases.delete(key)
        },
      }
    },
  }
}

/**
 * Rounding error of sums of fractional milliseconds over years of uptime. Without it, the last unit
 * of a burst that is taken within one tick of the clock can be refused.
 */
const ROUNDING_MS = 0.001

function wholeUnits(leftMs: number, intervalMs: number): number {
  return Math.max(0, Math.floor((leftMs + ROUNDING_MS) / intervalMs))
}

/** Number of keys from which on full buckets, which are in their initial state, are deleted. */
const SWEEP_AT = 100_000

function sweep<Key>(moments: Map<Key, number>, now: number): void {
  for (const [key, moment] of moments) if (moment <= now) moments.delete(key)
}
