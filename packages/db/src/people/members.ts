import type { Role } from '@plumbline/contract/app/roles'
import { sql } from 'kysely'
import { queriesOf, type Db, type Tx } from '../database.ts'

/** An account that a user belongs to, and the role there. */
export interface Membership {
  readonly accountId: string
  /** Display name: the account's name, else its address. */
  readonly accountName: string
  readonly role: Role
}

/** A user who belongs to an account. */
export interface Member {
  readonly userId: string
  readonly name: string
  readonly email: string
  readonly role: Role
  readonly hasFactor: boolean
  readonly since: Date
}

/** Maximum number of members of an account. */
export const MEMBERS_MAX = 200

/** The accounts of a user, by name. */
export async function membershipsOf(db: Db | Tx, userId: string): Promise<readonly Membership[]> {
  const rows = await queriesOf(db)
    .selectFrom('members')
    .innerJoin('accounts', 'accounts.id', 'members.account_id')
    .select(['members.account_id as accountId', 'members.role'])
    .select(({ fn }) => fn.coalesce('accounts.name', 'accounts.email').as('accountName'))
    .where('members.user_id', '=', userId)
    .limit(1_000)
    .execute()
  return rows.toSorted((one, other) => one.accountName.localeCompare(other.accountName))
}

/** The members of an account, the longest membership first. */
export async function listMembers(db: Db | Tx, accountId: string): Promise<readonly Member[]> {
  return await queriesOf(db)
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.user_id')
    .select(['users.id as userId', 'users.name', 'users.email', 'members.role'])
    .select(sql<boolean>`users.totp_confirmed_at is not null`.as('hasFactor'))
    .select('members.created_at as since')
    .where('members.account_id', '=', accountId)
    .orderBy('members.created_at')
    .orderBy('users.id')
    .limit(MEMBERS_MAX)
    .execute()
}

/** Whether a user belongs to no account, and is no operator. */
export async function isAccountless(db: Db | Tx, userId: string): Promise<boolean> {
  const row = await queriesOf(db)
    .selectFrom('users')
    .select('id')
    .where('id', '=', userId)
    .where('is_operator', '=', false)
    .where((eb) =>
      eb.not(
        eb.exists(eb.selectFrom('members').select('account_id').where('user_id', '=', userId)),
      ),
    )
    .executeTakeFirst()
  return row !== undefined
}

/** Deletes a user who is accountless, with sessions and links. */
export async function removeAccountless(tx: Tx, userId: string): Promise<void> {
  // Locked before the accounts are looked up: a membership that is being added must be seen.
  await tx.selectFrom('users').select('id').where('id', '=', userId).forUpdate().execute()
  if (!(await isAccountless(tx, userId))) return
  await tx.deleteFrom('users').where('id', '=', userId).execute()
}

/** The role of a user in an account; undefined if the user is no member. */
export async function roleOf(
  db: Db | Tx,
  accountId: string,
  userId: string,
): Promise<Role | undefined> {
  const row = await queriesOf(db)
    .selectFrom('members')
    .select('role')
    .where('account_id', '=', accountId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row?.role
}

/** Adds a member; an existing member keeps the role. */
export async function addMember(
  tx: Tx,
  member: { readonly accountId: string; readonly userId: string; readonly role: Role },
): Promise<boolean> {
  const added = await tx
    .insertInto('members')
    .values({ account_id: member.accountId, user_id: member.userId, role: member.role })
    .onConflict((conflict) => conflict.columns(['account_id', 'user_id']).doNothing())
    .returning('user_id')
    .executeTakeFirst()
  return added !== undefined
}

/** Changes the role of a member. */
export async function setRole(
  tx: Tx,
  member: { readonly accountId: string; readonly userId: string; readonly role: Role },
): Promise<void> {
  await tx
    .updateTable('members')
    .set({ role: member.role })
    .where('account_id', '=', member.accountId)
    .where('user_id', '=', member.userId)
    .execute()
}

/** Removes a member from an account. */
export async function removeMember(tx: Tx, accountId: string, userId: string): Promise<void> {
  await tx
    .deleteFrom('members')
    .where('account_id', '=', accountId)
    .where('user_id', '=', userId)
    .execute()
}

/** How many owners an account has; callers that act on the number hold the account's lock. */
export async function countOwners(tx: Tx, accountId: string): Promise<number> {
  const { count } = await tx
    .selectFrom('members')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('account_id', '=', accountId)
    .where('role', '=', 'owner')
    .executeTakeFirstOrThrow()
  return count
}

/** The oldest account without any member, except closed ones; undefined if each has one. */
export async function firstUnownedAccount(db: Db | Tx): Promise<string | undefined> {
  const row = await queriesOf(db)
    .selectFrom('accounts')
    .select('id')
    .where('status', '<>', 'closed')
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('members')
            .select('members.user_id')
            .whereRef('members.account_id', '=', 'accounts.id'),
        ),
      ),
    )
    .orderBy('created_at')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return row?.id
}
