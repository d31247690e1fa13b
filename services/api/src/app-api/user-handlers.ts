import { Problem } from '@plumbline/contract/problem'
import { inTransaction } from '@plumbline/db/database'
import { roleOf } from '@plumbline/db/people/members'
import { endSession, endSessions, listSessions, renewSession } from '@plumbline/db/people/sessions'
import {
  beginFactor,
  confirmFactor,
  getUser,
  lockUser,
  removeFactor,
  renameUser,
  useStep,
} from '@plumbline/db/people/users'
import { changeEmail } from '@plumbline/people/address'
import { tooManyTries } from '@plumbline/people/attempts'
import { refuseCommonPassword } from '@plumbline/people/common-passwords'
import { factorName, isFactor, wrongCode } from '@plumbline/people/factor-check'
import { linkTo } from '@plumbline/people/link'
import { acceptInvitation } from '@plumbline/people/membership'
import { queueMessage } from '@plumbline/people/people'
import { changePassword } from '@plumbline/people/reset'
import { newFactor, newRecoveryCodes, stepOf } from '@plumbline/people/second-factor'
import { newSecret } from '@plumbline/people/secret'
import { lockAsChecked, requirePassword, wrongPassword } from '@plumbline/people/sign-in'
import { sessionSecretOf } from '../browser.ts'
import { requireSession, type AppContext, type AppHandlers } from './call.ts'
import { evenly } from './even-time.ts'
import { refuseManyMessages } from './message-limit.ts'
import { viewOf } from './session-view.ts'

/** Handlers for a user's own data, whatever account is shown. */
export const USER_HANDLERS = {
  changeUser: async (app, call) => {
    const { ctx } = app
    await renameUser(ctx.db, requireSession(call).userId, call.body.name)
    return await viewOf(app, sessionSecretOf(call.req, ctx.access.publicUrl))
  },

  changePassword: async ({ people }, call) => {
    const { userId, sessionId } = requireSession(call)
    const { current_password: current, password } = call.body
    const user = await getUser(people.db, userId)
    await requirePassword(people, user, current)
    await refuseCommonPassword(password, [user.name, user.email])
    const passwordDigest = await people.passwords.hash(password)
    const secret = await inTransaction(people.db, async (tx) => {
      if (!(await lockAsChecked(tx, user))) throw wrongPassword()
      await changePassword(people, tx, call.visitor, user, passwordDigest, sessionId)
      const renewed = newSecret()
      await renewSession(tx, sessionId, { digest: renewed.digest })
      return renewed.secret
    })
    people.wakeMail()
    call.setSession(secret)
    return undefined
  },

  changeEmail: async ({ people }, call) => {
    const { userId, sessionId } = requireSession(call)
    const { email, password } = call.body
    const user = await getUser(people.db, userId)
    await requirePassword(people, user, password)
    return await evenly(async () => {
      if (people.settings.hasMail) await refuseManyMessages(people, call.visitor, email)
      const isDone = await changeEmail(people, call.visitor, user, { email, sessionId })
      return { outcome: isDone ? 'email_changed' : 'check_mail' }
    })
  },

  listSessions: async ({ ctx }, call) => {
    const { userId, sessionId } = requireSession(call)
    const entries = await listSessions(ctx.db, userId)
    return {
      data: entries.map(({ id, createdAt, usedAt, network, browser }) => ({
        id,
        current: id === sessionId,
        created_at: createdAt.toISOString(),
        used_at: usedAt.toISOString(),
        network,
        browser,
      })),
    }
  },

  endSession: async ({ ctx }, call) => {
    const { userId, sessionId } = requireSession(call)
    const id = call.param('id')
    if (!(await endSession(ctx.db, userId, id))) {
      throw new Problem('not_found', 'You have no such session; load the list again.')
    }
    if (id === sessionId) call.clearSession()
    return undefined
  },

  signOutEverywhere: async ({ ctx }, call) => {
    await endSessions(ctx.db, requireSession(call).userId)
    call.clearSession()
    return undefined
  },

  beginSecondFactor: async ({ people, ctx }, call) => {
    const { userId } = requireSession(call)
    const user = await getUser(people.db, userId)
    await requirePassword(people, user, call.body.password)
    const { hostname } = new URL(ctx.access.publicUrl ?? call.visitor.origin)
    const { secret, uri } = newFactor(user.email, `Plumbline ${hostname}`)
    const sealed = people.sealer.encrypt(secret, factorName(userId))
    if (!(await inTransaction(people.db, (tx) => beginFactor(tx, userId, sealed)))) {
      throw new Problem('conflict', 'A second factor is set already; remove it first.')
    }
    return { secret, uri }
  },

  confirmSecondFactor: async ({ people }, call) => {
    const { userId, sessionId } = requireSession(call)
    if (!(await people.tries.user(`factor ${userId}`))) throw tooManyTries()
    const codes = newRecoveryCodes()
    const renewed = newSecret()
    await inTransaction(people.db, async (tx) => {
      const user = await lockUser(tx, userId)
      const secret = people.sealer.decrypt(user.factorBegun ?? '', factorName(userId))
      if (secret === undefined) {
        throw new Problem('conflict', 'No second factor was begun; begin again.')
      }
      const step = stepOf(secret, call.body.code, Date.now())
      if (step === undefined || !(await useStep(tx, userId, step))) throw wrongCode()
      await confirmFactor(
        tx,
        userId,
        codes.map(({ digest }) => digest),
      )
      await endSessions(tx, userId, sessionId)
      await renewSession(tx, sessionId, { digest: renewed.digest, proven: true })
    })
    call.setSession(renewed.secret)
    return { recovery_codes: codes.map(({ code }) => code) }
  },

  disableSecondFactor: async ({ people }, call) => {
    const { userId, sessionId } = requireSession(call)
    const user = await getUser(people.db, userId)
    await requirePassword(people, user, call.body.password)
    if (user.factor === null) throw new Problem('conflict', 'No second factor is set.')
    if (!(await isFactor(people, call.visitor, user, call.body.code))) throw wrongCode()
    const renewed = newSecret()
    await inTransaction(people.db, async (tx) => {
      await removeFactor(tx, userId)
      await endSessions(tx, userId, sessionId)
      await renewSession(tx, sessionId, { digest: renewed.digest })
      const link = linkTo(people, call.visitor, 'settings')
      await queueMessage(people, tx, {
        kind: 'second_factor_off',
        to: user.email,
        name: user.name,
        link,
      })
    })
    people.wakeMail()
    call.setSession(renewed.secret)
    return undefined
  },

  stepUp: async ({ people }, call) => {
    const { userId, sessionId } = requireSession(call)
    const user = await getUser(people.db, userId)
    if (user.factor === null) {
      throw new Problem('conflict', 'No second factor is set; there is nothing to show.')
    }
    if (!(await isFactor(people, call.visitor, user, call.body.code))) throw wrongCode()
    const renewed = newSecret()
    await renewSession(people.db, sessionId, { digest: renewed.digest, proven: true })
    call.setSession(renewed.secret)
    return undefined
  },

  acceptInvitation: async (app, call) => {
    const user = await getUser(app.people.db, requireSession(call).userId)
    const accountId = await acceptInvitation(app.people, user, call.body.token)
    return await show(app, call, accountId)
  },

  switchAccount: async (app, call) => {
    const { account_id: accountId } = call.body
    const role = await roleOf(app.people.db, accountId, requireSession(call).userId)
    if (role === undefined) {
      throw new Problem('not_found', 'You belong to no such account; load the page again.')
    }
    return await show(app, call, accountId)
  },
} satisfies Partial<AppHandlers>

/** Switches to another account, with a new session secret, since the privileges change. */
async function show(
  app: AppContext,
  call: Parameters<typeof requireSession>[0] & { setSession(secret: string): void },
  accountId: string,
): ReturnType<typeof viewOf> {
  const { secret, digest } = newSecret()
  await renewSession(app.people.db, requireSession(call).sessionId, { digest, accountId })
  call.setSession(secret)
  return await viewOf(app, secret)
}
