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
   * Waits for a reply for as long as the server replies to any caller, or sends anything at all.
   *
   * @param isProof whether the reply proves that the server is up; a cached one does not
   * @throws SilenceError if the server has neither replied nor sent anything for the limit; the
   * request itself continues
   */
  watch<T>(reply: Promise<T>, isProof?: boolean): Promise<T>
  /** Whether all replies have failed or been missing for the limit. */
  isSilent(): boolean
}

/** How often a missing reply is looked for within the limit. */
const LOOKS = 4

/**
 * Creates a watch over one server.
 *
 * @param limitMs milliseconds without a reply to any caller after which the server counts as down;
 * a standstill of this process, on a busy machine, counts as the time between two looks at most
 * @param receivedBytes bytes received from the server so far: on a busy machine a connection may
 * take longer than the limit to open, step by step; absent: only replies count
 */
export function createSilenceWatch(limitMs: number, receivedBytes?: () => number): SilenceWatch {
  const stepMs = limitMs / LOOKS
  let repliedAtMs = Number.NEGATIVE_INFINITY
  /** When the first request failed since the last reply; null while the server replies. */
  let failingSinceMs: number | null = null

  function failed(sentAtMs: number): void {
    failingSinceMs ??= Math.max(sentAtMs, repliedAtMs)
  }

  return {
    // Without `Promise.race` and signals, which cost more than a quick answer does.
    watch: (reply, isProof = true) =>
      new Promise((resolve, reject) => {
        const sentAtMs = performance.now()
        let isOver = false
        let lookedAtMs = sentAtMs
        let leftMs = limitMs
        let seenBytes: number | undefined
        const look = async (): Promise<void> => {
          // A process that was too busy to read a reply in time reads it now.
          await turn()
          await turn()
          if (isOver) return
          const bytes = receivedBytes?.()
          const isHeard = seenBytes !== undefined && bytes !== seenBytes
          seenBytes = bytes
          if (isHeard || repliedAtMs >= lookedAtMs) leftMs = limitMs
          // A look that comes late says that this process stood still, not that the server did.
          leftMs -= Math.min(performance.now() - Math.max(lookedAtMs, repliedAtMs), stepMs)
          lookedAtMs = performance.now()
          if (leftMs > 0) {
            timer = setTimeout(() => void look(), Math.min(leftMs, stepMs))
            return
          }
          failed(sentAtMs)
          reject(new SilenceError(`no reply to any caller within ${limitMs} ms`))
        }
        let timer = setTimeout(() => void look(), stepMs)
        const end = (): void => {
          isOver = true
          clearTimeout(timer)
        }
        reply.then(
          (answer) => {
            end()
            if (isProof) {
              repliedAtMs = performance.now()
              failingSinceMs = null
            }
            resolve(answer)
          },
          (error: unknown) => {
            end()
            failed(sentAtMs)
            reject(error)
          },
        )
      }),
    isSilent: () => failingSinceMs !== null && performance.now() - failingSinceMs >= limitMs,
  }
}
