import { createSemaphore, type Semaphore } from '@plumbline/concurrency/semaphore'
import { Problem } from '@plumbline/contract/problem'
import type { Response } from 'express'
import { requestContextOf } from './request-context.ts'
import type { ApiSettings } from './settings.ts'

/** Limits how many requests of each account are under way; further ones wait in order of arrival. */
export interface RequestLimit {
  /**
   * Counts a request, once it may begin, until the result is disposed of.
   *
   * @throws Problem `too_many_requests` if as many wait as may
   */
  enter(accountId: string): Promise<Disposable>
}

/** Requests of an account that may wait, for each that may be under way. */
const WAITING_FOR_EACH = 8

/**
 * Makes the limit of an account's concurrent requests in one process, for all that have none of
 * their own: the rate limit counts a request of a hundred statements like one of a single
 * statement, and does not bound how many are under way.
 */
export function createRequestLimit({
  REQUESTS_PER_ACCOUNT: most,
}: Pick<ApiSettings, 'REQUESTS_PER_ACCOUNT'>): RequestLimit {
  const accounts = new Map<string, { readonly permits: Semaphore; count: number }>()
  return {
    async enter(accountId) {
      const own = accounts.get(accountId) ?? { permits: createSemaphore(most), count: 0 }
      if (own.count >= most * (1 + WAITING_FOR_EACH)) throw tooMany(most, own.count - most)
      own.count += 1
      accounts.set(accountId, own)
      const exit = await own.permits.enter()
      return {
        [Symbol.dispose]() {
          exit()
          own.count -= 1
          if (own.count === 0) accounts.delete(accountId)
        },
      }
    },
  }
}

function tooMany(count: number, waitingCount: number): Problem {
  return new Problem(
    'too_many_requests',
    `This account has ${count} requests under way at once, and ${waitingCount} that wait, which is the limit; wait for answers.`,
    { limit: 'requests_of_account', retryAfterSeconds: 1 },
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
