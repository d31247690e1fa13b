import { expect, test } from 'vitest'
import type { Seen } from './run-scenario.ts'
import { isWell, rowOf } from './table.ts'

const RUN: Seen = {
  lastedMs: 10_000,
  recoverMs: 1_000,
  callsMs: [10],
  refused: 0,
  refusals: [],
  deadRows: 5,
  connections: 7,
  wrongCharges: [],
  lostRecords: 0,
  own: { seen: [], wrong: [] },
}

test('of twenty recoveries one may take too long, and of fewer none', () => {
  const runs = Array.from({ length: 19 }, () => RUN)
  const late = { ...RUN, recoverMs: 21_000 }
  expect(isWell([...runs, late])).toBe(true)
  expect(isWell([...runs.slice(1), late])).toBe(false)
  expect(isWell([...runs, late, late])).toBe(false)
  expect(isWell([{ ...RUN, recoverMs: Infinity }])).toBe(false)
})

test('one run with a wrong charge, a lost record or a fault of its own is not well', () => {
  expect(isWell([RUN, RUN])).toBe(true)
  expect(isWell([RUN, { ...RUN, wrongCharges: ['spent twice'] }])).toBe(false)
  expect(isWell([RUN, { ...RUN, lostRecords: 1 }])).toBe(false)
  expect(isWell([RUN, { ...RUN, own: { seen: [], wrong: ['too many jobs'] } }])).toBe(false)
})

test('a row shows the most of a run, and what is wrong or lost in all of them', () => {
  const other = { ...RUN, lastedMs: 9_000, refused: 3, lostRecords: 1, callsMs: [20] }
  expect(rowOf('a fault', 'redis', [RUN, other, { ...RUN, lostRecords: 2 }])).toBe(
    '| a fault | redis | 10.0 s | 1.0 s | 20 ms | 3 | 5 | 7 | 0 | 3 |',
  )
})
