/** Resolves when it is the caller's turn to keep the process busy for a while. */
export type Turn = () => Promise<void>

/**
 * Schedules turns first come, first served, one in each iteration of the event loop: however many wait, other
 * calls are delayed by one of them at most.
 */
export function createTurns(): Turn {
  const waiting: (() => void)[] = []
  let open = false
  const next = (): void => {
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
