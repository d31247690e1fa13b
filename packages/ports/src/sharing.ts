import type { Memory } from './memory.ts'

/** Whether accounts profit from what others have found out (decision 39). */
export interface Sharing {
  /** False keeps findings, purchases and registrations apart by account; default true. */
  readonly shareFindings?: boolean
}

/** The name under which an account looks for a finding: everybody's, or its own. */
export function nameFor(name: string, account: string, { shareFindings = true }: Sharing): string {
  return shareFindings ? name : `${name} ${account}`
}

/** A memory of findings as one account has it. */
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
 * The moment of a finding as an account may know it: its own to the millisecond, another's by the UTC
 * day, since the moment tells when that account asked. Of a finding that names nobody it is another's.
 */
export function momentFor(atMs: number, finder: string | undefined, account: string): number {
  return finder === account ? atMs : Math.floor(atMs / DAY_MS) * DAY_MS
}
