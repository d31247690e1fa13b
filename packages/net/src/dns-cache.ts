import type { DnsAnswer } from './dns-answer.ts'

/** Unexpired results of queries. */
export interface AnswerCache {
  get(key: string): DnsAnswer | undefined
  put(key: string, answer: DnsAnswer): void
  /** Drops every negative result. */
  forgetDenials(): void
}

/**
 * Limits of lifetimes in seconds, whatever the records say. Negative: RFC 2308 section 5 recommends
 * at most three hours; one hour is used. Failures: RFC 9520 section 3.2 requires one second to five
 * minutes.
 */
const LIFETIME_SECONDS = {
  records: { least: 5, most: 86_400 },
  negative: { least: 5, most: 3_600 },
  failed: 5,
} as const

/** When the cache is full, one entry in this many is evicted. */
const EVICTED_SHARE = 16

/** Makes a least-recently-used cache. `now` in milliseconds, monotonic. */
export function createAnswerCache(options: { size: number; now: () => number }): AnswerCache {
  const entries = new Map<string, { answer: DnsAnswer; expiresAt: number }>()
  return {
    get(key) {
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      entries.delete(key)
      const leftMs = entry.expiresAt - options.now()
      if (leftMs <= 0) return undefined
      entries.set(key, entry)
      return aged(entry.answer, Math.ceil(leftMs / 1000))
    },
    put(key, answer) {
      const expiresAt = options.now() + lifetimeSeconds(answer) * 1000
      entries.delete(key)
      entries.set(key, { answer, expiresAt })
      if (entries.size <= options.size) return
      // Many at once: a map that loses only its first entry has to skip all deleted ones.
      const left = options.size - Math.floor(options.size / EVICTED_SHARE)
      for (const oldest of entries.keys()) {
        if (entries.size <= left) break
        entries.delete(oldest)
      }
    },
    forgetDenials() {
      for (const [key, { answer }] of entries) {
        if (answer.kind === 'nxdomain' || answer.kind === 'nodata') entries.delete(key)
      }
    },
  }
}

function aged(answer: DnsAnswer, leftSeconds: number): DnsAnswer {
  if (answer.kind === 'failed' || answer.ttlSeconds <= leftSeconds) return answer
  return { ...answer, ttlSeconds: leftSeconds }
}

function lifetimeSeconds(answer: DnsAnswer): number {
  switch (answer.kind) {
    case 'records':
      return clamp(answer.ttlSeconds, LIFETIME_SECONDS.records)
    case 'nodata':
    case 'nxdomain':
      return clamp(answer.ttlSeconds, LIFETIME_SECONDS.negative)
    case 'failed':
      return LIFETIME_SECONDS.failed
  }
}

function clamp(value: number, bounds: { least: number; most: number }): number {
  return Math.min(bounds.most, Math.max(bounds.least, value))
}
