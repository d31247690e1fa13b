import type { AccountState } from '@plumbline/contract/plans'
import { sql } from 'kysely'
import type { Tx } from './database.ts'

/**
 * Moves an account to another state, from one that allows it: a closed one stays closed.
 *
 * @returns the state before; undefined if there is no such account, or it is closed
 */
export async function setAccountState(
  tx: Tx,
  accountId: string,
  { status, reason }: { readonly status: AccountState; readonly reason: string | null },
): Promise<{ readonly status: AccountState; readonly reason: string | null } | undefined> {
  const before = await tx
    .selectFrom('accounts')
    .select(['status', 'status_reason as reason'])
    .where('id', '=', accountId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (before === undefined || before.status === 'closed') return undefined
  await tx
    .updateTable('accounts')
    .set({ status, status_reason: reason, status_at: sql<Date>`now()` })
    .where('id', '=', accountId)
    .execute()
  return before
}

/**
 * Revokes every credential of an account: its keys, the sessions that show it, invitations and
 * links. Users who belong to no other account are deleted with it; operators are not.
 */
export async function revokeAccess(tx: Tx, accountId: string): Promise<void> {
  const id = sql`${accountId}`
  // First, as where a user is changed, and by a statement of its own: a membership elsewhere that is
  // being added must be seen below.
  await sql`select from users where id in (select user_id from members where account_id = ${id})
    order by id for update`.execute(tx)
  await sql`update api_keys set revoked_at = now() where account_id = ${id} and revoked_at is null`.execute(
    tx,
  )
  await sql`delete from sessions where account_id = ${id}`.execute(tx)
  await sql`delete from invitations where account_id = ${id}`.execute(tx)
  await sql`delete from link_codes where account_id = ${id}`.execute(tx)
  await sql`delete from users u using members m
    where m.account_id = ${id} and m.user_id = u.id and not u.is_operator
      and not exists (select from members o where o.user_id = u.id and o.account_id <> ${id})`.execute(
    tx,
  )
  await sql`delete from members where account_id = ${id}`.execute(tx)
}
