import { Problem } from '@plumbline/contract/problem'
import { createConcurrencyLimit } from './concurrency-limit.ts'
import type { ApiSettings } from './settings.ts'

/** Limits the concurrent single calls of this process, since each holds memory and a connection. */
export interface CallLimit {
  /**
   * Counts a call until it is disposed of.
   *
   * @throws Problem `unavailable` if the process is at its limit, `too_many_requests` if the
   * account is
   */
  enter(accountId: string): Disposable
}

/** Makes the limit of one process; the settings have one for all accounts, and one for each. */
export function createCallLimit({
  CALLS_LIMIT,
  CALLS_PER_ACCOUNT,
}: Pick<ApiSettings, 'CALLS_LIMIT' | 'CALLS_PER_ACCOUNT'>): CallLimit {
  const accounts = createConcurrencyLimit(
    CALLS_PER_ACCOUNT,
    (count) =>
      `This account has ${count} calls under way at once, which is the limit; wait for answers.`,
    { limit: 'calls_of_account', retryAfterSeconds: 1 },
  )
  let count = 0
  return {
    enter(accountId) {
      if (count >= CALLS_LIMIT) {
        throw new Problem('unavailable', 'The service is at its limit; try again in a second.', {
          limit: 'calls_of_process',
          retryAfterSeconds: 1,
        })
      }
      const own = accounts.acquire(accountId)
      count += 1
      return {
        [Symbol.dispose]: () => {
          count -= 1
          own[Symbol.dispose]()
        },
      }
    },
  }
}
