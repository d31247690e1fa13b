import type { Memory } from '@plumbline/ports/memory'
import type { Json } from '@plumbline/contract/outcome'
import { checkLifetime } from '@plumbline/ports/limiter'

/**
 * In-process memory; evicts the oldest entries beyond `maxEntries`. `nowMs` is a monotonic clock.
 */
export function createLocalMemory({
  maxEntries = 100_000,
  nowMs = () => performance.now(),
}: { maxEntries?: number; nowMs?: () => number } = {}): Memory {
  const held = new Map<string, { readonly value: Json; readonly until: number }>()
  const read = (key: string): Json | undefined => {
    const entry = held.get(key)
    if (entry === undefined || entry.until > nowMs()) return entry?.value
    held.delete(key)
    return undefined
  }
  const write = (key: string, value: Json, ttlMs: number): void => {
    checkLifetime(ttlMs)
    held.delete(key)
    held.set(key, { value, until: nowMs() + ttlMs })
    if (held.size <= maxEntries) return
    for (const oldest of held.keys()) {
      held.delete(oldest)
      break
    }
  }
  return {
    get: async (keys) => keys.map(read),
    set: async (entries) => {
      for (const { key, value, ttlMs } of entries) write(key, value, ttlMs)
    },
    claim: async ({ key, value, ttlMs }) => {
      if (read(key) !== undefined) return false
      write(key, value, ttlMs)
      return true
    },
    delete: async (keys) => {
      for (const key of keys) held.delete(key)
    },
  }
}
