import { setImmediate as turn } from 'node:timers/promises'

/** Thrown when a server has not replied to any caller for too long. */
export class SilenceError extends Error {
  override readonly name = 'SilenceError'
}

/**
 * Distinguishes a server that is down from a slow one: the former replies to none of its callers.
 */
export interface SilenceWatch {
  /**
   * Waits for a reply for as long as the server replies to any caller.
   *
   * @param isProof whether the reply shows that the server is up; one from a cache does not
   * @throws SilenceError if the server has not replied to any caller for the limit; the request
   * itself continues
   */
  watch<T>(asked: Promise<T>, isProof?: boolean): Promise<T>
  /** Whether there were only failures and missing replies for the limit. */
  isSilent(): boolean
}

/** @param limitMs time without a reply to any caller after which a server counts as down */
export function createSilenceWatch(
  limitMs: number,
  now: () => number = () => performance.now(),
): SilenceWatch {
  let answeredAtMs = Number.NEGATIVE_INFINITY
  /** When the first of the current failures was requested; null while the server replies. */
  let failingSinceMs: number | null = null

  function quietMs(askedAtMs: number): number {
    return now() - Math.max(askedAtMs, answeredAtMs)
  }

  function failed(askedAtMs: number): void {
    failingSinceMs ??= Math.max(askedAtMs, answeredAtMs)
  }

  return {
    // Without `Promise.race` and signals, which cost more than a quick answer does.
    watch: (asked, isProof = true) =>
      new Promise((resolve, reject) => {
        const askedAtMs = now()
        let isOver = false
        const look = async (): Promise<void> => {
          // A process that was too busy to read an answer in time reads it now.
          await turn()
          await turn()
          if (isOver) return
          const leftMs = limitMs - quietMs(askedAtMs)
          if (leftMs > 0) {
            timer = setTimeout(() => void look(), leftMs)
            return
          }
          failed(askedAtMs)
          reject(new SilenceError(`no answer to anybody in ${limitMs} ms`))
        }
        let timer = setTimeout(() => void look(), limitMs)
        const end = (): void => {
          isOver = true
          clearTimeout(timer)
        }
        asked.then(
          (answer) => {
            end()
            if (isProof) {
              answeredAtMs = now()
              failingSinceMs = null
            }
            resolve(answer)
          },
          (error: unknown) => {
            end()
            failed(askedAtMs)
            reject(error)
          },
        )
      }),
    isSilent: () => failingSinceMs !== null && now() - failingSinceMs >= limitMs,
  }
}
