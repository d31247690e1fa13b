import { Problem } from '@plumbline/contract/problem'
import { getUser } from '@plumbline/db/people/users'
import { needsProof } from '@plumbline/people/session'
import type { Request } from 'express'
import { refuseForeignOrigin } from '../browser.ts'
import type { Context } from '../context.ts'
import { sessionOf } from '../session-access.ts'

/**
 * The id of the signed-in operator, who has recently shown a second factor if one is set.
 *
 * @throws Problem 401 or 403 for everybody else
 */
export async function requireOperator(
  ctx: Context,
  req: Request,
  { acts }: { readonly acts: boolean } = { acts: false },
): Promise<string> {
  const session = await sessionOf(ctx.access, req)
  if (session === undefined) {
    throw new Problem(
      'unauthorized',
      'Sign in to the app in this browser first, then load this page.',
    )
  }
  const { isOperator } = await getUser(ctx.db, session.userId)
  if (!isOperator) {
    throw new Problem(
      'forbidden',
      'These pages are the operator’s; "user operator EMAIL" names one.',
    )
  }
  if (acts && needsProof(session)) {
    throw new Problem(
      'forbidden',
      'Show your second factor again in the settings of the app first.',
    )
  }
  return session.userId
}

/**
 * The id of the operator who submits a form from a page of this port.
 *
 * @throws Problem 401 or 403 for everybody else, and for forms of other pages
 */
export async function requireActor(ctx: Context, req: Request): Promise<string> {
  refuseForeignOrigin(req, undefined)
  return await requireOperator(ctx, req, { acts: true })
}
