import {
  APP_API,
  APP_PATHS,
  STEP_UP_HEADER,
  type AppPath,
  type AppRouteName,
} from '@plumbline/contract/app/paths'
import { APP_SHAPES } from '@plumbline/contract/app/shapes'
import { Problem } from '@plumbline/contract/problem'
import { readBody } from '@plumbline/contract/read-body'
import type { UserSession } from '@plumbline/db/people/sessions'
import { SESSION_DAYS } from '@plumbline/db/people/sessions'
import { needsProof } from '@plumbline/people/session'
import type { Request, Response } from 'express'
import type { z } from 'zod'
import { isLate, refuseSuspended } from '../access.ts'
import { readJson } from '../body.ts'
import { refuseForeignOrigin, setSessionCookie, visitorOf } from '../browser.ts'
import { refuseQuery } from '../query.ts'
import { requestContextOf } from '../request-context.ts'
import { jsonResponse, sendEmpty, sendResponse } from '../response.ts'
import type { Handler, Route } from '../routes/handler.ts'
import {
  endedSession,
  noAccount,
  refuseOtherAccount,
  refuseReader,
  sessionOf,
} from '../session-access.ts'
import { ACCOUNT_HANDLERS } from './account-handlers.ts'
import type { AppCall, AppContext, AppHandlers } from './call.ts'
import { ENTRY_HANDLERS } from './entry-handlers.ts'
import { MEMBER_HANDLERS } from './member-handlers.ts'
import { USER_HANDLERS } from './user-handlers.ts'

const HANDLERS: AppHandlers = {
  ...ENTRY_HANDLERS,
  ...USER_HANDLERS,
  ...ACCOUNT_HANDLERS,
  ...MEMBER_HANDLERS,
}

/**
 * Every route of the web app, from the table of paths: the only place where they are authorized.
 */
export function appRoutes(app: AppContext): readonly Route[] {
  const routes = new Map<string, Partial<Record<string, Handler>>>()
  for (const [name, row] of Object.entries(APP_PATHS)) {
    const path = `${APP_API}${row.path}`
    const methods = routes.get(path) ?? {}
    methods[row.method.toLowerCase()] = handlerOf(app, routeName(name), row)
    routes.set(path, methods)
  }
  return [...routes].map(([path, methods]) => ({ path, ...methods }))
}

/** Safe because the names are the table's own. */
function routeName(name: string): AppRouteName {
  return name as AppRouteName
}

/**
 * Origin, session, role, second factor, rate, concurrent requests, body: in this order. After a
 * wait, for other requests or the body, session, role and second factor are checked again.
 */
function handlerOf(app: AppContext, name: AppRouteName, row: AppPath): Handler {
  const { access, settings } = app.ctx
  return async (req, res) => {
    refuseQuery(req)
    if (row.method !== 'GET') refuseForeignOrigin(req, access.publicUrl)
    const session = await sessionOf(access, req)
    judge(row, session, res)
    await takeCall(app, req, session)
    if (session !== undefined)
      requestContextOf(res).counted = await access.requests.enter(counterOf(session))
    const shape = bodyOf(name)
    const body =
      shape === undefined ? undefined : readBody(shape, await readJson(req, res, settings))
    // Another account would have another secret.
    if (isLate(res)) judge(row, await sessionOf(access, req), res)
    const answer = await run(app, name, callOf(app, req, res, session, body))
    // Sessions, roles and accounts may have changed: the next call of this process must know.
    if (row.method !== 'GET') access.sessions.forget()
    if (answer === undefined) sendEmpty(res)
    else sendResponse(res, jsonResponse(200, answer))
  }
}

function bodyOf(name: AppRouteName): z.ZodObject | undefined {
  const shapes = APP_SHAPES[name]
  return 'body' in shapes ? shapes.body : undefined
}

async function run(
  app: AppContext,
  name: AppRouteName,
  call: AppCall<unknown>,
): Promise<object | undefined> {
  // Safe because the body was read by the shape of this very route.
  const handler = HANDLERS[name] as (
    app: AppContext,
    call: AppCall<unknown>,
  ) => Promise<object | undefined>
  return await handler(app, call)
}

function judge(row: AppPath, session: UserSession | undefined, res: Response): void {
  if (row.access === 'anybody') return
  if (session === undefined) throw endedSession()
  if (row.access !== 'user') {
    const { membership } = session
    if (membership === null) throw noAccount()
    if (row.method !== 'GET') refuseOtherAccount(res.req, membership.accountId)
    if (row.access === 'owner' && membership.role !== 'owner') {
      throw new Problem('forbidden', 'Only an owner of the account may do this; ask one.')
    }
    if (row.access !== 'viewer') {
      refuseReader(session)
      refuseSuspended(membership)
    }
  }
  if (row.proof === true && needsProof(session)) throw proofNeeded(res)
}

function proofNeeded(res: Response): Problem {
  res.setHeader(STEP_UP_HEADER, 'required')
  return new Problem(
    'forbidden',
    'Show your second factor again: enter the code that your app shows now.',
  )
}

async function takeCall(
  { ctx }: AppContext,
  req: Request,
  session: UserSession | undefined,
): Promise<void> {
  const name = session === undefined ? visitorOf(req).network : session.userId
  const { granted, retryMs } = await ctx.access.calls.take(`app ${name}`)
  if (granted) return
  throw new Problem('too_many_requests', 'Too many calls at once; try again in a moment.', {
    retryAfterSeconds: Math.ceil(retryMs / 1_000),
  })
}

/** Whose concurrent requests a request with a session counts for: the shown account's, if any. */
function counterOf({ membership, userId }: UserSession): string {
  return membership?.accountId ?? userId
}

function callOf(
  app: AppContext,
  req: Request,
  res: Response,
  session: UserSession | undefined,
  body: unknown,
): AppCall<unknown> {
  const { publicUrl } = app.ctx.access
  const seconds = SESSION_DAYS * 86_400
  return {
    req,
    res,
    body,
    session,
    visitor: visitorOf(req),
    param: (name) => {
      const value: unknown = req.params[name]
      return typeof value === 'string' ? value : ''
    },
    setSession: (secret) => setSessionCookie(req, res, publicUrl, secret, seconds),
    clearSession: () => setSessionCookie(req, res, publicUrl, undefined, 0),
  }
}
