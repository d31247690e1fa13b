import { listInvitations } from '@plumbline/db/people/invitations'
import { listMembers } from '@plumbline/db/people/members'
import { getUser } from '@plumbline/db/people/users'
import {
  changeRole,
  transferOwnership,
  invite,
  removeFromAccount,
  withdrawInvitation,
  type Actor,
} from '@plumbline/people/membership'
import { refuseSuspended } from '../access.ts'
import { accountNameOf } from '../account-mail.ts'
import { refuseReader } from '../session-access.ts'
import { shownAccount, requireSession, type AppHandlers } from './call.ts'

/** Handlers for the members of the shown account. */
export const MEMBER_HANDLERS = {
  listMembers: async ({ ctx }, call) => {
    const { accountId } = shownAccount(call)
    const { userId: self } = requireSession(call)
    const [members, invitations] = await Promise.all([
      listMembers(ctx.db, accountId),
      listInvitations(ctx.db, accountId),
    ])
    return {
      data: members.map(({ userId, name, email, role, hasFactor, since }) => ({
        id: userId,
        name,
        email,
        role,
        second_factor: hasFactor,
        since: since.toISOString(),
        self: userId === self,
      })),
      invitations: invitations.map(({ id, email, role, expiresAt }) => ({
        id,
        email,
        role,
        expires_at: expiresAt.toISOString(),
      })),
    }
  },

  changeMember: async ({ people }, call) => {
    await changeRole(people, actorOf(call), call.param('id'), call.body.role)
    return undefined
  },

  removeMember: async ({ people }, call) => {
    const id = call.param('id')
    // Anyone may leave, but others are removed only by users who may change the account.
    if (id !== requireSession(call).userId) {
      refuseReader(requireSession(call))
      refuseSuspended(shownAccount(call))
    }
    await removeFromAccount(people, actorOf(call), id)
    return undefined
  },

  invite: async ({ ctx, people }, call) => {
    const { accountId, userId } = actorOf(call)
    const [inviter, accountName] = await Promise.all([
      getUser(ctx.db, userId),
      accountNameOf(ctx.db, accountId),
    ])
    const { email, role } = call.body
    const made = await invite(people, call.visitor, actorOf(call), {
      email,
      role,
      accountName,
      inviterName: inviter.name,
    })
    return { id: made.id, email, role, expires_at: made.expiresAt.toISOString(), link: made.link }
  },

  withdrawInvitation: async ({ people }, call) => {
    await withdrawInvitation(people, actorOf(call), call.param('id'))
    return undefined
  },

  handOverAccount: async ({ people }, call) => {
    await transferOwnership(people, actorOf(call), call.body.member_id)
    return undefined
  },
} satisfies Partial<AppHandlers>

function actorOf(call: Parameters<typeof requireSession>[0]): Actor {
  return { accountId: shownAccount(call).accountId, userId: requireSession(call).userId }
}
