import type { Limiter } from '@plumbline/ports/engine'

/** How a caller stands with its limit. */
export interface RateState {
  readonly granted: boolean
  /** Calls at once that the bucket holds when full. */
  readonly burst: number
  /** Seconds in which an empty bucket fills. */
  readonly windowSeconds: number
  readonly remaining: number
  /** Until the bucket is full. */
  readonly resetSeconds: number
  /** Until a refused call may come again; 0 where it was granted. */
  readonly retryMs: number
}

/** A limit of `perSecond` with bursts, by key. */
export interface Rate {
  take(key: string): Promise<RateState>
}

/** How long a call waits for the shared limiter, and how long it is left alone after it failed. */
const SHARED_MS = 250
const ALONE_MS = 2_000

/**
 * The shared limiter, and this process's own while the shared one does not answer: a limit that is kept
 * by each process is better than calls that fail or wait.
 */
export function orOwn(
  shared: Pick<Limiter, 'take'>,
  own: Pick<Limiter, 'take'>,
  onError: (error: unknown) => void,
): Pick<Limiter, 'take'> {
  let aloneUntil = 0
  return {
    take: async (key, count, rate) => {
      if (performance.now() < aloneUntil) return await own.take(key, count, rate)
      const { promise: late, reject } = Promise.withResolvers<never>()
      const timer = setTimeout(() => reject(new Error('the shared limiter is slow')), SHARED_MS)
      try {
        return await Promise.race([shared.take(key, count, rate), late])
      } catch (error) {
        aloneUntil = performance.now() + ALONE_MS
        onError(error)
        return await own.take(key, count, rate)
      } finally {
        clearTimeout(timer)
      }
    },
  }
}

/** Makes a limit over a limiter; `name` stands before its keys there. */
export function createRate(options: {
  name: string
  perSecond: number
  burst: number
  limiter: Pick<Limiter, 'take'>
}): Rate {
  const { name, perSecond, burst, limiter } = options
  const windowSeconds = Math.max(1, Math.ceil(burst / perSecond))
  return {
    take: async (key) => {
      const grant = await limiter.take(`${name}:${key}`, 1, { perSecond, burst })
      const remaining = grant.remaining ?? 0
      return {
        granted: grant.granted,
        burst,
        windowSeconds,
        remaining,
        resetSeconds: Math.ceil((burst - remaining) / perSecond),
        retryMs: grant.granted ? 0 : Math.max(1, grant.retryMs),
      }
    },
  }
}
