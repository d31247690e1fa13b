import { expect, test } from 'vitest'
import { countsOf } from './test-counts.ts'

const REPORT = { numPassedTests: 10, numFailedTests: 0, numPendingTests: 2, numTodoTests: 1 }
const CHECKS = { count: 4, failed: 0 }

test('checks count as tests, and what is left out as skipped', () => {
  expect(countsOf(REPORT, 0, CHECKS)).toEqual({ passed: 14, failed: 0, skipped: 3 })
  expect(countsOf(REPORT, 0, { count: 4, failed: 1 })).toEqual({
    passed: 13,
    failed: 1,
    skipped: 3,
  })
})

test('a run that ends badly fails, whether or not a test did', () => {
  expect(countsOf(REPORT, 1, CHECKS)).toMatchObject({ failed: 1 })
  expect(countsOf({ ...REPORT, numFailedTests: 2 }, 1, CHECKS)).toMatchObject({ failed: 2 })
  expect(countsOf(null, 0, CHECKS)).toEqual({ passed: 4, failed: 1, skipped: 0 })
})
