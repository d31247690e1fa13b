import { setImmediate as turn } from 'node:timers/promises'

/** Nothing was heard of a server for too long. */
export class SilenceError extends Error {
  override readonly name = 'SilenceError'
}

/** Tells a server that is away from one that is only slow: it answers nobody, not only not this one. */
export interface SilenceWatch {
  /**
   * Waits for an answer as long as the server answers anybody.
   * @param isProof whether an answer shows that the server is there, as one from a cache does not
   * @throws SilenceError if it has answered nobody for the limit; what was asked goes on
   */
  watch<T>(asked: Promise<T>, isProof?: boolean): Promise<T>
  /** Whether nothing but failures and silence came for the limit. */
  isSilent(): boolean
}

/** @param limitMs how long a server may answer nobody before it counts as away */
export function createSilenceWatch(
  limitMs: number,
  now: () => number = () => performance.now(),
): SilenceWatch {
  let answeredAtMs = Number.NEGATIVE_INFINITY
  /** When the first of what failed was asked, with no answer since; null while all is well. */
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
