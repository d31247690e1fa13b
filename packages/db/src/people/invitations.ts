import type { Role } from '@plumbline/contract/app/roles'
import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'
import { newId } from '../ids.ts'

/** An open invitation. */
export interface Invitation {
  readonly id: string
  readonly accountId: string
  readonly accountName: string
  readonly email: string
  readonly emailKey: string
  readonly role: Role
  readonly expiresAt: Date
}

/** Days that an invitation is valid. */
const INVITATION_DAYS = 7

/** Maximum number of open invitations of an account. */
export const INVITATIONS_MAX = 50

/** Creates an invitation; it replaces an earlier one to the same address, with its link. */
export async function insertInvitation(
  tx: Tx,
  wanted: {
    readonly accountId: string
    readonly email: string
    readonly emailKey: string
    readonly role: Role
    readonly digest: Buffer
    readonly invitedBy: string
  },
): Promise<{ readonly id: string; readonly expiresAt: Date }> {
  const expires = sql<Date>`now() + ${INVITATION_DAYS} * interval '1 day'`
  const fields = {
    email: wanted.email,
    role: wanted.role,
    digest: wanted.digest,
    invited_by: wanted.invitedBy,
    expires_at: expires,
  }
  return await tx
    .insertInto('invitations')
    .values({
      id: newId('inv'),
      account_id: wanted.accountId,
      email_key: wanted.emailKey,
      ...fields,
    })
    .onConflict((conflict) => conflict.columns(['account_id', 'email_key']).doUpdateSet(fields))
    .returning(['id', 'expires_at as expiresAt'])
    .executeTakeFirstOrThrow()
}

/** The open invitations of an account, the newest first. */
export async function listInvitations(
  db: Db | Tx,
  accountId: string,
): Promise<readonly Invitation[]> {
  return await open(db)
    .where('invitations.account_id', '=', accountId)
    .orderBy('invitations.created_at', 'desc')
    .limit(INVITATIONS_MAX)
    .execute()
}

/** The invitation of a link's secret; undefined if the secret is unknown, used or expired. */
export async function findInvitation(db: Db | Tx, digest: Buffer): Promise<Invitation | undefined> {
  return await open(db).where('invitations.digest', '=', digest).executeTakeFirst()
}

/**
 * Uses up the invitation of a link's secret; false if it is used or expired, or has been replaced,
 * perhaps with another role. Of several concurrent callers one gets it.
 */
export async function useInvitation(tx: Tx, digest: Buffer): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('invitations')
    .where('digest', '=', digest)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Removes an invitation of an account; false if there is none. */
export async function removeInvitation(
  tx: Db | Tx,
  accountId: string,
  id: string,
): Promise<boolean> {
  const { numDeletedRows } = await queriesOf(tx)
    .deleteFrom('invitations')
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

function open(db: Db | Tx) {
  return queriesOf(db)
    .selectFrom('invitations')
    .innerJoin('accounts', 'accounts.id', 'invitations.account_id')
    .select(({ fn }) => [
      'invitations.id',
      'invitations.account_id as accountId',
      fn.coalesce('accounts.name', 'accounts.email').as('accountName'),
      'invitations.email',
      'invitations.email_key as emailKey',
      'invitations.role',
      'invitations.expires_at as expiresAt',
    ])
    .where('invitations.expires_at', '>', sql<Date>`now()`)
}
