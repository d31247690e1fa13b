import { emailKeyOf } from '@plumbline/people/email-key'
import { Problem } from '@plumbline/contract/problem'
import { isAccountless } from '@plumbline/db/people/members'
import { endSession } from '@plumbline/db/people/sessions'
import { findUser } from '@plumbline/db/people/users'
import { sendVerificationLink, verify } from '@plumbline/people/address'
import { tooManyTries } from '@plumbline/people/attempts'
import { lookAtInvitation } from '@plumbline/people/membership'
import { beginReset, confirmReset } from '@plumbline/people/reset'
import type { BegunSession } from '@plumbline/people/session'
import { signIn } from '@plumbline/people/sign-in'
import { resendSignUp, signUp } from '@plumbline/people/sign-up'
import { welcome } from '@plumbline/people/welcome'
import { refuseOpenHttp, sessionSecretOf } from '../browser.ts'
import type { Context } from '../context.ts'
import type { AppCall, AppHandlers } from './call.ts'
import { evenly, refuseEvenly } from './even-time.ts'
import { refuseManyMessages } from './message-limit.ts'
import { viewOf } from './session-view.ts'

/** Handlers for signing up, in and out. */
export const ENTRY_HANDLERS = {
  // The cookie of a session that was ended elsewhere stays: it may have been replaced while the
  // request was under way, and to remove it would remove the new one.
  readSession: async (app, { req }) =>
    await viewOf(app, sessionSecretOf(req, app.ctx.access.publicUrl)),

  signUp: async ({ ctx, people }, call) => {
    const { req, visitor, body } = call
    refuseOpenHttp(req, ctx.access.publicUrl)
    return await evenly(async () => {
      await refuseManyMessages(people, visitor, body.email)
      const begun = await signUp(people, visitor, body)
      if (begun === undefined) return { outcome: 'check_mail' as const }
      await replaceSession(ctx, call, begun)
      return { outcome: 'signed_in' as const }
    })
  },

  signIn: async ({ ctx, people }, call) => {
    const { req, visitor, body } = call
    refuseOpenHttp(req, ctx.access.publicUrl)
    const met = await refuseEvenly(() => signIn(people, visitor, body))
    if (met.outcome === 'code_needed') return { outcome: 'code_needed' }
    await replaceSession(ctx, call, met.session)
    return { outcome: 'signed_in' }
  },

  signOut: async ({ ctx }, { session, clearSession, res }) => {
    if (session !== undefined) await endSession(ctx.db, session.userId, session.sessionId)
    clearSession()
    // ASVS 5.0, 14.3.1: what the pages kept goes with the session.
    res.setHeader('Clear-Site-Data', '"cache", "storage"')
    return undefined
  },

  welcome: async ({ ctx, people }, call) => {
    const { req, visitor, body } = call
    refuseOpenHttp(req, ctx.access.publicUrl)
    if (!(await people.tries.network(`welcome ${visitor.network}`))) throw tooManyTries()
    await replaceSession(ctx, call, await welcome(people, visitor, body))
    return { outcome: 'signed_in' }
  },

  verify: async ({ ctx, people }, call) => {
    const { req, visitor, body } = call
    refuseOpenHttp(req, ctx.access.publicUrl)
    if (!(await people.tries.network(`verify ${visitor.network}`))) throw tooManyTries()
    const met = await verify(people, visitor, body)
    if (met.outcome !== 'signed_in') return { outcome: met.outcome }
    await replaceSession(ctx, call, met.session)
    return { outcome: met.outcome }
  },

  resendVerification: async ({ ctx, people }, { visitor, body }) =>
    await evenly(async () => {
      await refuseManyMessages(people, visitor, body.email)
      const user = await findUser(ctx.db, emailKeyOf(body.email))
      if (people.settings.hasMail) {
        const mayHaveSignedUp = user === undefined || (await isAccountless(ctx.db, user.id))
        if (mayHaveSignedUp) await resendSignUp(people, visitor, body.email)
        else if (!user.isVerified) await sendVerificationLink(people, visitor, user)
        people.wakeMail()
      }
      return { outcome: 'check_mail' as const }
    }),

  beginReset: async ({ people }, { visitor, body }) => {
    if (!people.settings.hasMail) {
      throw new Problem(
        'forbidden',
        'This service sends no mail; the operator makes a new link by "user link" of the command line.',
      )
    }
    return await evenly(async () => {
      await refuseManyMessages(people, visitor, body.email)
      await beginReset(people, visitor, body.email)
      people.wakeMail()
      return { outcome: 'check_mail' as const }
    })
  },

  confirmReset: async ({ people }, { visitor, body, clearSession }) => {
    if (!(await people.tries.network(`reset ${visitor.network}`))) throw tooManyTries()
    await confirmReset(people, visitor, body)
    clearSession()
    return { outcome: 'password_changed' }
  },

  lookAtInvitation: async ({ people }, { visitor, body }) => {
    if (!(await people.tries.network(`invitation ${visitor.network}`))) throw tooManyTries()
    return await lookAtInvitation(people, body.token)
  },
} satisfies Partial<AppHandlers>

/** Gives the browser a new session; it has one, so the one before must not live on unseen. */
async function replaceSession(
  { db }: Context,
  { session, setSession }: Pick<AppCall<unknown>, 'session' | 'setSession'>,
  begun: BegunSession,
): Promise<void> {
  if (session !== undefined) await endSession(db, session.userId, session.sessionId)
  setSession(begun.secret)
}
