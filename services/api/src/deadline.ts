import { MESSAGES, Problem } from '@plumbline/contract/problem'

/** The time-out of one call, which fails it with 504. */
export interface Deadline extends Disposable {
  readonly leftMs: () => number
  /** Resolves with the value, or rejects with the refusal at the deadline, after calling `late`. */
  first<T>(value: Promise<T>, late?: () => void): Promise<T>
}

/** Starts the deadline of a call; disposing of it stops its timer. */
export function startDeadline(timeoutMs: number): Deadline {
  const endMs = performance.now() + timeoutMs
  const ends = new Set<() => void>()
  // One timer and no `AbortSignal`: its listeners are a twentieth of what a quick call costs.
  const timer = setTimeout(() => {
    for (const end of ends) end()
  }, timeoutMs)
  const leftMs = (): number => Math.max(0, endMs - performance.now())
  return {
    leftMs,
    first: (value, late) =>
      new Promise((resolve, reject) => {
        const end = (): void => {
          late?.()
          reject(new Problem('timeout', MESSAGES.timeout))
        }
        const inTime = (settle: () => void): void => {
          ends.delete(end)
          settle()
        }
        ends.add(end)
        value.then(
          (found) => inTime(() => resolve(found)),
          (error: unknown) => inTime(() => reject(error)),
        )
        if (leftMs() === 0) end()
      }),
    [Symbol.dispose]: () => clearTimeout(timer),
  }
}
