import { expect, test } from 'vitest'
import { retryAfterMs } from './retry-after.ts'

const NOW_MS = Date.parse('2026-11-29T08:00:00Z')

test.each([
  ['120', 120_000],
  [' 0 ', 0],
  ['Sun, 29 Nov 2026 08:01:00 GMT', 60_000],
  ['Sun, 29 Nov 2026 07:00:00 GMT', 0],
  ['soon', null],
  ['', null],
  [undefined, null],
])('%j asks for %j ms', (header, ms) => {
  expect(retryAfterMs(header, NOW_MS)).toBe(ms)
})
