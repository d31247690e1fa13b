/** Waits that can be ended early, for polling loops whose work may be announced. */
export class WakeUp {
  readonly #ends = new Set<() => void>()

  /** Ends the current waits; later ones are not affected. */
  ring(): void {
    for (const end of this.#ends) end()
  }

  /** Resolves after this time, when `ring` is called, or when the signal aborts. */
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
