import type { Problem } from '@plumbline/contract/problem'
import type { Metrics } from '@plumbline/runtime/metrics'

/** Counts refusals by code and limit. */
export type RefusalCounter = (problem: Pick<Problem, 'code' | 'limit'>) => void

/** Makes the counter of a program; one for each program. */
export function createRefusalCounter(metrics: Metrics): RefusalCounter {
  const refusals = metrics.counter(
    'refusals_total',
    'Requests that were refused or failed, by the code of the problem and the limit it is about.',
    ['code', 'limit'],
  )
  return ({ code, limit }) => refusals.inc({ code, limit: limit ?? '' })
}
