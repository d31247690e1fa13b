import { sql } from 'kysely'
import { inTransaction, type Db } from '../database.ts'
import { removeAccountless } from './members.ts'

/** Days after which a user who was removed from the last account is deleted. */
const ACCOUNTLESS_DAYS = 30

/** Maximum number of users that one statement finds. */
const MAX_USERS = 1_000

/**
 * Deletes users who have belonged to no account for `ACCOUNTLESS_DAYS`, with sessions and links; the
 * signal stops it between two. Operators stay, whoever has an open invitation, and whoever made an
 * account that is open and was handed over: a mailbox makes one account. Reads the audit log, so it
 * is run rarely.
 */
export async function sweepAccountless(db: Db, signal: AbortSignal): Promise<void> {
  for (let isMore = true; isMore;) {
    const ids = await listDepartedUsers(db)
    for (const id of ids) {
      if (signal.aborted) return
      await inTransaction(db, (tx) => removeAccountless(tx, id))
    }
    isMore = ids.length === MAX_USERS
  }
}

/** When a user was removed is only in the audit log. */
async function listDepartedUsers(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select u.id from users u
    where not u.is_operator
      and u.created_at < now() - make_interval(days => ${ACCOUNTLESS_DAYS})
      and not exists (select from members m where m.user_id = u.id)
      and not exists (
        select from invitations i where i.email_key = u.email_key and i.expires_at > now())
      and not exists (
        select from audit_log l
        where l.action = 'member.remove' and l.before ->> 'user_id' = u.id
          and l.acted_at > now() - make_interval(days => ${ACCOUNTLESS_DAYS}))
      and not exists (
        select from audit_log l join accounts a on a.id = l.account_id
        where l.action = 'account.create' and l.actor = u.id and a.status <> 'closed')
    limit ${MAX_USERS}`.execute(db.kysely)
  return rows.map(({ id }) => id)
}
