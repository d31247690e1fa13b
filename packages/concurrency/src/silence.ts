import { setImmediate as turn } from 'node:timers/promises'

/** Thrown when a server has not replied for too long: to any caller, or to this one. */
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
   * @param mostMs milliseconds that the reply is waited for at most, whoever else gets one; by
   * default without end
   * @throws SilenceError if the server has neither replied nor sent anything for the limit, or this
   * reply is missing after `mostMs`; the request itself continues
   */
  watch<T>(reply: Promise<T>, isProof?: boolean, mostMs?: number): Promise<T>
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
    watch: (reply, isProof = true, mostMs = Number.POSITIVE_INFINITY) =>
      new Promise((resolve, reject) => {
        const sentAtMs = performance.now()
        let isOver = false
        let lookedAtMs = sentAtMs
        let leftMs = limitMs
        let leftInAllMs = mostMs
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
          const nowMs = performance.now()
          leftMs -= Math.min(nowMs - Math.max(lookedAtMs, repliedAtMs), stepMs)
          leftInAllMs -= Math.min(nowMs - lookedAtMs, stepMs)
          lookedAtMs = nowMs
          if (leftMs > 0 && leftInAllMs > 0) {
            timer = setTimeout(() => void look(), Math.min(leftMs, leftInAllMs, stepMs))
            return
          }
          if (leftMs > 0) {
            // Others were replied to: the server is not down.
            reject(new SilenceError(`no reply within ${mostMs} ms`))
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
