import type { Tx } from '@plumbline/db/database'
import { insertSession, type UserSession } from '@plumbline/db/people/sessions'
import { membershipsOf } from '@plumbline/db/people/members'
import { newSecret } from './secret.ts'
import type { Visitor } from './people.ts'

/** A new session: the secret goes into the cookie. */
export interface BegunSession {
  readonly secret: string
  readonly sessionId: string
}

/** Minutes for which the check of a second factor is valid. */
export const PROVEN_MINUTES = 15

/** Whether a user must show the second factor again before an act that needs it. */
export function needsProof({
  hasFactor,
  provenAt,
}: Pick<UserSession, 'hasFactor' | 'provenAt'>): boolean {
  return hasFactor && (provenAt?.getTime() ?? 0) + PROVEN_MINUTES * 60_000 <= Date.now()
}

/** Begins a session of a user, in the first of their accounts unless one is given. */
export async function beginSession(
  tx: Tx,
  userId: string,
  visitor: Visitor,
  options: { readonly accountId?: string; readonly proven?: boolean } = {},
): Promise<BegunSession> {
  const accountId = options.accountId ?? (await membershipsOf(tx, userId))[0]?.accountId ?? null
  const { secret, digest } = newSecret()
  const sessionId = await insertSession(tx, {
    digest,
    userId,
    accountId,
    network: visitor.network,
    browser: visitor.browser,
    proven: options.proven ?? false,
  })
  return { secret, sessionId }
}
