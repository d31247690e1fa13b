import { createSilenceWatch, SilenceError } from '@plumbline/concurrency/silence'
import { withTimeOut } from '@plumbline/concurrency/time-out'
import { MESSAGES, Problem } from '@plumbline/contract/problem'

/** Limits how long calls wait for the database. */
export interface DatabaseTimeLimit {
  /**
   * The database's reply, or the refusal of the call if the database no longer replies to any
   * query, or to none of this call for five seconds.
   * @param options `late` is called if the call is refused, while the query goes on; `isCached` if
   * it may be answered without the database; `hasDeadline` if the call's own deadline ends the wait
   * while the database replies to others
   * @throws Problem `unavailable`
   */
  orRefused<T>(
    asked: Promise<T>,
    options?: {
      readonly late?: () => void
      readonly isCached?: boolean
      readonly hasDeadline?: boolean
    },
  ): Promise<T>
}

/**
 * Milliseconds without a reply or a byte after which the database counts as down: calls are then
 * refused within two seconds.
 */
const SILENT_MS = 1_000

/**
 * Milliseconds that a call waits for one reply while others get theirs: its connection may be dead,
 * or its statement wait for a lock.
 */
const MOST_MS = 5_000

/**
 * Milliseconds that a refusal waits for work that it need not wait for, such as freeing an
 * idempotency key.
 */
const REFUSAL_MS = 200

/**
 * Makes the limit of one process.
 *
 * @param receivedBytes bytes received from the database so far
 */
export function createDatabaseTimeLimit(receivedBytes: () => number): DatabaseTimeLimit {
  const database = createSilenceWatch(SILENT_MS, receivedBytes)
  return {
    async orRefused(asked, { late, isCached = false, hasDeadline = false } = {}) {
      try {
        return await database.watch(asked, !isCached, hasDeadline ? undefined : MOST_MS)
      } catch (error) {
        if (!(error instanceof SilenceError)) throw error
        late?.()
        const options = { cause: error, retryAfterSeconds: 2 }
        throw new Problem('unavailable', MESSAGES.unavailable, options)
      }
    },
  }
}

/**
 * Waits a moment, by default `REFUSAL_MS`, for work that never rejects; it then goes on in the
 * background, and its value is undefined.
 */
export async function waitBriefly<T>(
  work: Promise<T>,
  mostMs: number = REFUSAL_MS,
): Promise<T | undefined> {
  return await withTimeOut(mostMs, work).catch(() => undefined)
}
