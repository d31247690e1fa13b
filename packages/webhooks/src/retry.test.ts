import { expect, test } from 'vitest'
import { longestRetryMs, retryMs } from './retry.ts'

const SCHEDULE = [5, 300, 1_800]
const at = (random: number) => ({ nowMs: Date.parse('2026-11-22T10:00:00Z'), random })

test('each attempt has its delay, with a tenth more or less, and the last has none', () => {
  expect([1, 2, 3, 4].map((attempt) => retryMs(attempt, SCHEDULE, undefined, at(0.5)))).toEqual([
    5_000,
    300_000,
    1_800_000,
    null,
  ])
  expect(retryMs(2, SCHEDULE, undefined, at(0))).toBeCloseTo(270_000)
  expect(retryMs(2, SCHEDULE, undefined, at(1))).toBeCloseTo(330_000)
})

test.each([
  ['60', 60_000],
  ['1', 5_000],
  ['Sun, 22 Nov 2026 10:02:00 GMT', 120_000],
  ['Sun, 22 Nov 2026 09:00:00 GMT', 5_000],
  ['999999999', 86_400_000],
  ['soon', 5_000],
  ['-7', 5_000],
])('Retry-After %j is respected if it is longer, up to a day', (header, wait) => {
  expect(retryMs(1, SCHEDULE, header, at(0.5))).toBe(wait)
})

test('no attempt comes later than the longest delay of the schedule, or a day', () => {
  expect(longestRetryMs(SCHEDULE)).toBe(86_400_000)
  expect(longestRetryMs([86_400])).toBeCloseTo(95_040_000)
})
