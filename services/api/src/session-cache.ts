import type { Db } from '@plumbline/db/database'
import { findSession, noteSessionsUsed, type UserSession } from '@plumbline/db/people/sessions'
import { digestOfSecret, isSecretForm } from '@plumbline/people/secret'
import { createLastUsed } from './last-used.ts'

/** Finds sessions by the secrets of their cookies, and caches them for a short time. */
export interface SessionCache extends AsyncDisposable {
  /** Undefined if the session was ended, has expired or never existed. */
  find(secret: string): Promise<UserSession | undefined>
  /** Empties the cache after a change of privileges. Other processes notice within a second. */
  forget(): void
}

/**
 * Milliseconds; an ended session must be refused everywhere within one second, as a revoked key.
 */
const CACHE_MS = 900
const MAX_SESSIONS = 50_000

interface CachedSession {
  readonly found: Promise<UserSession | undefined>
  /** When the query was sent, not when its result came. */
  readonly askedAt: number
}

/** Makes a cache that queries the database for each session about once a second at most. */
export function createSessionCache(options: {
  readonly db: Db
  readonly onError: (error: unknown) => void
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number
}): SessionCache {
  const { db, onError, now = () => performance.now() } = options
  const sessions = new Map<string, CachedSession>()
  const used = createLastUsed((ids) => noteSessionsUsed(db, ids), onError)

  async function ask(
    name: string,
    digest: Buffer,
    askedAt: number,
  ): Promise<UserSession | undefined> {
    const forget = (): void => {
      if (sessions.get(name)?.askedAt === askedAt) sessions.delete(name)
    }
    try {
      const session = await findSession(db, digest)
      if (session === undefined) forget()
      else used.note(session.sessionId)
      return session
    } catch (error) {
      forget()
      throw error
    }
  }

  return {
    find: (secret) => {
      if (!isSecretForm(secret)) return Promise.resolve(undefined)
      const digest = digestOfSecret(secret)
      // The cache holds hashes, so that a dump of the memory has no secret in it.
      const name = digest.toString('base64')
      const held = sessions.get(name)
      const at = now()
      if (held !== undefined && at - held.askedAt < CACHE_MS) return held.found
      sessions.delete(name)
      const [oldest] = sessions.keys()
      if (sessions.size >= MAX_SESSIONS && oldest !== undefined) sessions.delete(oldest)
      const found = ask(name, digest, at)
      sessions.set(name, { found, askedAt: at })
      return found
    },
    forget: () => sessions.clear(),
    [Symbol.asyncDispose]: () => used[Symbol.asyncDispose](),
  }
}
