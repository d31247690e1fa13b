import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { LEASE_MS, createKeeper } from './lease-renewer.ts'
import type { Granted } from './lease-renewer.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const silent = (): void => undefined

/** A place whose renewals end as told; counts what was asked of it. */
function placeOf(renew: () => Promise<boolean>): {
  lease: Granted
  asked: { renewals: number; releases: number }
} {
  const asked = { renewals: 0, releases: 0 }
  const lease: Granted = {
    granted: true,
    renew() {
      asked.renewals++
      return renew()
    },
    release() {
      asked.releases++
      return Promise.resolve()
    },
  }
  return { lease, asked }
}

test('a place is renewed several times within its lease until it is given back', async () => {
  const keeper = createKeeper(Date.now, silent)
  const { lease, asked } = placeOf(() => Promise.resolve(true))
  const lost = vi.fn<() => void>()
  const held = keeper.hold(lease, lost)
  await vi.advanceTimersByTimeAsync(LEASE_MS)
  expect(asked.renewals).toBeGreaterThanOrEqual(3)
  await held.giveBack()
  const { renewals } = asked
  await vi.advanceTimersByTimeAsync(LEASE_MS)
  expect([asked.renewals, asked.releases]).toEqual([renewals, 1])
  expect(vi.getTimerCount()).toBe(0)
  expect(lost).not.toHaveBeenCalled()
})

test('a place that another has taken is lost, and is said so once', async () => {
  const keeper = createKeeper(Date.now, silent)
  const { lease, asked } = placeOf(() => Promise.resolve(false))
  const lost = vi.fn<() => void>()
  keeper.hold(lease, lost)
  await vi.advanceTimersByTimeAsync(LEASE_MS * 3)
  expect(lost).toHaveBeenCalledTimes(1)
  expect(asked.renewals).toBe(1)
})

test('a store that is away costs the place once the lease is over, and not before', async () => {
  const keeper = createKeeper(Date.now, silent)
  const { lease } = placeOf(() => Promise.reject(new Error('store is away')))
  const lost = vi.fn<() => void>()
  keeper.hold(lease, lost)
  await vi.advanceTimersByTimeAsync(LEASE_MS - 1)
  expect(lost).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(LEASE_MS)
  expect(lost).toHaveBeenCalledTimes(1)
})
