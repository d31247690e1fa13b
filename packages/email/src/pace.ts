/** How many connections a group may have now, and when it may be probed again. */
export interface Pace {
  /** Connections allowed at this moment. */
  connections(): number
  /** Records a transaction that was not throttled. */
  succeeded(): void
  /** Records that we were throttled. */
  throttled(): void
  /** End of the pause after throttling, by the group's clock; 0 if there was none. */
  readonly pausedUntilMs: number
}

/**
 * The pause after the first throttled transaction; doubled with each further one, up to the
 * longest.
 */
const PAUSE_FIRST_MS = 2_000
const PAUSE_LONGEST_MS = 5 * 60_000

/** Successful transactions on each connection before another one is added. */
const GROW_TRANSACTIONS = 4

/**
 * Begins with `start` connections; adds one while transactions succeed, halves them when throttled,
 * up to `cap`.
 */
export function createPace(start: number, cap: number, now: () => number): Pace {
  let allowed = Math.max(1, Math.min(start, cap))
  let goodCount = 0
  let pauseMs = 0
  let pausedUntilMs = 0
  return {
    connections: () => Math.floor(allowed),
    succeeded() {
      pauseMs = 0
      if (++goodCount < GROW_TRANSACTIONS * allowed || allowed >= cap) return
      goodCount = 0
      allowed = Math.min(cap, allowed + 1)
    },
    throttled() {
      goodCount = 0
      allowed = Math.max(1, Math.floor(allowed / 2))
      pauseMs = Math.min(PAUSE_LONGEST_MS, pauseMs === 0 ? PAUSE_FIRST_MS : pauseMs * 2)
      pausedUntilMs = now() + pauseMs
    },
    get pausedUntilMs() {
      return pausedUntilMs
    },
  }
}
