import type { AppRouteName } from '@plumbline/contract/app/paths'
import type { AppAnswer, AppBody } from '@plumbline/contract/app/shapes'
import type { SessionOwner } from '@plumbline/db/people/sessions'
import type { People, Visitor } from '@plumbline/people/people'
import type { Request, Response } from 'express'
import type { Context } from '../context.ts'

/** What a route of the web app works with. */
export interface AppContext {
  readonly ctx: Context
  readonly people: People
}

/** A call of a route that anybody may use, once its body was read and its origin judged. */
export interface AppCall<Body> {
  readonly req: Request
  readonly res: Response
  readonly body: Body
  readonly visitor: Visitor
  /** Who is signed in; undefined for nobody. */
  readonly person: SessionOwner | undefined
  /** A part of the path; '' where the path has none of this name. */
  param(name: string): string
  /** Gives the browser a session. */
  setSession(secret: string): void
  /** Takes the browser's session. */
  clearSession(): void
}

/** Handles a call that the table of paths let through. */
export type AppHandler<N extends AppRouteName> = (
  app: AppContext,
  call: AppCall<AppBody<N>>,
) => Promise<AppAnswer<N>>

/** One handler for each route. */
export type AppHandlers = { readonly [N in AppRouteName]: AppHandler<N> }

/** The person of a call to a route that takes one. @throws if the table lets anybody in: a bug */
export function signedIn({ person }: { readonly person: SessionOwner | undefined }): SessionOwner {
  if (person === undefined) throw new Error('a route that anybody may use asks who is signed in')
  return person
}

/** The account that the person of a call is shown. @throws if the table asks for no role: a bug */
export function shownAccount(call: {
  readonly person: SessionOwner | undefined
}): NonNullable<SessionOwner['membership']> {
  const { membership } = signedIn(call)
  if (membership === null) throw new Error('a route that takes no role asks for an account')
  return membership
}
