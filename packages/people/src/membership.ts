import type { InvitationView } from '@plumbline/contract/app/members'
import { isAtLeast, type Role } from '@plumbline/contract/app/roles'
import { Problem } from '@plumbline/contract/problem'
import { lockAccount } from '@plumbline/db/accounts'
import { writeAudit, type AuditAction } from '@plumbline/db/audit-log'
import { inTransaction, type Tx } from '@plumbline/db/database'
import { withdrawMail } from '@plumbline/db/mails'
import {
  findInvitation,
  insertInvitation,
  INVITATIONS_MAX,
  listInvitations,
  removeInvitation,
  useInvitation,
} from '@plumbline/db/people/invitations'
import {
  addMember,
  countOwners,
  listMembers,
  MEMBERS_MAX,
  removeMember,
  roleOf,
  setRole,
} from '@plumbline/db/people/members'
import { findUser, type User } from '@plumbline/db/people/users'
import { emailKeyOf } from './email-key.ts'
import { linkTo, staleLink } from './link.ts'
import { queueMessage, type People, type TakenOfDay, type Visitor } from './people.ts'
import { digestOfSecret, newSecret } from './secret.ts'

/** Prefix of the budgets that count the invitations of accounts. */
export const INVITATION_BUDGETS = 'invitations:'

/** An account, and the user who acts in it. */
export interface Actor {
  readonly accountId: string
  readonly userId: string
}

/** An invitation as its author sees it. */
export interface MadeInvitation {
  readonly id: string
  readonly expiresAt: Date
  /** Link to pass on; null if it was sent by mail. */
  readonly link: string | null
}

/**
 * Invites an address to an account. One that is refused does not count for the day.
 *
 * @throws Problem if the user is a member, or the account has reached a limit
 */
export async function invite(
  people: People,
  visitor: Visitor,
  actor: Actor,
  wanted: {
    readonly email: string
    readonly role: Role
    readonly accountName: string
    readonly inviterName: string
  },
): Promise<MadeInvitation> {
  const { hasMail } = people.settings
  // Without mail a link is passed on by hand, and nobody is written to.
  const taken = hasMail ? await takeInvitation(people, actor.accountId) : undefined
  try {
    if (hasMail && !(await people.messages.address(emailKeyOf(wanted.email)))) {
      throw tooManyMessages()
    }
    const made = await makeInvitation(people, visitor, actor, wanted)
    people.wakeMail()
    return { ...made, link: hasMail ? null : made.link }
  } catch (error) {
    await taken?.giveBack()
    throw error
  }
}

async function makeInvitation(
  people: People,
  visitor: Visitor,
  actor: Actor,
  { email, role, accountName, inviterName }: Parameters<typeof invite>[3],
): Promise<MadeInvitation & { readonly link: string }> {
  const { secret, digest } = newSecret()
  const emailKey = emailKeyOf(email)
  const link = linkTo(people, visitor, 'invitation', secret)
  const made = await inTransaction(people.db, async (tx) => {
    await lockAccount(tx, actor.accountId)
    await requireRole(tx, actor, 'owner')
    await refuseFull(tx, actor.accountId, emailKey)
    const known = await findUser(tx, emailKey)
    if (known !== undefined && (await roleOf(tx, actor.accountId, known.id)) !== undefined) {
      throw new Problem('conflict', 'This user is a member already; change the role instead.')
    }
    const { accountId, userId: invitedBy } = actor
    const row = await insertInvitation(tx, { accountId, email, emailKey, role, digest, invitedBy })
    await note(tx, actor, 'member.invite', null, { invitation_id: row.id, role })
    await queueMessage(
      people,
      tx,
      { kind: 'invitation', to: email, accountName, inviterName, link },
      { withdrawKey: mailKeyOf(row.id) },
    )
    return row
  })
  return { ...made, link }
}

/**
 * The invitation of a link, as shown before it is accepted.
 *
 * @throws Problem if the link is invalid
 */
export async function lookAtInvitation(
  { db }: Pick<People, 'db'>,
  token: string,
): Promise<InvitationView> {
  const invitation = await findInvitation(db, digestOfSecret(token))
  if (invitation === undefined) throw staleLink()
  const { accountName, email, role, emailKey } = invitation
  const user = await findUser(db, emailKey)
  return { account_name: accountName, email, role, has_user: user !== undefined }
}

/**
 * Withdraws an invitation, with its message if that has not been sent.
 *
 * @throws Problem `not_found` if the account has none with this id
 */
export async function withdrawInvitation(people: People, actor: Actor, id: string): Promise<void> {
  await inTransaction(people.db, async (tx) => {
    if (!(await removeInvitation(tx, actor.accountId, id))) throw noSuch('invitation')
    await withdrawMail(tx, mailKeyOf(id))
    await note(tx, actor, 'member.invite', { invitation_id: id }, null)
  })
}

/**
 * Makes the signed-in user a member by an invitation to their address.
 *
 * @returns the account
 * @throws Problem if the link is invalid, or for another address
 */
export async function acceptInvitation(people: People, user: User, token: string): Promise<string> {
  const digest = digestOfSecret(token)
  return await inTransaction(people.db, async (tx) => {
    const invitation = await findInvitation(tx, digest)
    if (invitation === undefined) throw staleLink()
    const { accountId, role, emailKey } = invitation
    if (emailKey !== user.emailKey) {
      throw new Problem(
        'forbidden',
        'The invitation is for another address; sign in with that one.',
      )
    }
    await useUpInvitation(tx, accountId, digest)
    await join(tx, { accountId, userId: user.id }, role)
    return accountId
  })
}

/**
 * Uses up an invitation for a member who joins in the same transaction. It holds the account's lock:
 * who counts members and invitations meanwhile must meet one of the two.
 *
 * @throws Problem if it is used, expired or replaced
 */
export async function useUpInvitation(tx: Tx, accountId: string, digest: Buffer): Promise<void> {
  await lockAccount(tx, accountId)
  if (!(await useInvitation(tx, digest))) throw staleLink()
}

/** Makes a user a member of an account, unless the user is one. */
export async function join(tx: Tx, member: Actor, role: Role): Promise<void> {
  if (!(await addMember(tx, { ...member, role }))) return
  await note(tx, member, 'member.add', null, { user_id: member.userId, role })
}

/**
 * Changes the role of a member.
 *
 * @throws Problem if the account would have no owner, or there is no such member
 */
export async function changeRole(
  people: People,
  actor: Actor,
  userId: string,
  role: Role,
): Promise<void> {
  await inTransaction(people.db, async (tx) => {
    const before = await lockedRole(tx, actor, userId, 'owner')
    if (before === role) return
    if (before === 'owner') await refuseLastOwner(tx, actor.accountId)
    await setRole(tx, { accountId: actor.accountId, userId, role })
    await note(
      tx,
      actor,
      'member.role',
      { user_id: userId, role: before },
      { user_id: userId, role },
    )
  })
}

/**
 * Removes a member from an account: owners may remove anyone, others themselves.
 *
 * @throws Problem if the account would have no owner, or there is no such member
 */
export async function removeFromAccount(
  people: People,
  actor: Actor,
  userId: string,
): Promise<void> {
  await inTransaction(people.db, async (tx) => {
    const needed = userId === actor.userId ? 'viewer' : 'owner'
    const role = await lockedRole(tx, actor, userId, needed)
    if (role === 'owner') await refuseLastOwner(tx, actor.accountId)
    await removeMember(tx, actor.accountId, userId)
    await note(tx, actor, 'member.remove', { user_id: userId, role }, null)
  })
}

/** Makes another member the owner, and the acting owner a member, in one step. */
export async function transferOwnership(
  people: People,
  actor: Actor,
  userId: string,
): Promise<void> {
  await inTransaction(people.db, async (tx) => {
    const before = await lockedRole(tx, actor, userId, 'owner')
    if (userId === actor.userId) {
      throw new Problem('unprocessable', 'The account is yours already; name another member.')
    }
    const { accountId } = actor
    await setRole(tx, { accountId, userId, role: 'owner' })
    await setRole(tx, { accountId, userId: actor.userId, role: 'member' })
    await note(
      tx,
      actor,
      'account.hand_over',
      { owner_id: actor.userId, user_id: userId, role: before },
      { owner_id: userId },
    )
  })
}

/**
 * The role of a member, read under the account's lock after checking that the acting user still has
 * the required role.
 */
async function lockedRole(tx: Tx, actor: Actor, userId: string, needed: Role): Promise<Role> {
  await lockAccount(tx, actor.accountId)
  await requireRole(tx, actor, needed)
  const role = await roleOf(tx, actor.accountId, userId)
  if (role === undefined) throw noSuch('member')
  return role
}

/**
 * Refuses an acting user who does not have the required role any more. The caller holds the
 * account's lock, which changes of its members take too.
 *
 * @throws Problem `forbidden`
 */
export async function requireRole(tx: Tx, actor: Actor, needed: Role): Promise<void> {
  const own = await roleOf(tx, actor.accountId, actor.userId)
  if (own !== undefined && isAtLeast(own, needed)) return
  throw new Problem(
    'forbidden',
    needed === 'owner'
      ? 'Only an owner of the account may do this; ask one.'
      : 'You have no right to do this in the account any more; ask one of its owners.',
  )
}

async function refuseLastOwner(tx: Tx, accountId: string): Promise<void> {
  if ((await countOwners(tx, accountId)) > 1) return
  throw new Problem(
    'conflict',
    'The account would be without an owner; hand it over first, or delete it.',
  )
}

/** Refuses one more open invitation; the one to the same address, if any, is replaced by it. */
async function refuseFull(tx: Tx, accountId: string, emailKey: string): Promise<void> {
  const members = await listMembers(tx, accountId)
  const invitations = await listInvitations(tx, accountId)
  const open = invitations.filter((invitation) => invitation.emailKey !== emailKey).length
  // If all are accepted, none of the members may be beyond those that are listed.
  if (members.length + open < MEMBERS_MAX && open < INVITATIONS_MAX) return
  throw new Problem(
    'conflict',
    `An account has at most ${MEMBERS_MAX} members, invited ones included, and ${INVITATIONS_MAX} open invitations; ` +
      'withdraw some first.',
  )
}

async function note(
  tx: Tx,
  actor: Actor,
  action: AuditAction,
  before: Record<string, string> | null,
  after: Record<string, string> | null,
): Promise<void> {
  await writeAudit(tx, { actor: actor.userId, action, accountId: actor.accountId, before, after })
}

/** Names the message of an invitation while it waits to be sent. */
function mailKeyOf(invitationId: string): string {
  return `invitation ${invitationId}`
}

async function takeInvitation(
  { takeOfDay, settings: { invitationsPerDay: most } }: People,
  accountId: string,
): Promise<TakenOfDay> {
  const taken = await takeOfDay(`${INVITATION_BUDGETS}${accountId}`, most)
  if (taken !== undefined) return taken
  throw new Problem(
    'too_many_requests',
    `An account may send ${most} invitations a day; try again tomorrow.`,
    { retryAfterSeconds: 3_600 },
  )
}

function noSuch(what: string): Problem {
  return new Problem('not_found', `The account has no such ${what}; load the list again.`)
}

function tooManyMessages(): Problem {
  return new Problem(
    'too_many_requests',
    'This address got many messages in the last hour; try again later.',
    { retryAfterSeconds: 900 },
  )
}
