import type { BatchCreditCounter } from '@plumbline/pipeline/pipeline'
import type { Metrics } from '@plumbline/runtime/metrics'

/** Makes the counters of what batches cost; one for each program. */
export function createBatchCreditCounter(metrics: Metrics): BatchCreditCounter {
  const charged = metrics.counter(
    'batch_credits_charged_total',
    'Credits that rows of batches cost, as their chunks were settled.',
    ['product'],
  )
  const released = metrics.counter(
    'batch_credits_released_total',
    'Held credits that batches were given back at their end.',
    ['product'],
  )
  return {
    // A counter throws for a negative number, when the credits are already committed.
    charged: (product, credits) => charged.inc({ product }, Math.max(0, credits)),
    released: (product, credits) => released.inc({ product }, Math.max(0, credits)),
  }
}
