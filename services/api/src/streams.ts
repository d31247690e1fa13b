import { Problem } from '@plumbline/contract/problem'

/** Places of streams, by account. */
export interface Streams {
  /** Takes a place until it is disposed of. @throws Problem `too_many_requests` where all are taken */
  enter(accountId: string): Disposable
}

/** Seconds after which a client may see whether a stream of its account has ended. */
const RETRY_SECONDS = 5

/** Makes room for `most` streams of each account. */
export function createStreams(most: number): Streams {
  const open = new Map<string, number>()
  return {
    enter: (accountId) => {
      const count = open.get(accountId) ?? 0
      if (count >= most) {
        throw new Problem(
          'too_many_requests',
          `The account has ${count} streams of events open; close one first.`,
          { retryAfterSeconds: RETRY_SECONDS },
        )
      }
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
