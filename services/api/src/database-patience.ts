import { createSilenceWatch, SilenceError } from '@plumbline/concurrency/silence'
import { withTimeOut } from '@plumbline/concurrency/time-out'
import { MESSAGES, Problem } from '@plumbline/contract/problem'

/** How long calls wait for the database. */
export interface DatabasePatience {
  /**
   * What the database answers to a call, or the refusal of the call where it answers nobody any
   * more.
   * @param options `late` is called where the call is refused: what was asked goes on; `isCached`
   *   where it may be answered without the database
   * @throws Problem `unavailable`
   */
  orRefused<T>(
    asked: Promise<T>,
    options?: { readonly late?: () => void; readonly isCached?: boolean },
  ): Promise<T>
}

/**
 * For so long the database may answer nobody: a call is refused within two seconds where it is
 * away.
 */
const SILENT_MS = 1_000

/** How long a refusal waits for what it would like to do or tell beside. */
const REFUSAL_MS = 200

/** Makes the patience of one process. */
export function createDatabasePatience(): DatabasePatience {
  const database = createSilenceWatch(SILENT_MS)
  return {
    async orRefused(asked, { late, isCached = false } = {}) {
      try {
        return await database.watch(asked, !isCached)
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
 * Waits a moment for what a refusal does beside, which never rejects; it goes on where it takes
 * longer.
 */
export async function forMoment(asked: Promise<void>): Promise<void> {
  await withTimeOut(REFUSAL_MS, asked).catch(() => undefined)
}
