import { createMetrics } from '@plumbline/runtime/metrics'
import { expect, test } from 'vitest'
import { createSweptDebitCounter } from './count-swept-debits.ts'

test('refunded debits are counted, and their credits by product', async () => {
  const metrics = createMetrics()
  const count = createSweptDebitCounter(metrics)
  count([
    { accountId: 'acc', opKey: 'call:1', product: 'email', given: 1 },
    { accountId: 'acc', opKey: 'call:2', product: 'phone', given: 2 },
    { accountId: 'acc', opKey: 'call:3', product: 'phone', given: 2 },
    { accountId: 'acc', opKey: 'call:4', product: null, given: 1 },
  ])
  const text = await metrics.registry.metrics()
  expect(text).toContain('debits_swept_total 4')
  expect(text).toContain('credits_refunded_total{product="email"} 1')
  expect(text).toContain('credits_refunded_total{product="phone"} 4')
})
