import type { Role } from './roles.ts'

/** Prefix of all paths of the web app's API. */
export const APP_API = '/app/api'

/**
 * Who may use a route: anybody, any signed-in user, or a member of the shown account with at least
 * a role. API keys are not accepted.
 */
export type AppAccess = 'anybody' | 'user' | Role

/** A route of the web app, for signed-in users only. */
export interface AppPath {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below `APP_API`; `:id` and the like stand for one segment. */
  readonly path: string
  readonly access: AppAccess
  /**
   * Whether a user with a second factor must have proven it within 15 minutes (`POST step-up`).
   */
  readonly proof?: true
}

/**
 * Response header of the refusal (403) that asks for `POST step-up` first; its value is `required`.
 */
export const STEP_UP_HEADER = 'X-Step-Up'

/**
 * Request header of a change by a page: the id of the account that the page shows. If the session
 * shows another by now, the change is refused (409).
 */
export const SHOWN_ACCOUNT_HEADER = 'X-Shown-Account'

/**
 * Request header of an act on a key by a page: the id of the active key that the page shows, or
 * `none`. If another is active by now, the act, which would end it, is refused (409).
 */
export const SHOWN_KEY_HEADER = 'X-Shown-Key'

/**
 * Every route of the web app by name, without its shapes, so that a browser can load the table
 * alone. Source: decision 42.
 */
export const APP_PATHS = {
  readSession: { method: 'GET', path: '/session', access: 'anybody' },
  signUp: { method: 'POST', path: '/sign-up', access: 'anybody' },
  signIn: { method: 'POST', path: '/sign-in', access: 'anybody' },
  signOut: { method: 'POST', path: '/sign-out', access: 'anybody' },
  welcome: { method: 'POST', path: '/welcome', access: 'anybody' },
  verify: { method: 'POST', path: '/verify', access: 'anybody' },
  resendVerification: { method: 'POST', path: '/verify/resend', access: 'anybody' },
  beginReset: { method: 'POST', path: '/reset', access: 'anybody' },
  confirmReset: { method: 'POST', path: '/reset/confirm', access: 'anybody' },
  lookAtInvitation: { method: 'POST', path: '/invitations/look', access: 'anybody' },
  changeUser: { method: 'PATCH', path: '/me', access: 'user' },
  changePassword: { method: 'POST', path: '/password', access: 'user', proof: true },
  changeEmail: { method: 'POST', path: '/email', access: 'user', proof: true },
  listSessions: { method: 'GET', path: '/sessions', access: 'user' },
  endSession: { method: 'DELETE', path: '/sessions/:id', access: 'user' },
  signOutEverywhere: { method: 'POST', path: '/sign-out-everywhere', access: 'user' },
  beginSecondFactor: { method: 'POST', path: '/second-factor/begin', access: 'user' },
  confirmSecondFactor: { method: 'POST', path: '/second-factor/confirm', access: 'user' },
  disableSecondFactor: { method: 'POST', path: '/second-factor/disable', access: 'user' },
  stepUp: { method: 'POST', path: '/step-up', access: 'user' },
  acceptInvitation: { method: 'POST', path: '/invitations/accept', access: 'user' },
  switchAccount: { method: 'POST', path: '/switch', access: 'user' },
  listKeys: { method: 'GET', path: '/keys', access: 'viewer' },
  createKey: { method: 'POST', path: '/keys', access: 'member', proof: true },
  revokeKey: { method: 'POST', path: '/keys/:mode/revoke', access: 'member', proof: true },
  readAccountSettings: { method: 'GET', path: '/account', access: 'viewer' },
  changeAccount: { method: 'PATCH', path: '/account', access: 'owner', proof: true },
  deleteAccount: { method: 'DELETE', path: '/account', access: 'owner', proof: true },
  handOverAccount: { method: 'POST', path: '/account/hand-over', access: 'owner', proof: true },
  listMembers: { method: 'GET', path: '/members', access: 'viewer' },
  changeMember: { method: 'PATCH', path: '/members/:id', access: 'owner', proof: true },
  /** An owner removes any member; a member leaves with their own id. */
  removeMember: { method: 'DELETE', path: '/members/:id', access: 'viewer', proof: true },
  invite: { method: 'POST', path: '/invitations', access: 'owner', proof: true },
  withdrawInvitation: { method: 'DELETE', path: '/invitations/:id', access: 'owner' },
} as const satisfies Readonly<Record<string, AppPath>>

/** The name of a route. */
export type AppRouteName = keyof typeof APP_PATHS
