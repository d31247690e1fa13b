import type { Check } from '@plumbline/contract/products'

/** Checks whose jobs the queue's server rejects although it replies, as a full Redis does. */
export interface JobRejections {
  /** Records that a job of the check was added. */
  accepted(check: Check): void
  /** Records the error of a job of the check; it counts only if the server takes no writes. */
  failed(check: Check, error: unknown): void
  /**
   * Whether every job of the check was rejected for the limit, and one within the last second. After
   * that second a job may be tried: if it is rejected too, this is true again at once.
   */
  isRejecting(check: Check): boolean
}

/** Milliseconds between two tries. */
const TRY_EVERY_MS = 1_000

/**
 * Creates a record without rejections.
 *
 * @param limitMs milliseconds of rejections after which they are not a moment's, such as that in
 * which a replica is promoted
 */
export function createJobRejections(
  limitMs: number,
  now: () => number = () => performance.now(),
): JobRejections {
  const rejecting = new Map<Check, { readonly sinceMs: number; readonly lastMs: number }>()
  return {
    accepted: (check) => void rejecting.delete(check),
    failed(check, error) {
      if (!takesNoWrites(error)) return
      const lastMs = now()
      rejecting.set(check, { sinceMs: rejecting.get(check)?.sinceMs ?? lastMs, lastMs })
    },
    isRejecting(check) {
      const rejected = rejecting.get(check)
      if (rejected === undefined || now() - rejected.lastMs >= TRY_EVERY_MS) return false
      return rejected.lastMs - rejected.sinceMs >= limitMs
    },
  }
}

/**
 * Errors of a Redis that is full, a replica, cannot save its data, or has too few replicas. Source:
 * Redis 7, `src/server.c`.
 */
const NO_WRITES = /^(?:OOM|READONLY|MISCONF|NOREPLICAS) /

function takesNoWrites(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError' && NO_WRITES.test(error.message)
}
