/** A token bucket of queries; a server without a rate never refuses. */
export interface Throttle {
  /** Seconds to wait; 0 if the query is allowed. */
  take(): number
}

/** A bucket that refills `perSecond` up to `burst`. */
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
