import type { AppRouteName } from '@plumbline/contract/app/paths'
import type { AppResponse, AppBody } from '@plumbline/contract/app/shapes'
import type { UserSession } from '@plumbline/db/people/sessions'
import type { People, Visitor } from '@plumbline/people/people'
import type { Request, Response } from 'express'
import type { Context } from '../context.ts'

/** Dependencies of a route of the web app. */
export interface AppContext {
  readonly ctx: Context
  readonly people: People
}

/** A call of a route, once its body was parsed and its origin checked. */
export interface AppCall<Body> {
  readonly req: Request
  readonly res: Response
  readonly body: Body
  readonly visitor: Visitor
  /** The session of the signed-in user; undefined if nobody is signed in. */
  readonly session: UserSession | undefined
  /** A path parameter; '' if the path has none of this name. */
  param(name: string): string
  /** Sets the session cookie. */
  setSession(secret: string): void
  /** Removes the session cookie. */
  clearSession(): void
}

/** Handles a call that the table of paths has authorized. */
export type AppHandler<N extends AppRouteName> = (
  app: AppContext,
  call: AppCall<AppBody<N>>,
) => Promise<AppResponse<N>>

/** One handler for each route. */
export type AppHandlers = { readonly [N in AppRouteName]: AppHandler<N> }

/**
 * The session of a call to a route that requires one.
 *
 * @throws if the route is open to anybody: a bug
 */
export function requireSession({
  session,
}: {
  readonly session: UserSession | undefined
}): UserSession {
  if (session === undefined)
    throw new Error('a route without access control needs a signed-in user')
  return session
}

/**
 * The account shown to the user of a call.
 *
 * @throws if the route requires no role: a bug
 */
export function shownAccount(call: {
  readonly session: UserSession | undefined
}): NonNullable<UserSession['membership']> {
  const { membership } = requireSession(call)
  if (membership === null) throw new Error('a route without a role needs an account')
  return membership
}
