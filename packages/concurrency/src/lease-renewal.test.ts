import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createLeaseRenewal, keepLease } from './lease-renewal.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const LEASE_MS = 20_000
const now = (): number => Date.now()

test('a lease is renewed four times in its lifetime, until it is released', async () => {
  const renewal = createLeaseRenewal({ leaseMs: LEASE_MS, now, warn: () => undefined })
  const renew = vi.fn<() => Promise<boolean>>(async () => true)
  const onLost = vi.fn<() => void>()
  const drop = renewal.keep({ renew }, onLost)
  await vi.advanceTimersByTimeAsync(LEASE_MS)
  expect(renew).toHaveBeenCalledTimes(4)
  drop()
  await vi.advanceTimersByTimeAsync(LEASE_MS)
  expect(renew).toHaveBeenCalledTimes(4)
  expect(onLost).not.toHaveBeenCalled()
  expect(vi.getTimerCount()).toBe(0)
})

test('a lease that another process holds is lost, once', async () => {
  const renewal = createLeaseRenewal({ leaseMs: LEASE_MS, now, warn: () => undefined })
  const onLost = vi.fn<() => void>()
  renewal.keep({ renew: async () => false }, onLost)
  await vi.advanceTimersByTimeAsync(3 * LEASE_MS)
  expect(onLost).toHaveBeenCalledOnce()
})

test('a lease is lost to an unreachable store only after its expiry', async () => {
  const warned: unknown[] = []
  const renewal = createLeaseRenewal({
    leaseMs: LEASE_MS,
    now,
    warn: (error) => warned.push(error),
  })
  const onLost = vi.fn<() => void>()
  renewal.keep({ renew: () => Promise.reject(new Error('away')) }, onLost)
  await vi.advanceTimersByTimeAsync(LEASE_MS - 1)
  expect(onLost).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  expect(onLost).toHaveBeenCalledOnce()
  expect(warned).toHaveLength(4)
})

test('a kept lease is renewed three times in its lifetime until it is disposed of, or lost', async () => {
  const renew = vi.fn<() => Promise<boolean>>(async () => true)
  const options = { leaseMs: LEASE_MS, warn: () => undefined }
  const disposed = keepLease(renew, options)
  const lost = keepLease(async () => false, options)
  await vi.advanceTimersByTimeAsync(LEASE_MS)
  expect(renew).toHaveBeenCalledTimes(3)
  disposed[Symbol.dispose]()
  expect([disposed.lost.aborted, lost.lost.aborted]).toEqual([false, true])
  expect(vi.getTimerCount()).toBe(0)
})
