import { MESSAGES, Problem } from '@plumbline/contract/problem'
import type { IdempotencyScope } from '@plumbline/db/idempotency'
import type { Request, Response } from 'express'
import type { BalanceCache } from './balance-cache.ts'
import { requestContextOf, type Caller } from './request-context.ts'
import type { FailedKeyLimit } from './failed-key-limit.ts'
import { idempotencyKeyOf } from './idempotency-key.ts'
import type { ApiKeyCache } from './api-key-cache.ts'
import { networkOf } from './network.ts'
import type { RateLimit } from './rate-limit.ts'
import type { RequestLimit } from './request-limit.ts'
import {
  comesWithSession,
  endedSession,
  sessionCaller,
  type SessionAccess,
} from './session-access.ts'

/** Dependencies of admitting a request before its body is read. */
export interface Access extends SessionAccess {
  readonly apiKeys: ApiKeyCache
  readonly balances: BalanceCache
  /** Whether a call with this idempotency key would be a repeat. */
  readonly isRepeat: (scope: IdempotencyScope) => Promise<boolean>
  /** Rate limit of an account's calls. */
  readonly calls: RateLimit
  /** Limits an account's concurrent requests that have no limit of their own. */
  readonly requests: RequestLimit
  /** Limit of an account's stored responses of calls that cost nothing. */
  readonly unpaidResponses: RateLimit
  /** Limit of failed keys, by address. */
  readonly failedKeys: FailedKeyLimit
}

/**
 * Authenticates and admits a request, in the order of decision 9: key (401, and 403 for suspended
 * accounts and for test keys that the plan does not include), rate limit and concurrent requests
 * (429; after a wait the key must still be valid), and for calls that spend, a balance of zero
 * (402), which does not refuse repeats (decision 16). The body is not read. With `mayBeFree` an
 * account without credits is admitted, too, since only the body shows whether the call spends. With
 * `hasOwnLimit` the route itself limits how many of its requests an account has under way.
 */
export async function admit(
  access: Access,
  req: Request,
  res: Response,
  options: { spends: boolean; mayBeFree?: boolean; hasOwnLimit?: boolean },
): Promise<Caller> {
  const context = requestContextOf(res)
  const key = bearer(req.headers.authorization)
  // Without `await` on plain values, calls of a cached key stay within one turn of the event loop.
  const known = key === undefined ? undefined : access.apiKeys.cached(key)
  const caller = known ?? (await whoCalls(access, req, key))
  context.caller = caller

  const taken = access.calls.take(caller.accountId, caller)
  const rate = taken instanceof Promise ? await taken : taken
  context.rate = rate
  refuseStanding(caller)
  if (!rate.granted) {
    throw new Problem('too_many_requests', MESSAGES.too_many_requests, {
      limit: 'rate',
      retryAfterSeconds: Math.ceil(rate.retryMs / 1_000),
    })
  }
  if (options.hasOwnLimit !== true) {
    context.counted = await access.requests.enter(caller.accountId)
    await refuseLate(access, req, res)
  }

  if (options.spends && caller.mode === 'live') {
    const recent = access.balances.recent(caller.accountId)
    const available = recent instanceof Promise ? await recent : recent
    context.creditsRemaining = available
    if (available <= 0) {
      context.isRepeat = await isRepeat(access, req, caller)
      if (!context.isRepeat && options.mayBeFree !== true) throw insufficientCredits()
      context.lacksCredits = true
    }
  }
  return caller
}

/** The caller: by a key, or else by a session. */
async function whoCalls(access: Access, req: Request, key: string | undefined): Promise<Caller> {
  if (comesWithSession(access, req)) return await sessionCaller(access, req)
  return await findCaller(access, networkOf(req.ip ?? ''), key)
}

/** Refuses calls that the account may not make as it stands, with any key or session of that mode. */
function refuseStanding(caller: Caller): void {
  refuseSuspended(caller)
  if (caller.hasTestKeys || caller.mode === 'live') return
  throw new Problem(
    'forbidden',
    'The plan of this account has no test keys; upgrade, or use the live key.',
  )
}

/** Refuses calls of a suspended or closed account (decision 44). */
export function refuseSuspended({
  status,
  statusReason,
}: Pick<Caller, 'status' | 'statusReason'>): void {
  if (status === 'active') return
  const why = statusReason === null ? '' : ` (${statusReason})`
  throw new Problem(
    'forbidden',
    status === 'closed'
      ? 'This account is closed.'
      : `This account is suspended${why}; its batches wait until the operator of the service lifts that. Ask them.`,
  )
}

async function isRepeat(
  access: Access,
  req: Request,
  { accountId, mode }: Caller,
): Promise<boolean> {
  const key = idempotencyKeyOf(req)
  return key !== undefined && (await access.isRepeat({ accountId, mode, path: req.path, key }))
}

/**
 * Refuses a request whose key or session ended since it was admitted, or may not do this any more:
 * a large body may take hours to arrive. The caller of the request is from then on as it is now.
 */
export async function refuseRevoked(access: Access, req: Request, res: Response): Promise<void> {
  const context = requestContextOf(res)
  const key = bearer(req.headers.authorization)
  const caller =
    key === undefined ? await sessionCaller(access, req) : await access.apiKeys.find(key)
  if (caller === undefined) throw invalidKey()
  if (caller.accountId !== context.caller?.accountId) throw endedSession()
  refuseStanding(caller)
  context.caller = caller
}

/** Whether an admitted request is not one that `refuseRevoked` refuses. */
export async function isStillAdmitted(
  access: Access,
  req: Request,
  res: Response,
): Promise<boolean> {
  try {
    await refuseRevoked(access, req, res)
    return true
  } catch (error) {
    if (error instanceof Problem) return false
    throw error
  }
}

/**
 * Milliseconds after which a request is judged again before anything is done: the key may be cached
 * for 0.9 s, and a revoked one is refused within a second (decision 18).
 */
export const LATE_MS = 100

/** Whether a request has waited so long, for others or its body, that it must be judged again. */
export function isLate(res: Response): boolean {
  return performance.now() - requestContextOf(res).startedAt >= LATE_MS
}

/** Refuses a late request whose key or session has ended since, or may not do this any more. */
export async function refuseLate(access: Access, req: Request, res: Response): Promise<void> {
  if (isLate(res)) await refuseRevoked(access, req, res)
}

/**
 * Puts the account's balance into the request context, for the headers of the response; with
 * `exact` from the ledger, else it may be a second old.
 */
export async function showBalance(access: Access, res: Response, exact = true): Promise<void> {
  const context = requestContextOf(res)
  if (context.caller === undefined) return
  const { accountId } = context.caller
  context.creditsRemaining = await (exact
    ? access.balances.now(accountId)
    : access.balances.shown(accountId))
}

/** The refusal of a call that costs more than the balance. */
export function insufficientCredits(): Problem {
  return new Problem('payment_required', MESSAGES.payment_required)
}

/** The API key of an `Authorization` header; undefined if it has none. */
export function bearer(header: string | undefined): string | undefined {
  return /^Bearer +([\x21-\x7e]{1,200})$/i.exec(header ?? '')?.[1]
}

/**
 * Finds the caller of a key. If an address has used up its failures, the database is queried only
 * for a key that was valid before or that may exist. Throws one `Problem` for keys that are
 * missing, malformed, unknown or revoked, so that the response does not reveal which: 401, or 429
 * if the address has sent too many of them.
 */
export async function findCaller(
  { apiKeys, failedKeys }: Pick<Access, 'apiKeys' | 'failedKeys'>,
  network: string,
  key: string | undefined,
): Promise<Caller> {
  if (key === undefined || !apiKeys.isWellFormed(key)) throw await failed(failedKeys, network)
  using reserved = failedKeys.reserve(network)
  if (reserved === undefined && !apiKeys.wasValid(key) && !(await apiKeys.mayExist(key))) {
    throw tooManyFailures(failedKeys.retryMs)
  }
  const caller = await apiKeys.find(key)
  if (caller === undefined) throw await failed(failedKeys, network)
  return caller
}

async function failed(failedKeys: FailedKeyLimit, network: string): Promise<Problem> {
  const { granted, retryMs } = await failedKeys.take(network)
  return granted ? invalidKey() : tooManyFailures(retryMs)
}

function tooManyFailures(retryMs: number): Problem {
  return new Problem(
    'too_many_requests',
    'Too many calls without a valid API key; check the key and try again later.',
    {
      limit: 'failed_keys',
      retryAfterSeconds: Math.ceil(retryMs / 1_000),
    },
  )
}

/** The refusal of a call without a valid API key. */
export function invalidKey(): Problem {
  return new Problem(
    'unauthorized',
    'The API key is missing or invalid; send `Authorization: Bearer <API_KEY>`.',
  )
}
