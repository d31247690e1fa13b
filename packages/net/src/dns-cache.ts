import type { DnsAnswer } from './dns-answer.ts'
import type { RecordOf, RecordType } from './dns-message.ts'

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

/** When the cache is full, one entry in this many, or as large a part of its bytes, is evicted. */
const EVICTED_SHARE = 16

/**
 * Bytes of memory that the answers of one cache may use, and one answer. Ordinary ones use less
 * than 1 KiB; one that uses more than 32 is not kept.
 */
const MAX_BYTES = 64 * 1024 * 1024
const MAX_ANSWER_BYTES = 32 * 1024

/** Bytes of an entry and of a record besides their texts, of which a character has two at most. */
const ENTRY_BYTES = 400
const RECORD_BYTES = 80
const CHARACTER_BYTES = 2

interface Entry {
  readonly answer: DnsAnswer
  readonly expiresAt: number
  readonly sizeBytes: number
}

/**
 * Makes a least-recently-used cache of at most `size` answers and 64 MiB. `now` in milliseconds,
 * monotonic.
 */
export function createAnswerCache(options: { size: number; now: () => number }): AnswerCache {
  const entries = new Map<string, Entry>()
  let heldBytes = 0
  const remove = (key: string): Entry | undefined => {
    const entry = entries.get(key)
    if (entry !== undefined && entries.delete(key)) heldBytes -= entry.sizeBytes
    return entry
  }
  const add = (key: string, entry: Entry): void => {
    entries.set(key, entry)
    heldBytes += entry.sizeBytes
  }
  return {
    get(key) {
      const entry = remove(key)
      if (entry === undefined) return undefined
      const leftMs = entry.expiresAt - options.now()
      if (leftMs <= 0) return undefined
      add(key, entry)
      return aged(entry.answer, Math.ceil(leftMs / 1000))
    },
    put(key, answer) {
      remove(key)
      const sizeBytes = sizeOf(key, answer)
      if (sizeBytes > MAX_ANSWER_BYTES) return
      add(key, { answer, expiresAt: options.now() + lifetimeSeconds(answer) * 1000, sizeBytes })
      if (entries.size <= options.size && heldBytes <= MAX_BYTES) return
      // Many at once: a map that loses only its first entry has to skip all deleted ones.
      const left = options.size - Math.floor(options.size / EVICTED_SHARE)
      const leftBytes = MAX_BYTES - MAX_BYTES / EVICTED_SHARE
      for (const oldest of entries.keys()) {
        if (entries.size <= left && heldBytes <= leftBytes) break
        remove(oldest)
      }
    },
    forgetDenials() {
      for (const [key, { answer }] of entries) {
        if (answer.kind === 'nxdomain' || answer.kind === 'nodata') remove(key)
      }
    },
  }
}

/** About the bytes of memory that an entry uses. */
function sizeOf(key: string, answer: DnsAnswer): number {
  let characters = key.length
  if (answer.kind === 'failed') return ENTRY_BYTES + characters * CHARACTER_BYTES
  characters += answer.cname?.length ?? 0
  const records: readonly RecordOf[RecordType][] = answer.kind === 'records' ? answer.records : []
  for (const record of records) {
    if (typeof record === 'string') characters += record.length
    else if ('exchange' in record) characters += record.exchange.length
    else characters += record.mname.length + record.rname.length
  }
  return ENTRY_BYTES + records.length * RECORD_BYTES + characters * CHARACTER_BYTES
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
