import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { createDatabaseTimeLimit } from './database-time-limit.ts'

afterEach(() => {
  vi.useRealTimers()
})

test('a call without a reply for five seconds is refused while the database replies to others, unless it has a deadline of its own', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] })
  let bytes = 0
  const database = createDatabaseTimeLimit(() => bytes)
  const events: unknown[] = []
  const note = (error: unknown): number => events.push(error)
  const late = (): number => events.push('late')
  const never = new Promise<never>(() => undefined)
  database.orRefused(never, { late }).catch(note)
  database.orRefused(never, { late, hasDeadline: true }).catch(note)
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 50, bytes += 1) {
      await vi.advanceTimersByTimeAsync(50)
      for (let at = 0; at < 3; at += 1) await turn()
    }
  }
  await pass(4_500)
  expect(events).toEqual([])
  await pass(1_500)
  expect(events).toEqual([
    'late',
    expect.objectContaining({ code: 'unavailable', retryAfterSeconds: 2 }),
  ])
  await pass(10_000)
  expect(events).toHaveLength(2)
})
