import { Problem } from '@plumbline/contract/problem'
import type { Response } from 'express'
import { createConcurrencyLimit, type ConcurrencyLimit } from './concurrency-limit.ts'
import { requestContextOf } from './request-context.ts'
import type { ApiSettings } from './settings.ts'

/**
 * Makes the limit of an account's concurrent requests in one process, for all that have none of
 * their own: the rate limit counts a request of a hundred statements like one of a single
 * statement, and does not bound how many are under way.
 */
export function createRequestLimit({
  REQUESTS_PER_ACCOUNT,
}: Pick<ApiSettings, 'REQUESTS_PER_ACCOUNT'>): ConcurrencyLimit {
  return createConcurrencyLimit(
    REQUESTS_PER_ACCOUNT,
    (current) =>
      new Problem(
        'too_many_requests',
        `This account has ${current} requests under way at once, which is the limit; wait for answers.`,
        { limit: 'requests_of_account', retryAfterSeconds: 1 },
      ),
  )
}

/**
 * No longer counts a request whose work has ended, once its response is read too. A client that
 * closes its connection ends neither the work nor its statements.
 */
export function releaseRequest(res: Response): void {
  const { counted } = requestContextOf(res)
  if (counted === undefined) return
  if (res.closed) counted[Symbol.dispose]()
  else res.once('close', () => counted[Symbol.dispose]())
}
