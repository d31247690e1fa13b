/** Resolves when the caller may run for a moment without interruption. */
export type Turn = () => Promise<void>

/**
 * Schedules turns first come, first served, so that callers who each block the process for a moment
 * do not do so one right after the other.
 *
 * @param rounds iterations of the event loop from one turn to the next
 */
export function createTurns(rounds: number): Turn {
  const waiting: (() => void)[] = []
  let open = false
  let roundsLeft = rounds
  const next = (): void => {
    roundsLeft -= 1
    if (roundsLeft > 0) {
      setImmediate(next)
      return
    }
    roundsLeft = rounds
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
