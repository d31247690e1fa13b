/** Milliseconds by which the clocks of two processes may differ. */
const CLOCKS_DIFFER_MS = 60_000

/**
 * Milliseconds that are left of a pause which ends at a time of the wall clock; 0 if it is over. One
 * with more left than the longest of its kind is over: the clock was set back since.
 */
export function pauseLeftMs(untilMs: number, nowMs: number, longestMs: number): number {
  const leftMs = untilMs - nowMs
  return leftMs > longestMs + CLOCKS_DIFFER_MS ? 0 : Math.max(0, leftMs)
}
