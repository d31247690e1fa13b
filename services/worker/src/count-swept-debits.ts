import type { SweepOptions } from '@plumbline/pipeline/sweeps'
import type { Metrics } from '@plumbline/runtime/metrics'

/** Makes the counters of single calls that the sweep refunded; one for each program. */
export function createSweptDebitCounter(metrics: Metrics): SweepOptions['onSwept'] {
  const calls = metrics.counter(
    'debits_swept_total',
    'Single calls that had no answer within their time and were given their credits back.',
    [],
  )
  // The API counts its own refunds by the same name, so that their sum is what all calls got back.
  const credits = metrics.counter(
    'credits_refunded_total',
    'Credits that single calls without an answer were given back.',
    ['product'],
  )
  return (debits) => {
    calls.inc(debits.length)
    for (const { product, given } of debits) if (product !== null) credits.inc({ product }, given)
  }
}
