import { MESSAGES, PROBLEMS, Problem, type ProblemCode } from '@plumbline/contract/problem'
import { isConnectionCode } from '@plumbline/db/retry'
import { CONTENTION_STATES, isOutageState, SQLSTATE } from '@plumbline/db/sqlstate'
import type { Response } from 'express'
import { requestContextOf, type RequestContext } from './request-context.ts'

/** A response in JSON as text: the same is sent, stored for repeats and sent again. */
export interface JsonResponse {
  readonly status: number
  readonly body: string
  readonly location?: string
  /** Whether the response was stored for an idempotency key and is sent again. */
  readonly replayed?: boolean
}

/** Makes a response of a value. */
export function jsonResponse(status: number, value: object, location?: string): JsonResponse {
  return { status, body: JSON.stringify(value), ...(location === undefined ? {} : { location }) }
}

/** Sends a response with the headers that all responses have. */
export function sendResponse(res: Response, response: JsonResponse): void {
  if (res.headersSent || res.destroyed) return
  const extra: string[] = []
  if (response.location !== undefined) extra.push('Location', response.location)
  if (response.replayed === true) extra.push('Idempotent-Replayed', 'true')
  sendJson(res, response.status, response.body, extra)
}

/** Sends 204 without content. */
export function sendEmpty(res: Response): void {
  if (res.headersSent || res.destroyed) return
  res.writeHead(204, commonHeaders(requestContextOf(res)))
  res.end()
}

/** Sends a refusal (decision 8). */
export function sendProblem(
  res: Response,
  problem: { code: ProblemCode; message: string; retryAfterSeconds?: number | undefined },
  extra: readonly string[] = [],
): void {
  if (res.headersSent || res.destroyed) return
  const { status, error } = PROBLEMS[problem.code]
  const headers = [...extra]
  const retry = problem.retryAfterSeconds ?? (TEMPORARY.includes(problem.code) ? 1 : undefined)
  if (retry !== undefined) headers.push('Retry-After', String(retry))
  if (problem.code === 'unauthorized') headers.push('WWW-Authenticate', 'Bearer')
  sendJson(res, status, JSON.stringify({ error, message: problem.message }), headers)
}

function sendJson(res: Response, status: number, body: string, extra: readonly string[]): void {
  res.writeHead(status, [
    ...commonHeaders(requestContextOf(res)),
    ...FIXED_HEADERS,
    'Content-Length',
    String(Buffer.byteLength(body)),
    ...extra,
  ])
  // As text, so that Node sends head and body in one write; express passes HEAD to the handlers of
  // GET.
  res.end(res.req.method === 'HEAD' ? undefined : body)
}

/**
 * Sends the refusal of a method that a path does not support; `allowed` as in `Allow` (decision 8).
 */
export function sendNotAllowed(res: Response, allowed: string): void {
  const problem = new Problem('method_not_allowed', `This path takes ${allowed}.`)
  sendProblem(res, problem, ['Allow', allowed])
}

/** Temporary refusals, which always have `Retry-After` (decision 4). */
const TEMPORARY: readonly ProblemCode[] = ['too_many_requests', 'unavailable']

/**
 * Headers of every response: no sniffing of its type, no scripts or resources, no framing. Source:
 * ASVS 5.0, 3.4.3, 3.4.4 and 3.4.6.
 */
export const SAFE_HEADERS = [
  'X-Content-Type-Options',
  'nosniff',
  'Content-Security-Policy',
  "default-src 'none'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
] as const

/** Header that is sent if the service is reached by TLS. Source: ASVS 5.0, 3.4.1; RFC 6797. */
export const HSTS = ['Strict-Transport-Security', 'max-age=31536000; includeSubDomains'] as const

/** Headers of every JSON response, which must not be cached. */
export const FIXED_HEADERS = [
  'Content-Type',
  'application/json; charset=utf-8',
  'Cache-Control',
  'no-store',
] as const

/**
 * `X-Request-Id` and security headers on every response; credits and rate limit on every response
 * to a known account (decision 4). `RateLimit` and `RateLimit-Policy`:
 * draft-ietf-httpapi-ratelimit-headers-11.
 */
function commonHeaders(context: RequestContext): string[] {
  const headers = ['X-Request-Id', context.requestId, ...SAFE_HEADERS]
  if (context.isSecure) headers.push(...HSTS)
  if (context.caller === undefined) return headers
  headers.push('X-Credits-Charged', String(context.creditsCharged))
  if (context.creditsRemaining !== undefined) {
    headers.push('X-Credits-Remaining', String(context.creditsRemaining))
  }
  if (context.rate !== undefined) {
    const { burst, windowSeconds, remaining, resetSeconds } = context.rate
    headers.push(
      'RateLimit',
      `"account";r=${remaining};t=${resetSeconds}`,
      'RateLimit-Policy',
      `"account";q=${burst};w=${windowSeconds}`,
    )
  }
  return headers
}

/** The headers of a response with data of an account, which must not be cached, and further ones. */
export function headersWith(res: Response, more: Readonly<Record<string, string>>): string[] {
  const common = commonHeaders(requestContextOf(res))
  return [...common, 'Cache-Control', 'no-store', ...Object.entries(more).flat()]
}

/** The refusal for any error that was thrown: bugs are 500 without details. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (error instanceof URIError) {
    return noSuchPath()
  }
  if (isOutage(error)) {
    return new Problem('unavailable', MESSAGES.unavailable, { cause: error, retryAfterSeconds: 2 })
  }
  return new Problem('internal', MESSAGES.internal, { cause: error })
}

/** The refusal of a path that does not exist. */
export function noSuchPath(): Problem {
  return new Problem('not_found', 'There is no such path; see /docs for those that exist.')
}

/** Codes of a statement that took too long or was aborted because of another one. */
const OUTAGE_CODES: ReadonlySet<string> = new Set([SQLSTATE.queryCanceled, ...CONTENTION_STATES])

function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof AggregateError) return error.errors.some(isOutage)
  if ('code' in error && typeof error.code === 'string') {
    const { code } = error
    return isConnectionCode(code) || OUTAGE_CODES.has(code) || isOutageState(code)
  }
  return /connection (terminated|timeout|is closed)|query read timeout|timeout exceeded when trying|is not queryable/i.test(
    error.message,
  )
}

/** Whether an error means that the client has closed the connection, which is no fault of ours. */
export function isGone(error: unknown, res: Response): boolean {
  const premature =
    error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
  return premature && res.destroyed
}
