import type { Db } from '@plumbline/db/database'
import { findKey, KEY_MARK_BYTES, noteKeysUsed, readKeyMarks } from '@plumbline/db/keys'
import { parseKey } from '@plumbline/db/keys-format'
import { hash } from 'node:crypto'
import type { Caller } from './request-context.ts'

/** Finds callers by their keys. */
export interface ApiKeyCache extends AsyncDisposable {
  /** Who a key speaks for, where that is known without asking. */
  known(key: string): Caller | undefined
  /** Who a key speaks for; undefined where it is malformed, unknown or revoked. */
  find(key: string): Promise<Caller | undefined> | Caller | undefined
  /** Whether a key has the form and the checksum of ours. */
  isWellFormed(key: string): boolean
  /** Whether a key was good when it was last asked for. */
  wasGood(key: string): boolean
  /**
   * Whether a key is among those that exist, as they stood a few seconds ago, and perhaps where it is
   * not: good enough to spare most that are not the question to the database.
   */
  mayExist(key: string): Promise<boolean>
}

/** What the cache of API keys needs. */
export interface ApiKeyCacheOptions {
  readonly db: Db
  /** What keys of this installation start with. */
  readonly prefix: string
  readonly onError: (error: unknown) => void
  /** Milliseconds that only grow. */
  readonly now?: () => number
  /** Good keys that are remembered at most. */
  readonly most?: number
}

/** A revoked key is refused everywhere within one second (decision 18), so nothing is known for longer. */
const KNOWN_MS = 900

/** Good keys that are remembered at most: some 10 MB. */
const GOOD_MAX = 50_000

/** How often the moments of last use are written. */
const USED_MS = 10_000

/** How old what is known of all keys may be: a new key waits no longer where bad ones keep coming. */
const MARKS_MS = 5_000

interface Good {
  readonly caller: Caller
  /** When it was asked, not when it was answered. */
  readonly askedAt: number
}

interface Asking {
  readonly answer: Promise<Caller | undefined>
  readonly askedAt: number
}

/**
 * Makes a cache of API keys that asks the database for each good key at most about once a second. Of bad keys it
 * remembers nothing, so that they take the place of none that is good.
 */
export function createApiKeyCache(options: ApiKeyCacheOptions): ApiKeyCache {
  const { db, prefix, onError, now = () => performance.now(), most = GOOD_MAX } = options
  /** The longest unasked first. */
  const good = new Map<string, Good>()
  const asking = new Map<string, Asking>()
  let used = new Set<string>()
  const mayExist = createKeyMarks(db, now)

  async function writeUsed(): Promise<void> {
    if (used.size === 0) return
    const ids = [...used]
    used = new Set()
    await noteKeysUsed(db, ids)
  }

  const timer = setInterval(() => void writeUsed().catch(onError), USED_MS)
  timer.unref()

  function note(digest: string, caller: Caller | undefined, askedAt: number): void {
    const held = good.get(digest)
    // What was asked later has been answered before.
    if (held !== undefined && held.askedAt > askedAt) return
    good.delete(digest)
    if (caller === undefined) return
    used.add(caller.keyId)
    const [oldest] = good.keys()
    if (good.size >= most && oldest !== undefined) good.delete(oldest)
    good.set(digest, { caller, askedAt })
  }

  function ask(digest: string, key: string): Promise<Caller | undefined> {
    const askedAt = now()
    const done = (): void => {
      if (asking.get(digest)?.askedAt === askedAt) asking.delete(digest)
    }
    const answer = findKey(db, prefix, key).then(
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
    asking.set(digest, { answer, askedAt })
    return answer
  }

  function knownBy(digest: string): Caller | undefined {
    const held = good.get(digest)
    return held !== undefined && now() - held.askedAt < KNOWN_MS ? held.caller : undefined
  }

  return {
    known: (key) => knownBy(nameOf(key)),
    find: (key) => {
      const digest = nameOf(key)
      const caller = knownBy(digest)
      if (caller !== undefined) return caller
      const underWay = asking.get(digest)
      if (underWay !== undefined && now() - underWay.askedAt < KNOWN_MS) return underWay.answer
      return ask(digest, key)
    },
    isWellFormed: (key) => parseKey(prefix, key) !== undefined,
    wasGood: (key) => good.has(nameOf(key)),
    mayExist,
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer)
      await writeUsed().catch(onError)
    },
  }
}

/** Keys are not kept as they are, so that a dump of the memory holds none. */
function nameOf(key: string): string {
  return hash('sha256', key, 'base64')
}

/** Asks for the marks of all keys at most every few seconds, and looks for one among them. */
function createKeyMarks(db: Db, now: () => number): (key: string) => Promise<boolean> {
  let readAt = Number.NEGATIVE_INFINITY
  let marks: Promise<Buffer | undefined> = Promise.resolve(undefined)
  return async (key) => {
    if (now() - readAt >= MARKS_MS) {
      readAt = now()
      marks = readKeyMarks(db)
      marks.catch(() => {
        // The next one asks again.
        readAt = Number.NEGATIVE_INFINITY
      })
    }
    const known = await marks
    return known === undefined || holdsMark(known, hash('sha256', key, 'buffer'))
  }
}

/** Looks for the mark of a digest by halves; the marks stand in order. */
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
