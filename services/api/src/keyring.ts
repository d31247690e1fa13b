import type { Db } from '@plumbline/db/database'
import { findKey, noteKeysUsed } from '@plumbline/db/keys'
import { hash } from 'node:crypto'
import type { Caller } from './exchange.ts'

/** Finds callers by their keys. */
export interface Keyring extends AsyncDisposable {
  /** Who a key speaks for; undefined where it is malformed, unknown or revoked. */
  find(key: string): Promise<Caller | undefined> | Caller | undefined
}

/** What a keyring needs. */
export interface KeyringOptions {
  readonly db: Db
  /** What keys of this installation start with. */
  readonly prefix: string
  readonly onError: (error: unknown) => void
  /** Milliseconds that only grow. */
  readonly now?: () => number
}

/** A revoked key is refused everywhere within one second (decision 18), so nothing is known for longer. */
const KNOWN_MS = 900

/** Keys known at most. */
const KNOWN_MAX = 50_000

/** How often the moments of last use are written. */
const USED_MS = 10_000

interface Known {
  readonly caller: Promise<Caller | undefined> | Caller | undefined
  /** When it was asked, not when it was answered. */
  readonly askedAt: number
}

/** Makes a keyring that asks the database for each key at most about once a second. */
export function createKeyring(options: KeyringOptions): Keyring {
  const { db, prefix, onError, now = () => performance.now() } = options
  let known = new Map<string, Known>()
  let used = new Set<string>()

  async function writeUsed(): Promise<void> {
    if (used.size === 0) return
    const ids = [...used]
    used = new Set()
    await noteKeysUsed(db, ids)
  }

  const timer = setInterval(() => void writeUsed().catch(onError), USED_MS)
  timer.unref()

  function ask(digest: string, key: string): Promise<Caller | undefined> {
    const askedAt = now()
    const asked = findKey(db, prefix, key).then(
      (caller) => {
        // The promise makes way for its value, so that a known key costs no turn of the loop.
        known.set(digest, { caller, askedAt })
        if (caller !== undefined) used.add(caller.keyId)
        return caller
      },
      (error: unknown) => {
        known.delete(digest)
        throw error
      },
    )
    if (known.size >= KNOWN_MAX) known = new Map()
    known.set(digest, { caller: asked, askedAt })
    return asked
  }

  return {
    find: (key) => {
      // Keys are not kept as they are, so that a dump of the memory holds none.
      const digest = hash('sha256', key, 'base64')
      const entry = known.get(digest)
      if (entry !== undefined && now() - entry.askedAt < KNOWN_MS) return entry.caller
      return ask(digest, key)
    },
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer)
      await writeUsed().catch(onError)
    },
  }
}
