import { expect, test } from 'vitest'
import type { RunResult } from './run-scenario.ts'
import { passes, rowOf } from './table.ts'

const RUN: RunResult = {
  lastedMs: 10_000,
  recoverMs: 1_000,
  callsMs: [10],
  refused: 0,
  refusals: [],
  deadRows: 5,
  connections: 7,
  wrongCharges: [],
  lostRecords: 0,
  own: { notes: [], violations: [] },
}

test('runs pass if one of twenty recovers too late, and fail if one of fewer does', () => {
  const runs = Array.from({ length: 19 }, () => RUN)
  const late = { ...RUN, recoverMs: 21_000 }
  expect(passes([...runs, late])).toBe(true)
  expect(passes([...runs.slice(1), late])).toBe(false)
  expect(passes([...runs, late, late])).toBe(false)
  expect(passes([{ ...RUN, recoverMs: Infinity }])).toBe(false)
})

test('runs fail if one has a wrong charge, a lost record or a violation of its scenario', () => {
  expect(passes([RUN, RUN])).toBe(true)
  expect(passes([RUN, { ...RUN, wrongCharges: ['spent twice'] }])).toBe(false)
  expect(passes([RUN, { ...RUN, lostRecords: 1 }])).toBe(false)
  expect(passes([RUN, { ...RUN, own: { notes: [], violations: ['too many jobs'] } }])).toBe(false)
})

test('a row shows maxima over the runs, and sums of wrong charges and lost records', () => {
  const other = { ...RUN, lastedMs: 9_000, refused: 3, lostRecords: 1, callsMs: [20] }
  expect(rowOf('a fault', 'redis', [RUN, other, { ...RUN, lostRecords: 2 }])).toBe(
    '| a fault | redis | 10.0 s | 1.0 s | 20 ms | 3 | 5 | 7 | 0 | 3 |',
  )
})
