import type { Problem } from '@plumbline/contract/problem'

/**
 * Bounds how much each account has under way at once of what holds memory or a connection for long.
 */
export interface ConcurrencyLimit {
  /** Counts one more until it is disposed of. @throws the refusal if the account is at its limit */
  acquire(accountId: string): Disposable
}

/**
 * Lets each account have `max` under way at once in this process, whose memory and connections it
 * guards: with several processes an account has as many in each.
 * @param refuse the refusal of one more
 */
export function createConcurrencyLimit(
  max: number,
  refuse: (current: number) => Problem,
): ConcurrencyLimit {
  const counts = new Map<string, number>()
  return {
    acquire: (accountId) => {
      const count = counts.get(accountId) ?? 0
      if (count >= max) throw refuse(count)
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
