import { CHECKS, type Check } from '@plumbline/contract/products'

/** Queue of the single calls of a check. */
export type LiveQueueName = `live-${Check}`

/** Queue of the tasks of batches of a check. */
export type BulkQueueName = `bulk-${Check}`

/**
 * Every queue: two for each check, and one for each stage of a batch (reading its file, writing its
 * results).
 */
export type QueueName = LiveQueueName | BulkQueueName | 'intake' | 'finish'

/** All queues, for metrics. */
export const QUEUE_NAMES: readonly QueueName[] = [
  ...CHECKS.flatMap((check) => [liveQueueOf(check), bulkQueueOf(check)]),
  'intake',
  'finish',
]

/** The queue of single calls of a check. */
export function liveQueueOf(check: Check): LiveQueueName {
  return `live-${check}`
}

/** The queue of a check's tasks of batches. */
export function bulkQueueOf(check: Check): BulkQueueName {
  return `bulk-${check}`
}
