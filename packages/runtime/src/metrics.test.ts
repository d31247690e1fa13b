import { expect, test } from 'vitest'
import { createMetrics } from './metrics.ts'

test('a gauge that cannot be read has no value, and the others are unaffected', async () => {
  const metrics = createMetrics()
  let reading = async (): Promise<number> => 7
  metrics.observed('jobs', 'Jobs.', [], async () => [{ labels: {}, value: await reading() }])
  metrics.counter('calls', 'Calls.', []).inc()
  expect(await metrics.registry.metrics()).toMatch(/^jobs 7$/m)
  reading = () => Promise.reject(new Error('the database is away'))
  const text = await metrics.registry.metrics()
  expect(text).toMatch(/^calls 1$/m)
  expect(text).not.toMatch(/^jobs /m)
})
