import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createBulkPace, type BulkPace } from './bulk-pace.ts'

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance'],
  })
})
afterEach(() => {
  vi.useRealTimers()
})

const NEVER = new AbortController().signal

/** Enters tasks; `running` has the ends of those that run. */
function enterAll(pace: BulkPace, count: number): { readonly running: (() => void)[] } {
  const running: (() => void)[] = []
  for (let at = 0; at < count; at += 1) void pace.enter(NEVER).then((end) => running.push(end))
  return { running }
}

test('without single calls every task runs at once', async () => {
  using pace = createBulkPace(() => 1)
  const { running } = enterAll(pace, 20)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(running.length).toBe(20)
})

test('beside single calls fewer tasks run while the event loop is busy', async () => {
  let busy = 1
  using pace = createBulkPace(() => busy)
  const { running } = enterAll(pace, 16)
  await vi.advanceTimersByTimeAsync(0)
  pace.noteCall()
  await vi.advanceTimersByTimeAsync(3_000)
  const later = enterAll(pace, 8)
  for (const end of running) end()
  await vi.advanceTimersByTimeAsync(0)
  expect(later.running.length).toBe(1)
  busy = 0.1
  await vi.advanceTimersByTimeAsync(300)
  expect(later.running.length).toBe(4)
  busy = 0.25
  await vi.advanceTimersByTimeAsync(200)
  expect(later.running.length).toBe(4)
  later.running[0]?.()
  await vi.advanceTimersByTimeAsync(0)
  expect(later.running.length).toBe(5)
})

test('whatever the limit, a task begins each third of a second', async () => {
  using pace = createBulkPace(() => 1)
  pace.noteCall()
  const { running } = enterAll(pace, 8)
  await vi.advanceTimersByTimeAsync(200)
  expect(running.length).toBe(2)
  await vi.advanceTimersByTimeAsync(100)
  expect(running.length).toBe(3)
  await vi.advanceTimersByTimeAsync(1_500)
  expect(running.length).toBe(8)
})

test('half a minute after the last call nothing is limited', async () => {
  using pace = createBulkPace(() => 1)
  pace.noteCall()
  await vi.advanceTimersByTimeAsync(29_000)
  const before = enterAll(pace, 8)
  await vi.advanceTimersByTimeAsync(0)
  expect(before.running.length).toBe(1)
  await vi.advanceTimersByTimeAsync(2_000)
  const { running } = enterAll(pace, 8)
  await vi.advanceTimersByTimeAsync(0)
  expect(running.length).toBe(8)
})

test('a task whose signal aborts does not wait', async () => {
  using pace = createBulkPace(() => 1)
  pace.noteCall()
  enterAll(pace, 2)
  const stop = new AbortController()
  const entering = pace.enter(stop.signal)
  stop.abort()
  const end = await entering
  end()
  const { running } = enterAll(pace, 1)
  await vi.advanceTimersByTimeAsync(0)
  expect(running.length).toBe(0)
})
