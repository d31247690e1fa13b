import { retryAfterMs } from '@plumbline/net/retry-after'

/** The longest wait that a receiver may ask for, in seconds. */
const LONGEST_ASKED_SECONDS = 24 * 3_600

/** Random share of a delay, so that simultaneous failures are not retried simultaneously. */
const JITTER = 0.1

/**
 * Milliseconds until the next attempt; null if that was the last.
 *
 * @param attempt number of the failed attempt, from 1
 * @param schedule seconds between consecutive attempts
 * @param retryAfter the response header, in seconds or as a date (RFC 9110 10.2.3)
 * @param random from 0 to 1
 */
export function retryMs(
  attempt: number,
  schedule: readonly number[],
  retryAfter: string | undefined,
  { nowMs, random }: { readonly nowMs: number; readonly random: number },
): number | null {
  const seconds = schedule[attempt - 1]
  if (seconds === undefined) return null
  const ownMs = seconds * 1_000 * (1 + (2 * random - 1) * JITTER)
  const askedMs = retryAfterMs(retryAfter, nowMs) ?? 0
  return Math.max(ownMs, Math.min(askedMs, LONGEST_ASKED_SECONDS * 1_000))
}

/** The longest time between two attempts of a message, in milliseconds. */
export function longestRetryMs(schedule: readonly number[]): number {
  return Math.max(LONGEST_ASKED_SECONDS, ...schedule.map((each) => each * (1 + JITTER))) * 1_000
}
