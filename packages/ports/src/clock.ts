import { setTimeout as delay } from 'node:timers/promises'

/** Time and waiting, passed in so that tests can use their own. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** Resolves after that time, or at once when the signal aborts; never rejects. */
  wait(ms: number, signal: AbortSignal): Promise<void>
  /** Runs the work at that interval until disposed. */
  every(ms: number, work: () => void): Disposable
}

/** The clock of the process. */
export const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  wait: (ms, signal) => delay(ms, undefined, { signal }).catch(() => undefined),
  every(ms, work) {
    const timer = setInterval(work, ms)
    return { [Symbol.dispose]: () => clearInterval(timer) }
  },
}
