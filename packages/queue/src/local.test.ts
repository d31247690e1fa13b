import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { testLimiter } from '@plumbline/testkit/limiter-conformance'
import { createLocalMemory } from '@plumbline/testkit/local-memory'
import { testMemory } from '@plumbline/testkit/memory-conformance'
import { createLocalLimiter } from './local-limiter.ts'

describe('local memory', () => {
  testMemory(() => createLocalMemory())

  test('stores at most the permitted number of facts, and drops the oldest first', async () => {
    const memory = createLocalMemory({ maxEntries: 2 })
    for (const key of ['a', 'b', 'c']) await memory.set([{ key, value: key, ttlMs: 1_000 }])
    expect(await memory.get(['a', 'b', 'c'])).toEqual([undefined, 'b', 'c'])
  })
})

describe('local limiter', () => {
  testLimiter(() => createLocalLimiter())
})

test.each([1e3, 1e6, 1e9])(
  'a burst within one tick of the clock is granted in full, at uptimes of about %d ms',
  async (about) => {
    for (let at = 0; at < 500; at++) {
      const limiter = createLocalLimiter({ nowMs: () => about + at / 7 })
      for (const remaining of [4, 3, 2, 1, 0]) {
        expect(await limiter.take('k', 1, { perSecond: 0.01, burst: 5 })).toEqual({
          granted: true,
          remaining,
        })
      }
      expect(await limiter.take('k', 1, { perSecond: 0.01, burst: 5 })).toMatchObject({
        granted: false,
      })
    }
  },
)

test('in every window of any sequence of calls at most burst + t * perSecond is granted', async () => {
  const step = fc.record({ waitMs: fc.nat(400), count: fc.integer({ min: 1, max: 7 }) })
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 60 }),
      fc.double({ min: 0.5, max: 300, noNaN: true }),
      async (steps, perSecond) => {
        let now = 0
        const limiter = createLocalLimiter({ nowMs: () => now })
        const granted: { at: number; count: number }[] = []
        for (const { waitMs, count } of steps) {
          now += waitMs
          const grant = await limiter.take('k', count, { perSecond, burst: 7 })
          if (grant.granted) granted.push({ at: now, count })
        }
        for (const [index, { at }] of granted.entries()) {
          let sum = 0
          for (const later of granted.slice(index)) {
            sum += later.count
            expect(sum).toBeLessThanOrEqual(7 + ((later.at - at) / 1_000) * perSecond + 1e-6)
          }
        }
      },
    ),
  )
})

test('beyond the number of keys that starts a sweep, not every call sweeps', async () => {
  const limiter = createLocalLimiter({ nowMs: () => 0 })
  const startMs = performance.now()
  for (let no = 0; no < 150_000; no += 1) {
    await limiter.take(`key ${no}`, 1, { perSecond: 1, burst: 2 })
  }
  // A sweep takes milliseconds, so one for each call beyond the first 100,000 takes minutes.
  expect(performance.now() - startMs).toBeLessThan(60_000)
})
