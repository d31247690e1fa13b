/** Waits that another part of the process can end early, for loops that poll for work. */
export class WakeUp {
  readonly #ends = new Set<() => void>()

  /** Ends the current waits; later ones are not affected. */
  wake(): void {
    for (const end of this.#ends) end()
  }

  /** Resolves after this time, when `wake` is called, or when the signal aborts. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
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
