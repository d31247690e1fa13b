import type { Json } from '@plumbline/contract/outcome'

/** Facts shared between workers with a lifetime: caches, verdicts, breakers, paid queries begun. */
export interface Memory {
  /** Values in the order of the keys; undefined if absent or expired. */
  get(keys: readonly string[]): Promise<readonly (Json | undefined)[]>
  set(entries: readonly MemoryEntry[]): Promise<void>
  /** Stores only where nothing is held; returns whether it did. */
  claim(entry: MemoryEntry): Promise<boolean>
  delete(keys: readonly string[]): Promise<void>
}

/** What is to be remembered, and for how long. */
export interface MemoryEntry {
  readonly key: string
  readonly value: Json
  readonly ttlMs: number
}
