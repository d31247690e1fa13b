import { Problem, type RefusalLimit } from '@plumbline/contract/problem'

/** Limits the concurrent operations of each account that hold memory or a connection for long. */
export interface ConcurrencyLimit {
  /**
   * Counts an operation until the result is disposed of.
   * @throws Problem `too_many_requests` if the account is at its limit
   */
  acquire(accountId: string): Disposable
}

/** `Retry-After` of a further operation by default: seconds in which a typical transfer ends. */
const RETRY_SECONDS = 5

/**
 * Makes a limit of `max` concurrent operations for each account in this process, whose memory and
 * connections it protects; with several processes the limit applies in each.
 * @param messageOf the message to an account that has `count` under way
 */
export function createConcurrencyLimit(
  max: number,
  messageOf: (count: number) => string,
  options: { readonly retryAfterSeconds?: number; readonly limit?: RefusalLimit } = {},
): ConcurrencyLimit {
  const counts = new Map<string, number>()
  return {
    acquire: (accountId) => {
      const count = counts.get(accountId) ?? 0
      if (count >= max) {
        const refusal = { retryAfterSeconds: RETRY_SECONDS, ...options }
        throw new Problem('too_many_requests', messageOf(count), refusal)
      }
      counts.set(accountId, count + 1)
      return {
        [Symbol.dispose]: () => {
          const left = (counts.get(accountId) ?? 0) - 1
          if (left > 0) counts.set(accountId, left)
          else counts.delete(accountId)
        },
      }
    },
  }
}
