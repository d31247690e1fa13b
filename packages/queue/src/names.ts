import { CHECKS, type Check } from '@plumbline/contract/products'

/** Queue of the single calls of a check. */
export type LiveQueueName = `live-${Check}`

/** Queue of the chunks of lists of a check. */
export type BulkQueueName = `bulk-${Check}`

/** Every queue there is: two for each check, one that reads lists, one that writes their results. */
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

/** The queue of list chunks of a check. */
export function bulkQueueOf(check: Check): BulkQueueName {
  return `bulk-${check}`
}
