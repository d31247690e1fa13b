import { setImmediate as turn } from 'node:timers/promises'

/** Whether the server of the queue answers, by what was last asked of it. */
export interface OutageWatch {
  /**
   * Waits for an answer of the server.
   * @throws Error where the server answers with one, or with nothing in time; what was asked goes on
   */
  watch<T>(asked: Promise<T>): Promise<T>
  /** Whether nothing came of what was asked for so long that calls should not wait for it. */
  isAway(): boolean
}

/** @param awayMs how long the server may be silent, or refuse, before it counts as away */
export function createOutageWatch(
  awayMs: number,
  now: () => number = () => performance.now(),
): OutageWatch {
  /** When the first of what failed was asked, with no answer since; null while all is well. */
  let sinceMs: number | null = null
  return {
    async watch(asked) {
      const askedAtMs = now()
      try {
        const answer = await inTime(awayMs, asked)
        sinceMs = null
        return answer
      } catch (error) {
        sinceMs ??= askedAtMs
        throw error
      }
    },
    isAway: () => sinceMs !== null && now() - sinceMs >= awayMs,
  }
}

/** The answer; where the process itself was too busy to read it in time, it counts as having come. */
async function inTime<T>(limitMs: number, asked: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const giveUp = async (): Promise<void> => {
    await turn()
    await turn()
    late.reject(new Error(`the server of the queue did not answer in ${limitMs} ms`))
  }
  const timer = setTimeout(() => void giveUp(), limitMs)
  try {
    return await Promise.race([asked, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
