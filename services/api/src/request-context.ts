import type { KeyMode, Plan } from '@plumbline/contract/plans'
import type { Request, Response } from 'express'
import { randomUUID } from 'node:crypto'
import type { RateState } from './rate.ts'

/** Whose key a call carries. */
export interface Caller {
  readonly accountId: string
  readonly keyId: string
  readonly mode: KeyMode
  readonly plan: Plan
}

/** What is known of one request while it is answered; the headers of every answer are made of it. */
export interface Exchange {
  readonly requestId: string
  /** `performance.now()` at the start. */
  readonly startedAt: number
  caller: Caller | undefined
  rate: RateState | undefined
  /** It was let in with a balance of zero: to be told the answer of the call that it repeats, or for what is free. */
  lacksCredits: boolean
  /** It was let in with a balance of zero as a repeat; else only what is free may be done. */
  isRepeat: boolean
  creditsCharged: number
  /** What the account can spend after this call; read anew where a known account's answer lacks it. */
  creditsRemaining: number | undefined
  /** Why the answer was what it was, for the log. */
  refusal: string | undefined
}

const HELD = Symbol('exchange')

/** A response that carries its exchange. */
type Carrying = Response & { [HELD]?: Exchange }

/** Starts the exchange of a request. */
export function openExchange(res: Response): Exchange {
  const exchange: Exchange = {
    requestId: randomUUID(),
    startedAt: performance.now(),
    caller: undefined,
    rate: undefined,
    lacksCredits: false,
    isRepeat: false,
    creditsCharged: 0,
    creditsRemaining: undefined,
    refusal: undefined,
  }
  const carrying: Carrying = res
  carrying[HELD] = exchange
  return exchange
}

/** The exchange of a response. @throws where none was opened: a bug in how the app is put together */
export function exchangeOf(res: Response): Exchange {
  const carrying: Carrying = res
  const exchange = carrying[HELD]
  if (exchange === undefined) throw new Error('the response has no exchange')
  return exchange
}

/** The caller of a request that was let in. @throws where no key was judged: a bug of the route */
export function callerOf(res: Response): Caller {
  const { caller } = exchangeOf(res)
  if (caller === undefined) throw new Error('the route asks for a caller that was not let in')
  return caller
}

/** The route's own text, for logs and metrics: never the path as sent, which may hold a subject. */
export function routeOf(req: Request): string {
  const route: unknown = req.route
  if (typeof route !== 'object' || route === null || !('path' in route)) return 'none'
  return typeof route.path === 'string' ? route.path : 'none'
}
