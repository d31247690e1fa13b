import type { Memory } from './memory.ts'

/** Setting whether accounts share cached facts (decision 39). */
export interface Sharing {
  /** False keeps cached outcomes, purchases and registrations apart by account; default true. */
  readonly shareFindings?: boolean
}

/** The key of a fact: one that all accounts share, or the account's own. */
export function nameFor(name: string, account: string, { shareFindings = true }: Sharing): string {
  return shareFindings ? name : `${name} ${account}`
}

/** A memory for one account: the shared one, or one with separate keys. */
export function memoryFor(memory: Memory, account: string, sharing: Sharing): Memory {
  const own = (name: string): string => nameFor(name, account, sharing)
  return {
    get: (names) => memory.get(names.map(own)),
    set: (entries) => memory.set(entries.map((entry) => ({ ...entry, key: own(entry.key) }))),
    claim: (entry) => memory.claim({ ...entry, key: own(entry.key) }),
    delete: (names) => memory.delete(names.map(own)),
  }
}

const DAY_MS = 86_400_000

/**
 * When a fact was found, as shown to an account: to the millisecond if its own call found it, else
 * the UTC day, since the exact time would reveal when another account asked.
 */
export function momentFor(atMs: number, finder: string | undefined, account: string): number {
  return finder === account ? atMs : Math.floor(atMs / DAY_MS) * DAY_MS
}
