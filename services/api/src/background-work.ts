import { settledWithin } from '@plumbline/concurrency/time-out'

/** Work that goes on after its call was answered; disposing waits for it, as long as a stop allows. */
export interface BackgroundWork extends AsyncDisposable {
  /** Adds work, which reports its own errors and never rejects. */
  add(work: Promise<void>): void
}

/**
 * Milliseconds that a stop waits for the work: less than remain between the end of running calls
 * and that of the process.
 */
const STOP_MS = 5_000

/** Makes an empty set of work. */
export function createBackgroundWork(): BackgroundWork {
  const running = new Set<Promise<void>>()
  return {
    add: (work) => {
      running.add(work)
      void work.finally(() => running.delete(work))
    },
    [Symbol.asyncDispose]: async () => {
      await settledWithin(STOP_MS, Promise.all(running))
    },
  }
}
