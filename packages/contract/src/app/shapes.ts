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
  readonly answer?: z.ZodType
}

/** The shapes of every route of `APP_PATHS`. */
export const APP_SHAPES = {
  readSession: { answer: sessionView },
  signUp: { body: entry.signUpRequest, answer: entry.entryAnswer },
  signIn: { body: entry.signInRequest, answer: entry.entryAnswer },
  signOut: {},
  welcome: { body: entry.welcomeRequest, answer: entry.entryAnswer },
  verify: { body: entry.verifyRequest, answer: entry.entryAnswer },
  resendVerification: { body: entry.addressRequest, answer: entry.entryAnswer },
  beginReset: { body: entry.addressRequest, answer: entry.entryAnswer },
  confirmReset: { body: entry.resetConfirmRequest, answer: entry.entryAnswer },
  lookAtInvitation: { body: members.invitationLook, answer: members.invitationView },
  changePerson: { body: entry.personChange, answer: sessionView },
  changePassword: { body: entry.passwordRequest },
  changeEmail: { body: entry.emailRequest, answer: entry.entryAnswer },
  listSessions: { answer: sessionList },
  endSession: {},
  signOutEverywhere: {},
  beginSecondFactor: { body: entry.passwordProof, answer: entry.secondFactorStart },
  confirmSecondFactor: { body: entry.secondFactorConfirm, answer: entry.recoveryCodes },
  disableSecondFactor: { body: entry.secondFactorDisable },
  stepUp: { body: entry.stepUpRequest },
  acceptInvitation: { body: members.invitationAccept, answer: sessionView },
  switchAccount: { body: members.switchRequest, answer: sessionView },
  listKeys: { answer: keys.keyList },
  createKey: { body: keys.keyRequest, answer: keys.newKeyAnswer },
  revokeKey: {},
  readAccountSettings: { answer: members.accountSettings },
  changeAccount: { body: members.accountChange, answer: members.accountSettings },
  deleteAccount: { body: members.accountDeletion },
  handOverAccount: { body: members.handOverRequest },
  listMembers: { answer: members.memberList },
  changeMember: { body: members.memberChange },
  removeMember: {},
  invite: { body: members.invitationRequest, answer: members.invitationAnswer },
  withdrawInvitation: {},
} as const satisfies Readonly<Record<AppRouteName, AppShapes>>

/** Request body of a route. */
export type AppBody<N extends AppRouteName> = (typeof APP_SHAPES)[N] extends {
  readonly body: infer B extends z.ZodType
}
  ? z.infer<B>
  : undefined

/** Response of a route. */
export type AppAnswer<N extends AppRouteName> = (typeof APP_SHAPES)[N] extends {
  readonly answer: infer A extends z.ZodType
}
  ? z.infer<A>
  : undefined
