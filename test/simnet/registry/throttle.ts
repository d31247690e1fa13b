/** A token bucket that limits the queries to a server. */
export interface Throttle {
  /** Seconds to wait; 0 if the query is allowed. */
  take(): number
}

/** Creates a bucket of `burst` queries, refilled with `perSecond`; undefined: no limit. */
export function createThrottle(perSecond: number | undefined, burst: number | undefined): Throttle {
  if (perSecond === undefined) return { take: () => 0 }
  const most = burst ?? perSecond
  let tokens = most
  let lastMs = performance.now()
  return {
    take: () => {
      const nowMs = performance.now()
      tokens = Math.min(most, tokens + ((nowMs - lastMs) / 1000) * perSecond)
      lastMs = nowMs
      if (tokens < 1) return (1 - tokens) / perSecond
      tokens -= 1
      return 0
    },
  }
}
