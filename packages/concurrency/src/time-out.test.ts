import { getEventListeners } from 'node:events'
import { afterEach, expect, test, vi } from 'vitest'
import { orOnAbort, settledWithin, TimeOutError, withTimeOut } from './time-out.ts'

afterEach(() => {
  vi.useRealTimers()
})

test('a value in time is returned, and no timer is left', async () => {
  vi.useFakeTimers()
  await expect(withTimeOut(50, Promise.resolve(7))).resolves.toBe(7)
  expect(vi.getTimerCount()).toBe(0)
})

test('a value that is late is an error that names the time-out', async () => {
  vi.useFakeTimers()
  const waiting = withTimeOut(50, new Promise(() => undefined))
  const both = Promise.allSettled([waiting])
  await vi.advanceTimersByTimeAsync(50)
  const [{ status, reason }] = (await both) as [PromiseRejectedResult]
  expect({ status, reason }).toEqual({
    status: 'rejected',
    reason: new TimeOutError('no answer in 50 ms'),
  })
})

test('a promise that settles in time is reported or rejects, and no timer is left', async () => {
  vi.useFakeTimers()
  await expect(settledWithin(50, Promise.resolve(7))).resolves.toBe(true)
  const failed = new Error('failed')
  await expect(settledWithin(50, Promise.reject(failed))).rejects.toBe(failed)
  expect(vi.getTimerCount()).toBe(0)
})

test('a promise that is late is reported at the limit, and may reject after that', async () => {
  vi.useFakeTimers()
  const late = Promise.withResolvers<never>()
  const waiting = settledWithin(50, late.promise)
  await vi.advanceTimersByTimeAsync(50)
  await expect(waiting).resolves.toBe(false)
  late.reject(new Error('failed'))
  await vi.advanceTimersByTimeAsync(1)
})

test('an aborted signal gives the fallback and leaves no listener', async () => {
  const before = new AbortController()
  const never = new Promise<string>(() => undefined)
  const waiting = orOnAbort(never, before.signal, null)
  before.abort()
  await expect(waiting).resolves.toBeNull()
  await expect(orOnAbort(never, before.signal, 'late')).resolves.toBe('late')
  expect(getEventListeners(before.signal, 'abort')).toEqual([])
})

test('a value before the abort is returned, and leaves no listener', async () => {
  const { signal } = new AbortController()
  await expect(orOnAbort(Promise.resolve('in time'), signal, null)).resolves.toBe('in time')
  expect(getEventListeners(signal, 'abort')).toEqual([])
})
