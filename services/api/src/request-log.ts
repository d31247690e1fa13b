import type { Request, Response } from 'express'
import type { Context } from './context.ts'
import { requestContextOf, routeOf } from './request-context.ts'

/** Upper bounds of the histogram of durations, in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]

/** Characters of an address or user agent in the log at most. */
const LOGGED_CHARS = 200

/**
 * Writes a log line and the metrics of each request when it ends; never a subject, and of a key
 * only its id.
 */
export function logRequests(ctx: Context): (req: Request, res: Response) => void {
  const calls = ctx.metrics.counter('http_requests_total', 'Requests answered.', [
    'method',
    'route',
    'status',
  ])
  const seconds = ctx.metrics.histogram(
    'http_request_seconds',
    'Time from the request to the end of its answer.',
    ['route'],
    BUCKETS,
  )
  return (req, res) => {
    // Read now: a closed connection has no address.
    const address = loggable(req.ip)
    res.once('close', () => {
      const context = requestContextOf(res)
      const route = routeOf(req)
      const status = res.writableFinished ? res.statusCode : 499
      const elapsedMs = performance.now() - context.startedAt
      calls.inc({ method: req.method, route, status })
      seconds.observe({ route }, elapsedMs / 1_000)
      ctx.log.info(
        {
          request_id: context.requestId,
          method: req.method,
          route,
          status,
          ms: Math.round(elapsedMs * 10) / 10,
          account: context.caller?.accountId,
          mode: context.caller?.mode,
          key_id: context.caller?.keyId ?? undefined,
          session_id: context.caller?.sessionId,
          address,
          user_agent: loggable(req.headers['user-agent']),
          charged: context.creditsCharged,
          refusal: context.refusal,
        },
        'request',
      )
    })
  }
}

/**
 * A client's text for the log: bounded, with non-printable and non-ASCII characters as `\u....`.
 */
export function loggable(text: string | undefined): string | undefined {
  return text
    ?.slice(0, LOGGED_CHARS)
    .replaceAll(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
