import { Problem } from '@plumbline/contract/problem'

/** The time of one call: what is not there by its end fails the call with 504. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal
  readonly leftMs: () => number
  /** The value, or the refusal where time is up first; `late` is then told. */
  first<T>(value: Promise<T>, late: () => void): Promise<T>
}

/** Starts the time of a call; disposing ends it early. */
export function startDeadline(timeoutMs: number): Deadline {
  const endMs = performance.now() + timeoutMs
  const controller = new AbortController()
  const { signal } = controller
  // Not `AbortSignal.timeout`, whose timers would outlive thousands of quick calls by far.
  const timer = setTimeout(() => controller.abort(new Error('the call is late')), timeoutMs)
  return {
    signal,
    leftMs: () => Math.max(0, endMs - performance.now()),
    first: async (value, late) => {
      const { promise: refused, reject } = Promise.withResolvers<never>()
      const onLate = (): void => {
        late()
        reject(new Problem('timeout', 'The call took too long and was not charged; send it again.'))
      }
      signal.addEventListener('abort', onLate, { once: true })
      try {
        return await Promise.race([value, refused])
      } finally {
        signal.removeEventListener('abort', onLate)
      }
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  }
}
