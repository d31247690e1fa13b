import { writeAudit } from '@plumbline/db/audit-log'
import { inTransaction, type Db } from '@plumbline/db/database'
import { endAllSessions, endSessions } from '@plumbline/db/people/sessions'

/**
 * Ends the sessions of one user, or of all if none is given, and writes who did it to the audit
 * log. The sessions are refused within a second.
 *
 * @returns the number of ended sessions
 */
export async function signOutPeople(
  db: Db,
  { actor, userId }: { readonly actor: string; readonly userId: string | null },
): Promise<number> {
  return await inTransaction(db, async (tx) => {
    const ended = userId === null ? await endAllSessions(tx) : await endSessions(tx, userId)
    await writeAudit(tx, {
      actor,
      action: 'user.sign_out',
      accountId: null,
      before: { user_id: userId, sessions: ended },
      after: { user_id: userId, sessions: 0 },
    })
    return ended
  })
}
