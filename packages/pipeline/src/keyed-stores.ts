import type { Limiter } from '@plumbline/ports/limiter'
import type { Memory, MemoryEntry } from '@plumbline/ports/memory'
import type { Json } from '@plumbline/contract/outcome'
import type { InstallationKey } from './installation-key.ts'

/**
 * Prefixes of names that are stored in plain text: they name an HLR provider from the settings and
 * never a subject. All other names are stored as HMACs, so that a new kind of fact is protected by
 * default.
 */
const PLAIN = ['hlr:pause:', 'hlr:slot:', 'hlr:rate:'] as const

/**
 * A shared memory whose keys are HMACs and whose values are encrypted. Without a key only plain
 * names can be used; others throw.
 */
export function keyedMemory(memory: Memory, key: InstallationKey | null): Memory {
  const nameOf = (name: string): string => storedName(name, key)
  const entryOf = (entry: MemoryEntry): MemoryEntry => {
    const { key: name, value } = entry
    if (key === null || isPlain(name)) return { ...entry, key: nameOf(name) }
    return { ...entry, key: nameOf(name), value: key.encrypt(JSON.stringify(value), name) }
  }
  return {
    async get(names) {
      const values = await memory.get(names.map(nameOf))
      return values.map((value, at) => readValue(names[at] ?? '', value, key))
    },
    set: (entries) => memory.set(entries.map(entryOf)),
    claim: (entry) => memory.claim(entryOf(entry)),
    delete: (names) => memory.delete(names.map(nameOf)),
  }
}

/** A shared limiter whose buckets and leases are named by HMACs. */
export function keyedLimiter(limiter: Limiter, key: InstallationKey | null): Limiter {
  return {
    take: async (name, count, rate) => await limiter.take(storedName(name, key), count, rate),
    lease: async (name, limit, ttlMs) => await limiter.lease(storedName(name, key), limit, ttlMs),
  }
}

/** The stored name of a waiting group, as it may contain a domain. */
export function groupNameOf(group: string, key: InstallationKey): string {
  return storedName(group, key)
}

/** The name in the store: the part before the first colon stays readable for the operator. */
function storedName(name: string, key: InstallationKey | null): string {
  if (isPlain(name)) return name
  if (key === null) throw new Error('the key of the installation is not available')
  return `${name.slice(0, Math.max(0, name.indexOf(':')))}:${key.digest(name)}`
}

function isPlain(name: string): boolean {
  return PLAIN.some((start) => name.startsWith(start))
}

function readValue(
  name: string,
  value: Json | undefined,
  key: InstallationKey | null,
): Json | undefined {
  if (value === undefined || key === null || isPlain(name)) return value
  if (typeof value !== 'string') return undefined
  const text = key.decrypt(value, name)
  // Safe: only `keyedMemory` encrypts under this name, from JSON.
  return text === undefined ? undefined : (JSON.parse(text) as Json)
}
