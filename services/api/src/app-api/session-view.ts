import type { SessionView } from '@plumbline/contract/app/session'
import { readPreferences } from '@plumbline/db/accounts'
import { requirePlan } from '@plumbline/db/offers'
import { membershipsOf } from '@plumbline/db/people/members'
import { SESSION_IDLE_DAYS, type UserSession } from '@plumbline/db/people/sessions'
import { findSession } from '@plumbline/db/people/sessions'
import { getUser } from '@plumbline/db/people/users'
import { digestOfSecret } from '@plumbline/people/secret'
import { PROVEN_MINUTES } from '@plumbline/people/session'
import type { AppContext } from './call.ts'

const DAY_MS = 86_400_000

/** The user of a session secret, read from the database, so that recent changes are included. */
export async function viewOf(app: AppContext, secret: string | undefined): Promise<SessionView> {
  const session =
    secret === undefined ? undefined : await findSession(app.ctx.db, digestOfSecret(secret))
  return session === undefined ? await ofStranger(app) : await ofUser(app, session)
}

/** Of nobody, with what the sign-up page tells. */
async function ofStranger(app: AppContext): Promise<SessionView> {
  const view = ofNobody(app)
  if (view.service.sign_up === 'off') return view
  const { monthly_credits: credits } = await requirePlan(app.ctx.db, 'free')
  return { ...view, service: { ...view.service, free_credits: credits } }
}

function ofNobody({ ctx, people }: AppContext): SessionView {
  const { signUp, hasMail } = people.settings
  return {
    user: null,
    account: null,
    accounts: [],
    session: null,
    service: {
      sign_up: signUp,
      has_mail: hasMail,
      contact_url: ctx.settings.CONTACT_URL ?? null,
      free_credits: null,
      key_prefix: ctx.settings.KEY_PREFIX,
    },
  }
}

async function ofUser(app: AppContext, session: UserSession): Promise<SessionView> {
  const { db } = app.ctx
  const { membership } = session
  const [user, memberships, preferences] = await Promise.all([
    getUser(db, session.userId),
    membershipsOf(db, session.userId),
    membership === null ? undefined : readPreferences(db, membership.accountId),
  ])
  const proven =
    session.provenAt?.getTime() ?? session.createdAt.getTime() - PROVEN_MINUTES * 60_000
  return {
    ...ofNobody(app),
    user: {
      id: user.id,
      name: user.name,
      email: user.email,
      verified: user.isVerified,
      second_factor: session.hasFactor,
    },
    account:
      membership === null || preferences === undefined
        ? null
        : {
            id: membership.accountId,
            name: preferences.name ?? preferences.email,
            role: membership.role,
            plan: membership.plan,
            time_zone: preferences.timeZone,
            requires_second_factor: preferences.requiresFactor,
          },
    accounts: memberships.map(({ accountId, accountName, role }) => ({
      id: accountId,
      name: accountName,
      role,
    })),
    session: {
      id: session.sessionId,
      created_at: session.createdAt.toISOString(),
      idle_until: new Date(
        Math.min(session.usedAt.getTime() + SESSION_IDLE_DAYS * DAY_MS, session.endsAt.getTime()),
      ).toISOString(),
      ends_at: session.endsAt.toISOString(),
      proven_until: session.hasFactor
        ? new Date(proven + PROVEN_MINUTES * 60_000).toISOString()
        : null,
    },
  }
}
