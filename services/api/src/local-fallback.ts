import { withTimeOut } from '@plumbline/concurrency/time-out'
import type { Limiter } from '@plumbline/ports/limiter'

/** Milliseconds that a call waits for the shared limiter. */
const SHARED_TIMEOUT_MS = 250

/** Milliseconds for which the shared limiter is not asked after it failed. */
const FALLBACK_MS = 2_000

/**
 * Uses the shared limiter, or one of this process while the shared one does not reply: a limit for
 * each process is better than calls that fail or wait.
 */
export function withLocalFallback(
  shared: Pick<Limiter, 'take'>,
  local: Pick<Limiter, 'take'>,
  onError: (error: unknown) => void,
): Pick<Limiter, 'take'> {
  let fallbackUntil = 0
  return {
    take: async (key, count, rate) => {
      if (performance.now() < fallbackUntil) return await local.take(key, count, rate)
      try {
        const grant = shared.take(key, count, rate)
        return await withTimeOut(SHARED_TIMEOUT_MS, grant, 'the shared limiter is slow')
      } catch (error) {
        fallbackUntil = performance.now() + FALLBACK_MS
        onError(error)
        return await local.take(key, count, rate)
      }
    },
  }
}
