import { setImmediate as turn } from 'node:timers/promises'

/** A server has replied to nobody for too long. */
export class SilenceError extends Error {
  override readonly name = 'SilenceError'
}

/**
 * Tells a server that is down from one that is slow: one that is down replies to none of its
 * callers.
 */
export interface SilenceWatch {
  /**
   * Waits for a reply as long as the server replies to anybody.
   *
   * @param isProof whether a reply shows that the server is up, which one from a cache does not
   * @throws SilenceError if it has replied to nobody for the limit; the request itself goes on
   */
  watch<T>(asked: Promise<T>, isProof?: boolean): Promise<T>
  /** Whether there were only failures and missing replies for the limit. */
  isSilent(): boolean
}

/** @param limitMs how long a server may reply to nobody before it counts as down */
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
