import { hash } from 'node:crypto'
import type { Memory } from '@plumbline/contract/engine'

/** Notices an asker that tries names on a domain until some exist. */
export interface DictionaryGuard {
  /** Whether this asker is kept from this domain now. */
  stops(tenant: string, domain: string): boolean | Promise<boolean>
  /** What one of its recipients came to. */
  note(tenant: string, domain: string, isMissing: boolean): void
}

interface Count {
  asked: number
  missing: number
  sinceMs: number
  stoppedUntilMs: number
  lookedMs: number
}

/** Pairs of asker and domain that are counted; the count starts anew after an hour. */
const PAIRS_MAX = 10_000
const COUNT_MS = 3_600_000
const STOP_MS = 3_600_000
const LOOK_MS = 30_000

/**
 * Makes the guard: from `asked` recipients on, a share of missing ones above `share` stops the asker
 * on that domain for an hour, in every worker. A list that is merely old stays below it.
 */
export function createDictionaryGuard(
  limits: { readonly dictionaryAsked: number; readonly dictionaryShare: number },
  memory: Memory,
  now: () => number,
  warn: (error: unknown) => void,
): DictionaryGuard {
  const counts = new Map<string, Count>()
  const countOf = (key: string): Count => {
    let count = counts.get(key)
    if (count === undefined) {
      count = {
        asked: 0,
        missing: 0,
        sinceMs: now(),
        stoppedUntilMs: 0,
        lookedMs: Number.NEGATIVE_INFINITY,
      }
      counts.set(key, count)
      if (counts.size > PAIRS_MAX) {
        const oldest = counts.keys().next()
        if (oldest.done !== true) counts.delete(oldest.value)
      }
    }
    if (now() - count.sinceMs > COUNT_MS) {
      count.asked = 0
      count.missing = 0
      count.sinceMs = now()
    }
    return count
  }
  const look = async (count: Count, key: string): Promise<boolean> => {
    count.lookedMs = now()
    try {
      const [until] = await memory.get([key])
      if (typeof until === 'number') count.stoppedUntilMs = until
    } catch (error) {
      warn(error)
    }
    return count.stoppedUntilMs > now()
  }
  return {
    stops(tenant, domain) {
      const count = countOf(`${tenant} ${domain}`)
      if (count.stoppedUntilMs > now()) return true
      // Most subjects are answered here, without a promise for each.
      if (now() - count.lookedMs < LOOK_MS) return false
      return look(count, keyOf(tenant, domain))
    },
    note(tenant, domain, isMissing) {
      const count = countOf(`${tenant} ${domain}`)
      count.asked++
      if (isMissing) count.missing++
      if (count.asked < limits.dictionaryAsked || count.stoppedUntilMs > now()) return
      if (count.missing / count.asked <= limits.dictionaryShare) return
      count.stoppedUntilMs = now() + STOP_MS
      count.asked = 0
      count.missing = 0
      const key = keyOf(tenant, domain)
      memory.set([{ key, value: count.stoppedUntilMs, ttlMs: STOP_MS }]).catch(warn)
    },
  }
}

function keyOf(tenant: string, domain: string): string {
  return `email:dictionary:${hash('sha256', `${tenant} ${domain}`, 'base64url')}`
}
