import type { Problem } from '@plumbline/contract/problem'

/** Places for what holds memory or a connection of this process for long, by account. */
export interface Places {
  /** Takes a place until it is disposed of. @throws the refusal where all are taken */
  enter(accountId: string): Disposable
}

/**
 * Makes room for `most` at once of each account. The places are those of this process, whose memory and
 * connections they guard: where several processes share the calls, an account has as many in each.
 * @param refuse the refusal of one more
 */
export function createPlaces(most: number, refuse: (taken: number) => Problem): Places {
  const open = new Map<string, number>()
  return {
    enter: (accountId) => {
      const count = open.get(accountId) ?? 0
      if (count >= most) throw refuse(count)
      open.set(accountId, count + 1)
      return {
        [Symbol.dispose]: () => {
          const left = (open.get(accountId) ?? 0) - 1
          if (left > 0) open.set(accountId, left)
          else open.delete(accountId)
        },
      }
    },
  }
}
