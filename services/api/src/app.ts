import type { Tracer } from '@plumbline/ports/tracer'
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express'
import { showBalance } from './access.ts'
import { mountAppPages } from './app-pages.ts'
import type { Context } from './context.ts'
import { waitBriefly } from './database-time-limit.ts'
import { docsPages } from './docs-pages.ts'
import { requestContextOf, openRequestContext } from './request-context.ts'
import { releaseRequest } from './request-limit.ts'
import { logRequests } from './request-log.ts'
import { traceHandler } from './trace-handler.ts'
import { testKeysText } from './test-key-reference.ts'
import { noSuchPath, problemOf, sendNotAllowed, sendProblem } from './response.ts'
import { routesOf } from './routes.ts'
import type { Handler, Route } from './routes/handler.ts'

/**
 * Builds the app: each path with its methods, 405 for others, 404 for other paths, and one error
 * handler.
 */
export function createApp(ctx: Context): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.enable('case sensitive routing')
  // One path for each thing: idempotency keys are kept by path.
  app.enable('strict routing')
  // Queries are read by `query.ts`, where a name may come once.
  app.set('query parser', false)
  app.set('trust proxy', [...ctx.settings.TRUSTED_PROXIES])

  const observe = logRequests(ctx)
  app.use((req, res, next) => {
    openRequestContext(res)
    observe(req, res)
    next()
  })
  for (const route of routesOf(ctx, app)) mount(app, ctx.tracer, route)
  app.use('/docs', docsPages(testKeysText(ctx.scorer)))
  mountAppPages(app)
  app.use(() => {
    throw noSuchPath()
  })
  app.use(refuse(ctx))
  return app
}

function mount(
  app: Express,
  tracer: Tracer,
  { path, get, post, patch, delete: erase }: Route,
): void {
  const route = app.route(path)
  const traced = (handler: Handler): RequestHandler =>
    asExpress(traceHandler(tracer, path, handler))
  if (get !== undefined) route.get(traced(get))
  if (post !== undefined) route.post(traced(post))
  if (patch !== undefined) route.patch(traced(patch))
  if (erase !== undefined) route.delete(traced(erase))
  const allowed = [get && 'GET, HEAD', post && 'POST', patch && 'PATCH', erase && 'DELETE']
    .filter(Boolean)
    .join(', ')
  route.all((_req, res) => sendNotAllowed(res, allowed))
}

function asExpress(handler: Handler): RequestHandler {
  return async (req, res) => {
    try {
      await handler(req, res)
    } finally {
      releaseRequest(res)
    }
  }
}

/** The error handler: the only place where an error becomes a response (decision 8). */
function refuse(ctx: Context): ErrorRequestHandler {
  return async (error: unknown, _req, res, _next) => {
    const problem = problemOf(error)
    const context = requestContextOf(res)
    context.refusal = problem.code
    ctx.countRefusal(problem)
    if (problem.status >= 500 && !problem.isRehearsed) {
      ctx.log.error({ request_id: context.requestId, err: error }, 'call failed')
    }
    if (res.headersSent) {
      // Part of a response is sent: cutting the connection tells the client that it is not whole.
      res.destroy()
      return
    }
    if (context.creditsRemaining === undefined) {
      await waitBriefly(showBalance(ctx.access, res, false).catch(ctx.onError))
    }
    sendProblem(res, problem)
  }
}
