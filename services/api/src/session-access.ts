import { SHOWN_ACCOUNT_HEADER } from '@plumbline/contract/app/paths'
import { isAtLeast } from '@plumbline/contract/app/roles'
import { Problem } from '@plumbline/contract/problem'
import type { UserSession } from '@plumbline/db/people/sessions'
import type { Request } from 'express'
import { refuseForeignOrigin, sessionSecretOf } from './browser.ts'
import type { Caller } from './request-context.ts'
import type { SessionCache } from './session-cache.ts'

/** Dependencies of finding sessions. */
export interface SessionAccess {
  readonly sessions: SessionCache
  readonly publicUrl: string | undefined
}

/** With a session, `test` selects magic values without credits, as with a test key. */
const MODE_HEADER = 'x-key-mode'

/** Methods that change nothing, the only ones for a viewer. */
const READING: readonly string[] = ['GET', 'HEAD']

/** The session of a request; undefined if it has none, or one that has ended. */
export async function sessionOf(
  access: SessionAccess,
  req: Request,
): Promise<UserSession | undefined> {
  const secret = sessionSecretOf(req, access.publicUrl)
  return secret === undefined ? undefined : await access.sessions.find(secret)
}

/** Whether a request has a session cookie and no key. */
export function comesWithSession(access: SessionAccess, req: Request): boolean {
  return (
    req.headers.authorization === undefined && sessionSecretOf(req, access.publicUrl) !== undefined
  )
}

/**
 * The caller of a request with a session: the account shown to the user.
 *
 * @throws Problem 401 if the session has ended; 403 for a cross-site request, for a change by a
 * viewer, and if the account requires a second factor that the user has not set; 409 for a change by
 * a page that shows another account
 */
export async function sessionCaller(access: SessionAccess, req: Request): Promise<Caller> {
  const session = await sessionOf(access, req)
  if (session === undefined) throw endedSession()
  const reads = READING.includes(req.method)
  if (!reads) refuseForeignOrigin(req, access.publicUrl)
  const { membership } = session
  if (membership === null) throw noAccount()
  if (!reads) {
    refuseOtherAccount(req, membership.accountId)
    refuseReader(session)
  }
  const mode = req.headers[MODE_HEADER]
  if (mode !== undefined && mode !== 'live' && mode !== 'test') {
    throw new Problem('bad_request', 'X-Key-Mode is live or test.')
  }
  return { ...membership, keyId: null, sessionId: session.sessionId, mode: mode ?? 'live' }
}

/**
 * Refuses a change by a user who may only read.
 *
 * @throws Problem `forbidden`
 */
export function refuseReader({ membership, hasFactor }: UserSession): void {
  if (membership !== null && !isAtLeast(membership.role, 'member')) {
    throw new Problem(
      'forbidden',
      'A viewer has read access only; ask an owner of the account for another role.',
    )
  }
  if (membership?.requiresFactor === true && !hasFactor) {
    throw new Problem(
      'forbidden',
      'This account asks its members for a second factor; set one in the settings first.',
    )
  }
}

/**
 * Refuses a change by a page that shows another account than the session: a switch in one window of
 * a browser is one for all, and a page says which account it changes.
 *
 * @throws Problem `conflict`
 */
export function refuseOtherAccount(req: Request, accountId: string): void {
  const shown = req.headers[SHOWN_ACCOUNT_HEADER.toLowerCase()]
  if (shown === undefined || shown === accountId) return
  throw new Problem(
    'conflict',
    'You have switched to another account meanwhile, perhaps in another window; load the page again.',
  )
}

/** The refusal of a session that has ended. */
export function endedSession(): Problem {
  return new Problem('unauthorized', 'Your session has ended; sign in again.')
}

/** The refusal of a user who belongs to no account. */
export function noAccount(): Problem {
  return new Problem(
    'forbidden',
    'You belong to no account at the moment; switch to another, or ask for an invitation.',
  )
}
