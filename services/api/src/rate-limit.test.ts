import { createLocalLimiter } from '@plumbline/queue/local-limiter'
import { expect, test } from 'vitest'
import { withLocalFallback } from './local-fallback.ts'
import { createRateLimit } from './rate-limit.ts'

test('a burst is granted at once, then calls at the rate, and each refusal says when to retry', async () => {
  let time = 0
  const limiter = createLocalLimiter({ nowMs: () => time })
  const rate = createRateLimit({ name: 'calls', perSecond: 2, burst: 3, limiter })
  const taken = [await rate.take('a'), await rate.take('a'), await rate.take('a')]
  expect(taken.map((state) => [state.granted, state.remaining])).toEqual([
    [true, 2],
    [true, 1],
    [true, 0],
  ])
  const refused = await rate.take('a')
  expect(refused).toMatchObject({
    granted: false,
    remaining: 0,
    retryMs: 500,
    windowSeconds: 2,
    resetSeconds: 2,
  })
  time += refused.retryMs
  expect(await rate.take('a')).toMatchObject({ granted: true })
  expect(await rate.take('a')).toMatchObject({ granted: false })
})

test('keys do not share a bucket', async () => {
  const limiter = createLocalLimiter({ nowMs: () => 0 })
  const rate = createRateLimit({ name: 'calls', perSecond: 1, burst: 1, limiter })
  expect(await rate.take('a')).toMatchObject({ granted: true })
  expect(await rate.take('a')).toMatchObject({ granted: false })
  expect(await rate.take('b')).toMatchObject({ granted: true })
})

test('each process applies the limit itself while the shared limiter cannot be reached', async () => {
  const faults: unknown[] = []
  const shared = { take: () => Promise.reject(new Error('gone')) }
  const limiter = withLocalFallback(shared, createLocalLimiter({ nowMs: () => 0 }), (fault) =>
    faults.push(fault),
  )
  const rate = createRateLimit({ name: 'calls', perSecond: 1, burst: 1, limiter })
  expect(await rate.take('a')).toMatchObject({ granted: true })
  expect(await rate.take('a')).toMatchObject({ granted: false })
  expect(faults).toHaveLength(1)
})

test('a call does not wait for a shared limiter that does not reply', async () => {
  const shared = { take: () => new Promise<never>(() => undefined) }
  const limiter = withLocalFallback(shared, createLocalLimiter(), () => undefined)
  const rate = createRateLimit({ name: 'calls', perSecond: 1, burst: 1, limiter })
  expect(await rate.take('a')).toMatchObject({ granted: true })
  expect(await rate.take('b')).toMatchObject({ granted: true })
})
