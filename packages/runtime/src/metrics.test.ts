import { expect, test, vi } from 'vitest'
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

test('a gauge whose server does not reply has no value, and keeps no scrape waiting', async () => {
  vi.useFakeTimers()
  try {
    const metrics = createMetrics()
    const { promise: replied, resolve: reply } = Promise.withResolvers<number>()
    let reads = 0
    metrics.observed('jobs', 'Jobs.', [], async () => {
      reads += 1
      return [{ labels: {}, value: await replied }]
    })
    metrics.counter('calls', 'Calls.', []).inc()
    const scrapes = Promise.all([metrics.registry.metrics(), metrics.registry.metrics()])
    await vi.advanceTimersByTimeAsync(4_000)
    for (const text of await scrapes) {
      expect(text).toMatch(/^calls 1$/m)
      expect(text).not.toMatch(/^jobs /m)
    }
    // The statement is still waited for, and no second one joins it.
    expect(reads).toBe(1)
    reply(7)
    await vi.advanceTimersByTimeAsync(0)
    expect(await metrics.registry.metrics()).toMatch(/^jobs 7$/m)
    expect(reads).toBe(2)
  } finally {
    vi.useRealTimers()
  }
})
