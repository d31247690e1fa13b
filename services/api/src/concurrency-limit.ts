import type { Problem } from '@plumbline/contract/problem'

/** Limits the concurrent operations of each account that hold memory or a connection for long. */
export interface ConcurrencyLimit {
  /**
   * Counts an operation until the result is disposed of.
   * @throws the refusal if the account is at its limit
   */
  acquire(accountId: string): Disposable
}

/**
 * Makes a limit of `max` concurrent operations for each account in this process, whose memory and
 * connections it protects; with several processes the limit applies in each.
 * @param refuse makes the refusal of a further operation
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
