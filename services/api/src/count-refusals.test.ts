import { Problem } from '@plumbline/contract/problem'
import { createMetrics } from '@plumbline/runtime/metrics'
import { expect, test } from 'vitest'
import { createCallLimit } from './call-limit.ts'
import { createRefusalCounter } from './count-refusals.ts'

test('refusals are counted by code, and those of limits by limit', async () => {
  const metrics = createMetrics()
  const count = createRefusalCounter(metrics)
  count(new Problem('bad_request', 'no'))
  using _ = createCallLimit({ CALLS_LIMIT: 1, CALLS_PER_ACCOUNT: 1 }).enter('a')
  const full = createCallLimit({ CALLS_LIMIT: 1, CALLS_PER_ACCOUNT: 2 })
  using one = full.enter('a')
  expect(one).toBeDefined()
  try {
    full.enter('b')
  } catch (error) {
    if (error instanceof Problem) count(error)
  }
  const text = await metrics.registry.metrics()
  expect(text).toContain('refusals_total{code="bad_request",limit=""} 1')
  expect(text).toContain('refusals_total{code="unavailable",limit="calls_of_process"} 1')
})
