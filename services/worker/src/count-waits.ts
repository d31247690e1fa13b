import type { Check } from '@plumbline/contract/products'
import type { Metrics } from '@plumbline/runtime/metrics'

/** Counts how long work waited in its queue before a worker began with it, in milliseconds. */
export interface WaitCounter {
  /** Of a question of a single call. */
  live(check: Check, waitedMs: number): void
  /** Of a task of a batch. */
  bulk(check: Check, waitedMs: number): void
}

/** Histogram buckets of a question's wait, in seconds; a call ends after 15. */
const LIVE_SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 15]

/** Histogram buckets of a task's wait, in seconds. */
const BULK_SECONDS = [0.01, 0.05, 0.25, 1, 5, 30, 120, 600]

/** Makes the counter of waits; one for each program. */
export function createWaitCounter(metrics: Metrics): WaitCounter {
  const live = metrics.histogram(
    'live_queue_seconds',
    'Time that a question of a single call waited before a worker began with it.',
    ['check'],
    LIVE_SECONDS,
  )
  const bulk = metrics.histogram(
    'batch_queue_seconds',
    'Time that a task of a batch waited in its queue for a worker.',
    ['check'],
    BULK_SECONDS,
  )
  return {
    live: (check, waitedMs) => live.observe({ check }, waitedMs / 1_000),
    bulk: (check, waitedMs) => bulk.observe({ check }, waitedMs / 1_000),
  }
}
