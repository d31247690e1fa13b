import type { Memory, MemoryEntry } from '@plumbline/ports/memory'
import type { Json } from '@plumbline/contract/outcome'
import { nameFor, type Sharing } from '@plumbline/ports/sharing'
import { holdNewest } from './hold-newest.ts'
import type { AcceptAll, AcceptAllFact, ProbeResult } from './probe-result.ts'
import { resultFor, needsRecheck } from './probe-result.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/**
 * How long each result is valid, in milliseconds: mailboxes are created and closed within days,
 * emptied within hours.
 */
const RESULT_TTL_MS = {
  accepted: 7 * DAY_MS,
  missing: 3 * DAY_MS,
  disabled: 3 * DAY_MS,
  full: 6 * HOUR_MS,
} as const

/** A refusal that one reply does not prove is probed again soon. */
const RECHECK_TTL_MS = 10 * 60_000

/** How long an accept-all fact is valid, in milliseconds. */
const ACCEPT_ALL_TTL_MS: Readonly<Record<AcceptAll, number>> = {
  yes: 7 * DAY_MS,
  no: DAY_MS,
  unknown: 10 * 60_000,
}

/**
 * Probe results, shared by all workers. A failure of the shared memory is a cache miss, never a
 * failed check.
 */
export interface ProbeCache {
  /** The cached results of the keys of `probeResultKey`, as an account may see them. */
  results(keys: readonly string[], account: string): Promise<readonly (ProbeResult | undefined)[]>
  acceptAll(domain: string): Promise<AcceptAllFact | undefined>
  /** Stores the results of one transaction, with their time and account. */
  remember(learnt: {
    readonly results: readonly NewResult[]
    readonly acceptAll?: {
      readonly domain: string
      readonly value: AcceptAll
      readonly by: string
    }
  }): void
  /** Waits until all pending results are stored. */
  flush(): Promise<void>
}

/** The result of one address, and the account whose probe found it. */
export interface NewResult {
  readonly key: string
  readonly result: ProbeResult
  readonly by: string
}

/** Domains whose accept-all fact is cached in this process. */
const DOMAINS_HELD_MAX = 20_000

/** Milliseconds for which the local copy is used before the shared memory is read again. */
const LOCAL_TTL_MS = 60_000

/** Makes the cache over the shared memory. */
export function createProbeCache(
  memory: Memory,
  now: () => number,
  warn: (error: unknown) => void,
): ProbeCache {
  const held = new Map<
    string,
    { readonly fact: AcceptAllFact | undefined; readonly untilMs: number }
  >()
  const writes = new Set<Promise<void>>()

  const hold = (domain: string, fact: AcceptAllFact | undefined): void => {
    holdNewest(held, domain, { fact, untilMs: now() + LOCAL_TTL_MS }, DOMAINS_HELD_MAX)
  }

  const write = (entries: readonly MemoryEntry[]): void => {
    if (entries.length === 0) return
    const done = memory
      .set(entries)
      .catch(warn)
      .finally(() => writes.delete(done))
    writes.add(done)
  }

  return {
    async results(keys, account) {
      try {
        const values = await memory.get(keys)
        return values.map((value) => {
          const result = readResult(value)
          return result === undefined ? undefined : resultFor(result, account)
        })
      } catch (error) {
        warn(error)
        return keys.map(() => undefined)
      }
    },
    async acceptAll(domain) {
      const local = held.get(domain)
      if (local !== undefined && local.untilMs > now()) return local.fact
      try {
        const [value] = await memory.get([acceptAllKey(domain)])
        const read = readAcceptAll(value)
        hold(domain, read)
        return read
      } catch (error) {
        warn(error)
        return undefined
      }
    },
    remember({ results, acceptAll }) {
      const atMs = now()
      const entries = results.flatMap((learnt) => entryOf(learnt, atMs) ?? [])
      if (acceptAll !== undefined) {
        const { domain, value, by } = acceptAll
        const fact = { value, atMs, by }
        hold(domain, fact)
        const ttlMs = ACCEPT_ALL_TTL_MS[value]
        entries.push({ key: acceptAllKey(domain), value: fact, ttlMs, isCached: true })
      }
      write(entries)
    },
    async flush() {
      await Promise.all(writes)
    },
  }
}

/** The memory entry of a result; null if nothing was found out. */
function entryOf({ key, result, by }: NewResult, nowMs: number): MemoryEntry | null {
  if (result.mailbox === 'unknown') return null
  const ttlMs = needsRecheck(result) ? RECHECK_TTL_MS : RESULT_TTL_MS[result.mailbox]
  const value = resultJson({ ...result, atMs: result.atMs ?? nowMs, by })
  return { key, value, ttlMs, isCached: true }
}

/** The key of an address's result for an account. */
export function probeResultKey(address: string, account: string, sharing: Sharing): string {
  return nameFor(`email:result:${address}`, account, sharing)
}

/** The key of a domain's accept-all fact. */
export function acceptAllKey(domain: string): string {
  return `email:accept-all:${domain}`
}

/** A result as it is stored in memory and in the state of a waiting subject: without `wait`. */
export function resultJson(result: ProbeResult): Json {
  const { wait: _, ...kept } = result
  return kept
}

/**
 * Parses what `resultJson` wrote. The cast is safe once the fields that decide have the right
 * types.
 */
export function readResult(value: Json | undefined): ProbeResult | undefined {
  if (typeof value !== 'object' || value === null || !('status' in value)) return undefined
  const good =
    typeof value['status'] === 'string' &&
    typeof value['reason'] === 'string' &&
    typeof value['mailbox'] === 'string' &&
    typeof value['evidence'] === 'object' &&
    (value['atMs'] === undefined || typeof value['atMs'] === 'number')
  return good ? (value as unknown as ProbeResult) : undefined
}

/** Parses what `remember` wrote; an earlier version stored the value alone. */
function readAcceptAll(held: Json | undefined): AcceptAllFact | undefined {
  if (isAcceptAll(held)) return { value: held }
  if (typeof held !== 'object' || held === null || !('value' in held)) return undefined
  const { value, atMs, by } = held
  if (!isAcceptAll(value)) return undefined
  return {
    value,
    ...(typeof atMs === 'number' ? { atMs } : {}),
    ...(typeof by === 'string' ? { by } : {}),
  }
}

function isAcceptAll(value: Json | undefined): value is AcceptAll {
  return value === 'yes' || value === 'no' || value === 'unknown'
}
