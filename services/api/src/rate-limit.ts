import type { Limiter } from '@plumbline/ports/limiter'

/** State of a rate limit after one call. */
export interface RateState {
  readonly granted: boolean
  /** Capacity of the bucket, in calls. */
  readonly burst: number
  /** Seconds until an empty bucket is full. */
  readonly windowSeconds: number
  readonly remaining: number
  /** Seconds until the bucket is full. */
  readonly resetSeconds: number
  /** Milliseconds until a refused call may be repeated; 0 where it was granted. */
  readonly retryMs: number
}

/** A rate for one key that differs from the default. */
export interface OwnRate {
  /** Calls a second in place of the default; null for the default. */
  readonly callsPerSecond: number | null
  readonly callsBurst: number | null
}

/** A token bucket for each key. */
export interface RateLimit {
  take(key: string, own?: OwnRate): Promise<RateState>
}

/** Makes a rate limit on top of a limiter; `name` is the prefix of its keys there. */
export function createRateLimit(options: {
  name: string
  perSecond: number
  burst: number
  limiter: Pick<Limiter, 'take'>
}): RateLimit {
  const { name, limiter } = options
  return {
    take: async (key, own) => {
      const perSecond = own?.callsPerSecond ?? options.perSecond
      const burst = own?.callsBurst ?? options.burst
      const windowSeconds = Math.max(1, Math.ceil(burst / perSecond))
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
