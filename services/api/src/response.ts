import { MESSAGES, PROBLEMS, Problem, type ProblemCode } from '@plumbline/contract/problem'
import type { Response } from 'express'
import { requestContextOf, type RequestContext } from './request-context.ts'

/** An answer in JSON, already written out: what is sent, kept for repeats and sent again are the same text. */
export interface JsonResponse {
  readonly status: number
  readonly body: string
  readonly location?: string
  /** Sent again for an idempotency key. */
  readonly replayed?: boolean
}

/** Makes an answer of a value. */
export function jsonResponse(status: number, value: object, location?: string): JsonResponse {
  return { status, body: JSON.stringify(value), ...(location === undefined ? {} : { location }) }
}

/** Sends an answer with the headers that every answer has. */
export function sendResponse(res: Response, response: JsonResponse): void {
  if (res.headersSent || res.destroyed) return
  const { body } = response
  const headers = [
    ...commonHeaders(requestContextOf(res)),
    ...FIXED_HEADERS,
    'Content-Length',
    String(Buffer.byteLength(body)),
  ]
  if (response.location !== undefined) headers.push('Location', response.location)
  if (response.replayed === true) headers.push('Idempotent-Replayed', 'true')
  res.writeHead(response.status, headers)
  // As text, so that Node sends head and body by one write; express sends HEAD to the handlers of GET.
  res.end(res.req.method === 'HEAD' ? undefined : body)
}

/** Sends an answer without content. */
export function sendEmpty(res: Response): void {
  if (res.headersSent || res.destroyed) return
  res.writeHead(204, commonHeaders(requestContextOf(res)))
  res.end()
}

/** Sends a refusal in the one shape of all refusals (decision 8). */
export function sendProblem(
  res: Response,
  problem: { code: ProblemCode; message: string; retryAfterSeconds?: number | undefined },
  extra: readonly string[] = [],
): void {
  if (res.headersSent || res.destroyed) return
  const { status, error } = PROBLEMS[problem.code]
  const body = JSON.stringify({ error, message: problem.message })
  const headers = [
    ...commonHeaders(requestContextOf(res)),
    ...FIXED_HEADERS,
    'Content-Length',
    String(Buffer.byteLength(body)),
    ...extra,
  ]
  const retry = problem.retryAfterSeconds ?? (COMES_BACK.includes(problem.code) ? 1 : undefined)
  if (retry !== undefined) headers.push('Retry-After', String(retry))
  if (problem.code === 'unauthorized') headers.push('WWW-Authenticate', 'Bearer')
  res.writeHead(status, headers)
  res.end(res.req.method === 'HEAD' ? undefined : body)
}

/** Sends the refusal of a method that a path does not take; `allowed` as in `Allow` (decision 8). */
export function sendNotAllowed(res: Response, allowed: string): void {
  const problem = new Problem('method_not_allowed', `This path takes ${allowed}.`)
  sendProblem(res, problem, ['Allow', allowed])
}

/** Refusals that pass by themselves, and always say when to try again (decision 4). */
const COMES_BACK: readonly ProblemCode[] = ['too_many_requests', 'unavailable']

/** Headers that never change: JSON is data, not a page, and nobody's to keep. */
export const FIXED_HEADERS = [
  'Content-Type',
  'application/json; charset=utf-8',
  'Cache-Control',
  'no-store',
  'X-Content-Type-Options',
  'nosniff',
  'Content-Security-Policy',
  "default-src 'none'; frame-ancestors 'none'",
] as const

/**
 * `X-Request-Id` on every answer; credits and rate on every answer to a known account (decision 4).
 * `RateLimit` and `RateLimit-Policy`: draft-ietf-httpapi-ratelimit-headers-11.
 */
function commonHeaders(context: RequestContext): string[] {
  const headers = ['X-Request-Id', context.requestId]
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

/** The headers of an answer to a known account, and more by name. */
export function headersWith(
  context: RequestContext,
  more: Readonly<Record<string, string>>,
): string[] {
  return [...commonHeaders(context), ...Object.entries(more).flat()]
}

/** A refusal for whatever was thrown: bugs and faults of ours are 500 without a word of what they were. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (error instanceof URIError) {
    return new Problem('not_found', 'There is no such path; see /docs for those that exist.')
  }
  if (isOutage(error)) {
    return new Problem('unavailable', MESSAGES.unavailable, { cause: error, retryAfterSeconds: 2 })
  }
  return new Problem('internal', MESSAGES.internal, { cause: error })
}

/**
 * Faults of connections to what stands behind the service: system codes, and SQLSTATE classes 08
 * (connection), 53 (resources), 57P0x (shutdown) and 57014 (statement took too long). Source: PostgreSQL
 * manual, appendix A.
 */
const OUTAGE = /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|08...|53...|57P0[1-3]|57014)$/

function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof AggregateError) return error.errors.some(isOutage)
  if ('code' in error && typeof error.code === 'string') return OUTAGE.test(error.code)
  return /connection (terminated|timeout|is closed)|query read timeout|timeout exceeded when trying/i.test(
    error.message,
  )
}
