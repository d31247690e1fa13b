/** Rests that can be ended early: of loops that look now and then, where somebody may know that there is work. */
export class WakeUp {
  readonly #ends = new Set<() => void>()

  /** Ends the rests under way; a rest that begins later lasts. */
  ring(): void {
    for (const end of this.#ends) end()
  }

  /** Resolves after so many milliseconds, at a ring, or where the signal aborts. */
  async rest(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const end = (): void => resolve()
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
    this.#ends.add(end)
    await promise
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
    this.#ends.delete(end)
  }
}
