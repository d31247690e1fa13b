/** Resolves when the caller may block the process for a while. */
export type Turn = () => Promise<void>

/**
 * Iterations of the event loop from one turn to the next. Each accepts one connection (libuv, since
 * 1.45): with a turn in each of them, a client after a hundred others would wait for a hundred
 * turns.
 */
export const ROUNDS_A_TURN = 8

/**
 * Schedules turns first come, first served, one in several iterations of the event loop, so that
 * other calls are delayed by a few turns at most.
 */
export function createTurns(): Turn {
  const waiting: (() => void)[] = []
  let open = false
  let roundsLeft = ROUNDS_A_TURN
  const next = (): void => {
    roundsLeft -= 1
    if (roundsLeft > 0) {
      setImmediate(next)
      return
    }
    roundsLeft = ROUNDS_A_TURN
    const resolve = waiting.shift()
    open = resolve !== undefined
    if (open) setImmediate(next)
    resolve?.()
  }
  return async () => {
    await new Promise<void>((resolve) => {
      waiting.push(resolve)
      if (!open) setImmediate(next)
      open = true
    })
  }
}
