import type { Db } from '@plumbline/db/database'
import { findKey, KEY_MARK_BYTES, noteKeysUsed, readKeyMarks } from '@plumbline/db/keys'
import { parseKey } from '@plumbline/db/keys-format'
import { hash } from 'node:crypto'
import { createLastUsed } from './last-used.ts'
import type { Caller } from './request-context.ts'

/** Finds callers by their API keys, and remembers them for a short time. */
export interface ApiKeyCache extends AsyncDisposable {
  /** The caller of a key if it is cached. */
  cached(key: string): Caller | undefined
  /** The caller of a key; undefined if the key is malformed, unknown or revoked. */
  find(key: string): Promise<Caller | undefined> | Caller | undefined
  /** Whether a key has the format and the checksum of this installation's keys. */
  isWellFormed(key: string): boolean
  /** Whether a key was valid when the database was last asked for it. */
  wasValid(key: string): boolean
  /**
   * Whether a key may have existed a few seconds ago. False for most keys that do not exist, which
   * saves a query; true for the few whose hash begins like that of an existing key.
   */
  mayExist(key: string): Promise<boolean>
}

/** Settings and dependencies of the cache of API keys. */
export interface ApiKeyCacheOptions {
  readonly db: Db
  /** Prefix of this installation's keys. */
  readonly prefix: string
  readonly onError: (error: unknown) => void
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number
  /** Valid keys that are cached at most. */
  readonly maxKeys?: number
}

/**
 * A revoked key is refused everywhere within one second (decision 18), so nothing is cached for
 * longer.
 */
const CACHE_MS = 900

/** Valid keys that are cached at most: some 10 MB. */
const MAX_KEYS = 50_000

/**
 * Maximum age of the hashes of all keys, in milliseconds: the longest that a new key is refused
 * while its address sends invalid keys.
 */
const MARKS_MS = 5_000

interface CachedKey {
  readonly caller: Caller
  /** When the query was sent, not when its result came. */
  readonly askedAt: number
}

interface PendingQuery {
  readonly found: Promise<Caller | undefined>
  readonly askedAt: number
}

/**
 * Makes a cache of API keys that queries the database for each valid key about once a second at
 * most. Invalid keys are not cached, so that they evict no valid one.
 */
export function createApiKeyCache(options: ApiKeyCacheOptions): ApiKeyCache {
  const { db, prefix, onError, now = () => performance.now(), maxKeys = MAX_KEYS } = options
  /** Valid keys in the order of their last query, oldest first. */
  const valid = new Map<string, CachedKey>()
  const queries = new Map<string, PendingQuery>()
  const used = createLastUsed((ids) => noteKeysUsed(db, ids), onError)
  const mayExist = createKeyMarks(db, now)

  function note(digest: string, caller: Caller | undefined, askedAt: number): void {
    const held = valid.get(digest)
    // A query that was sent later has returned before this one.
    if (held !== undefined && held.askedAt > askedAt) return
    valid.delete(digest)
    if (caller === undefined) return
    if (caller.keyId !== null) used.note(caller.keyId)
    const [oldest] = valid.keys()
    if (valid.size >= maxKeys && oldest !== undefined) valid.delete(oldest)
    valid.set(digest, { caller, askedAt })
  }

  function ask(digest: string, key: string): Promise<Caller | undefined> {
    const askedAt = now()
    const done = (): void => {
      if (queries.get(digest)?.askedAt === askedAt) queries.delete(digest)
    }
    const found = findKey(db, prefix, key).then(
      (caller) => {
        done()
        note(digest, caller, askedAt)
        return caller
      },
      (error: unknown) => {
        done()
        throw error
      },
    )
    queries.set(digest, { found, askedAt })
    return found
  }

  function cachedBy(digest: string): Caller | undefined {
    const held = valid.get(digest)
    return held !== undefined && now() - held.askedAt < CACHE_MS ? held.caller : undefined
  }

  return {
    cached: (key) => cachedBy(digestOf(key)),
    find: (key) => {
      const digest = digestOf(key)
      const caller = cachedBy(digest)
      if (caller !== undefined) return caller
      const pending = queries.get(digest)
      if (pending !== undefined && now() - pending.askedAt < CACHE_MS) return pending.found
      return ask(digest, key)
    },
    isWellFormed: (key) => parseKey(prefix, key) !== undefined,
    wasValid: (key) => valid.has(digestOf(key)),
    mayExist,
    [Symbol.asyncDispose]: () => used[Symbol.asyncDispose](),
  }
}

/** The cache holds hashes, so that a dump of the memory has no keys in it. */
function digestOf(key: string): string {
  return hash('sha256', key, 'base64')
}

/** Reads the short hashes of all keys every few seconds at most, and searches them for one key. */
function createKeyMarks(db: Db, now: () => number): (key: string) => Promise<boolean> {
  let readAt = Number.NEGATIVE_INFINITY
  let marks: Promise<Buffer | undefined> = Promise.resolve(undefined)
  return async (key) => {
    if (now() - readAt >= MARKS_MS) {
      readAt = now()
      marks = readKeyMarks(db)
      marks.catch(() => {
        // The next caller reads again.
        readAt = Number.NEGATIVE_INFINITY
      })
    }
    const known = await marks
    return known === undefined || holdsMark(known, hash('sha256', key, 'buffer'))
  }
}

/** Binary search for the short hash of a digest; the hashes are sorted. */
function holdsMark(marks: Buffer, digest: Buffer): boolean {
  let low = 0
  let high = marks.length / KEY_MARK_BYTES
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const at = middle * KEY_MARK_BYTES
    const order = digest.compare(marks, at, at + KEY_MARK_BYTES, 0, KEY_MARK_BYTES)
    if (order === 0) return true
    if (order < 0) high = middle
    else low = middle + 1
  }
  return false
}
