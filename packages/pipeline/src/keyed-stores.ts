import type { Limiter } from '@plumbline/ports/limiter'
import type { Memory, MemoryEntry } from '@plumbline/ports/memory'
import type { Json } from '@plumbline/contract/outcome'
import type { InstallationKey } from './installation-key.ts'

/**
 * What stands in a store as it is: it names an HLR provider of the operator's settings and never a
 * subject. Everything else is kept under an HMAC, so that a new fact is hidden unless it is listed here.
 */
const PLAIN = ['hlr:pause:', 'hlr:slot:', 'hlr:rate:'] as const

/**
 * A shared memory whose keys are HMACs and whose values are encrypted. Without a key only what is
 * plain can be asked for; anything else throws.
 */
export function keyedMemory(memory: Memory, key: InstallationKey | null): Memory {
  const nameOf = (name: string): string => storedName(name, key)
  const entryOf = ({ key: name, value, ttlMs }: MemoryEntry): MemoryEntry => {
    if (key === null || isPlain(name)) return { key: nameOf(name), value, ttlMs }
    return { key: nameOf(name), value: key.encrypt(JSON.stringify(value), name), ttlMs }
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

/** A shared limiter whose buckets and leases are kept under HMACs. */
export function keyedLimiter(limiter: Limiter, key: InstallationKey | null): Limiter {
  return {
    take: async (name, count, rate) => await limiter.take(storedName(name, key), count, rate),
    lease: async (name, limit, ttlMs) => await limiter.lease(storedName(name, key), limit, ttlMs),
  }
}

/** The name of a group of waiting subjects, which may hold the domain they wait for. */
export function groupNameOf(group: string, key: InstallationKey): string {
  return storedName(group, key)
}

/** What the key is of stays readable for the operator: the word before the first colon. */
function storedName(name: string, key: InstallationKey | null): string {
  if (isPlain(name)) return name
  if (key === null) throw new Error('the key of the installation is not at hand')
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
