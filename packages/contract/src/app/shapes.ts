import type { z } from 'zod'
import * as entry from './entry.ts'
import * as keys from './keys.ts'
import * as members from './members.ts'
import type { AppRouteName } from './paths.ts'
import { sessionList, sessionView } from './session.ts'

/** Shapes of the request body and the response of a route. */
interface AppShapes {
  readonly body?: z.ZodType
  /** Body of the response 200; if absent, the response is 204 without a body. */
  readonly response?: z.ZodType
}

/** The shapes of every route of `APP_PATHS`. */
export const APP_SHAPES = {
  readSession: { response: sessionView },
  signUp: { body: entry.signUpRequest, response: entry.entryResponse },
  signIn: { body: entry.signInRequest, response: entry.entryResponse },
  signOut: {},
  welcome: { body: entry.welcomeRequest, response: entry.entryResponse },
  verify: { body: entry.verifyRequest, response: entry.entryResponse },
  resendVerification: { body: entry.addressRequest, response: entry.entryResponse },
  beginReset: { body: entry.addressRequest, response: entry.entryResponse },
  confirmReset: { body: entry.resetConfirmRequest, response: entry.entryResponse },
  lookAtInvitation: { body: members.invitationLook, response: members.invitationView },
  changeUser: { body: entry.userChange, response: sessionView },
  changePassword: { body: entry.passwordRequest },
  changeEmail: { body: entry.emailRequest, response: entry.entryResponse },
  listSessions: { response: sessionList },
  endSession: {},
  signOutEverywhere: {},
  beginSecondFactor: { body: entry.passwordProof, response: entry.secondFactorStart },
  confirmSecondFactor: { body: entry.secondFactorConfirm, response: entry.recoveryCodes },
  disableSecondFactor: { body: entry.secondFactorDisable },
  stepUp: { body: entry.stepUpRequest },
  acceptInvitation: { body: members.invitationAccept, response: sessionView },
  switchAccount: { body: members.switchRequest, response: sessionView },
  listKeys: { response: keys.keyList },
  createKey: { body: keys.keyRequest, response: keys.newKeyResponse },
  revokeKey: {},
  readAccountSettings: { response: members.accountSettings },
  changeAccount: { body: members.accountChange, response: members.accountSettings },
  deleteAccount: { body: members.accountDeletion },
  handOverAccount: { body: members.handOverRequest },
  listMembers: { response: members.memberList },
  changeMember: { body: members.memberChange },
  removeMember: {},
  invite: { body: members.invitationRequest, response: members.invitationResponse },
  withdrawInvitation: {},
} as const satisfies Readonly<Record<AppRouteName, AppShapes>>

/** Request body of a route. */
export type AppBody<N extends AppRouteName> = (typeof APP_SHAPES)[N] extends {
  readonly body: infer B extends z.ZodType
}
  ? z.infer<B>
  : undefined

/** Response of a route. */
export type AppResponse<N extends AppRouteName> = (typeof APP_SHAPES)[N] extends {
  readonly response: infer A extends z.ZodType
}
  ? z.infer<A>
  : undefined
