/** Resolves when it is the caller's turn to keep the process busy for a while. */
export type Turn = () => Promise<void>

/**
 * Gives turns in the order in which they are asked for, one in each round of the event loop: however many
 * ask, other calls wait no longer than for one of them.
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
