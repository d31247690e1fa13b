import type { Json } from '@plumbline/contract/outcome'

/** Facts with a lifetime, shared by workers: cached results, circuit breakers, purchases begun. */
export interface Memory {
  /** Values in the order of the keys; undefined if absent or expired. */
  get(keys: readonly string[]): Promise<readonly (Json | undefined)[]>
  set(entries: readonly MemoryEntry[]): Promise<void>
  /** Stores an entry only if there is none; returns whether it did. */
  claim(entry: MemoryEntry): Promise<boolean>
  delete(keys: readonly string[]): Promise<void>
}

/** A value to store, and its lifetime. */
export interface MemoryEntry {
  readonly key: string
  readonly value: Json
  readonly ttlMs: number
  /**
   * Whether it can be found out again: `set` does not add it to a store that is short of memory, but
   * replaces an earlier value.
   */
  readonly isCached?: boolean
}
