import { expect, test } from 'vitest'
import { pauseLeftMs } from './pause.ts'

test.each([
  ['lasts until its end', 1_000, 400, 600],
  ['is over at its end', 1_000, 1_000, 0],
  ['lasts as long in a process whose clock is behind', 61_000, 1_000, 60_000],
  ['is over if it would be longer than any, since the clock was set back', 62_001, 1_000, 0],
])('a pause %s', (_, untilMs, nowMs, leftMs) => {
  expect(pauseLeftMs(untilMs, nowMs, 1_000)).toBe(leftMs)
})
