import { setTimeout as delay } from 'node:timers/promises'
import type { Limiter } from '@plumbline/ports/limiter'
import { expect, test, vi } from 'vitest'
import { PATIENT } from './patience.ts'

/** Tests of every `Limiter`; `open` returns one whose keys no other test uses. */
export function testLimiter(open: () => Limiter): void {
  const slow = { perSecond: 0.01, burst: 5 }

  test('a burst is granted and no more, with the remaining amount after each take', async () => {
    const limiter = open()
    const grants = await Promise.all(Array.from({ length: 8 }, () => limiter.take('k', 1, slow)))
    expect(grants.map(({ granted }) => granted)).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
      false,
      false,
    ])
    expect(grants.map(({ remaining }) => remaining)).toEqual([4, 3, 2, 1, 0, 0, 0, 0])
  })

  test('a take is all or nothing, and says when it can be retried', async () => {
    const limiter = open()
    expect(await limiter.take('k', 3, slow)).toEqual({ granted: true, remaining: 2 })
    const refused = await limiter.take('k', 4, slow)
    expect(refused).toMatchObject({ granted: false, remaining: 2 })
    // Two units are missing, and one is refilled in a hundred seconds.
    expect(refused.granted ? 0 : refused.retryMs).toBeGreaterThan(195_000)
    expect(refused.granted ? 0 : refused.retryMs).toBeLessThanOrEqual(200_000)
    expect(await limiter.take('k', 2, slow)).toMatchObject({ granted: true })
  })

  test('each key has its own limit', async () => {
    const limiter = open()
    await limiter.take('a', 5, slow)
    expect(await limiter.take('b', 5, slow)).toMatchObject({ granted: true })
  })

  test('in any window at most burst + t * perSecond is granted, and nearly that much', async () => {
    const limiter = open()
    // The bucket is never full again, however long a busy machine keeps the takers waiting.
    const rate = { perSecond: 20, burst: 100 }
    const most = (fromMs: number, toMs: number): number =>
      rate.burst + ((toMs - fromMs) / 1_000) * rate.perSecond
    const beforeMs = performance.now()
    await limiter.take('k', 1, rate)
    const beganMs = performance.now()
    let granted = 1
    let refusedMs = 0
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        while (performance.now() - beganMs < 1_000) {
          const askedMs = performance.now()
          const grant = await limiter.take('k', 1, rate)
          if (grant.granted) granted += 1
          else {
            refusedMs = Math.max(refusedMs, askedMs)
            // The limiter's own advice, so this is no sleep of the test.
            await delay(grant.retryMs)
          }
        }
      }),
    )
    expect(granted).toBeLessThanOrEqual(most(beforeMs, performance.now()))
    // At the last refusal everything that had been refilled by then was taken.
    expect(granted).toBeGreaterThan(0.95 * most(beganMs, refusedMs))
  })

  test('a take that can never be granted throws', async () => {
    await expect(open().take('k', 6, slow)).rejects.toThrow(RangeError)
    await expect(open().take('k', 0, slow)).rejects.toThrow(RangeError)
    await expect(open().take('k', 1, { perSecond: 0, burst: 1 })).rejects.toThrow(RangeError)
  })

  test('at most as many leases as the limit are held at once; after a release another is granted', async () => {
    const limiter = open()
    const leases = await Promise.all(Array.from({ length: 7 }, () => limiter.lease('k', 3, 60_000)))
    const held = leases.filter((lease) => lease.granted)
    expect(held).toHaveLength(3)
    for (const lease of leases) {
      if (lease.granted) continue
      expect(lease.retryMs).toBeGreaterThan(0)
      expect(lease.retryMs).toBeLessThanOrEqual(1_000)
    }
    await held[0]?.release()
    await held[0]?.release()
    expect(await limiter.lease('k', 3, 60_000)).toMatchObject({ granted: true })
    expect(await limiter.lease('k', 3, 60_000)).toMatchObject({ granted: false })
  })

  test('a lease expires, and then cannot be renewed', async () => {
    const limiter = open()
    const lease = await limiter.lease('k', 1, 60)
    if (!lease.granted) throw new Error('the first lease must be granted')
    const next = await vi.waitFor(async () => {
      const answer = await limiter.lease('k', 1, 60_000)
      if (!answer.granted) throw new Error('still held')
      return answer
    }, PATIENT)
    expect(await lease.renew()).toBe(false)
    await lease.release()
    expect(await next.renew()).toBe(true)
    expect(await limiter.lease('k', 1, 60_000)).toMatchObject({ granted: false })
  })
}
