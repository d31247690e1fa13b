import type { Role } from '@plumbline/contract/app/roles'
import type { KeyMode } from '@plumbline/contract/plans'
import type { AccountStanding } from '@plumbline/db/keys'
import type { Request, Response } from 'express'
import { randomUUID } from 'node:crypto'
import type { RateState } from './rate-limit.ts'

/** The account of a request, and the key or session that it came with. */
export interface Caller extends AccountStanding {
  /** Null for a request with a session. */
  readonly keyId: string | null
  readonly sessionId?: string
  /** The user's role in the shown account, for a request with a session. */
  readonly role?: Role
  readonly mode: KeyMode
}

/** Data of a request while it is handled; also used for the headers of its response. */
export interface RequestContext {
  readonly requestId: string
  /** `performance.now()` at the start. */
  readonly startedAt: number
  /** Whether the request came by TLS, according to this process or a trusted proxy. */
  readonly isSecure: boolean
  caller: Caller | undefined
  rate: RateState | undefined
  /** Where the request counts towards the concurrent requests of its account. */
  counted: Disposable | undefined
  /**
   * Whether the request was admitted with a balance of zero: for a stored response, or for free
   * work.
   */
  lacksCredits: boolean
  /**
   * With `lacksCredits`: whether the request repeats a call; otherwise only free work may be done.
   */
  isRepeat: boolean
  creditsCharged: number
  /** Balance of the account after this call; undefined: it is read when the response is sent. */
  creditsRemaining: number | undefined
  /** The code of the refusal, for the log. */
  refusal: string | undefined
}

const HELD = Symbol('request context')

/** A response with its request context. */
type Carrying = Response & { [HELD]?: RequestContext }

/** Opens the context of a request. */
export function openRequestContext(res: Response): RequestContext {
  const context: RequestContext = {
    requestId: randomUUID(),
    startedAt: performance.now(),
    isSecure: res.req.protocol === 'https',
    caller: undefined,
    rate: undefined,
    counted: undefined,
    lacksCredits: false,
    isRepeat: false,
    creditsCharged: 0,
    creditsRemaining: undefined,
    refusal: undefined,
  }
  const carrying: Carrying = res
  carrying[HELD] = context
  return context
}

/**
 * The context of the request that a response belongs to.
 *
 * @throws if none was opened: a bug in how the app is assembled
 */
export function requestContextOf(res: Response): RequestContext {
  const carrying: Carrying = res
  const context = carrying[HELD]
  if (context === undefined) throw new Error('the response has no request context')
  return context
}

/** The caller of an admitted request. @throws if the route did not call `admit`: a bug */
export function callerOf(res: Response): Caller {
  const { caller } = requestContextOf(res)
  if (caller === undefined) throw new Error('the route asks for a caller that was not admitted')
  return caller
}

/** The route's pattern, for logs and metrics: never the actual path, which may hold a subject. */
export function routeOf(req: Request): string {
  const route: unknown = req.route
  if (typeof route !== 'object' || route === null || !('path' in route)) return 'none'
  return typeof route.path === 'string' ? route.path : 'none'
}
