/** Resolves when it is the caller's turn to keep the process busy for a while. */
export type Turn = () => Promise<void>

/**
 * Iterations of the event loop from one turn to the next. Each accepts one connection (libuv, since
 * 1.45): with a turn in each of them, whoever comes after a hundred others would wait for a hundred
 * turns.
 */
export const ROUNDS_A_TURN = 8

/**
 * Schedules turns first come, first served, one in several iterations of the event loop: however
 * many wait, other calls are delayed by a few of them at most.
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
