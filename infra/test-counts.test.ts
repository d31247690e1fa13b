import { expect, test } from 'vitest'
import { countsOf, failedTests, secondTries } from './test-counts.ts'

const REPORT = {
  numPassedTests: 10,
  numFailedTests: 0,
  numPendingTests: 2,
  numTodoTests: 1,
  testResults: [],
}
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

test('what failed is named in a line each, also a file that could not be run', () => {
  const failing = { fullName: 'debit refuses', status: 'failed', failureMessages: ['402\nat x.ts'] }
  const report = {
    ...REPORT,
    testResults: [
      {
        name: '/house/a.test.ts',
        message: '',
        assertionResults: [{ fullName: 'holds', status: 'passed', failureMessages: [] }, failing],
      },
      { name: '/house/b.test.ts', message: 'no such module\nat b.ts', assertionResults: [] },
    ],
  }
  expect(failedTests(report, '/house')).toEqual([
    'a.test.ts > debit refuses: 402',
    'b.test.ts: no such module',
  ])
  expect(failedTests(null, '/house')).toEqual([])
})

test('what passed at its second try alone is named with why the first did not', () => {
  const results = [
    { fullName: 'holds', status: 'passed', failureMessages: [] },
    { fullName: 'waits', status: 'passed', failureMessages: ['too late\nat a.ts'] },
    { fullName: 'breaks', status: 'failed', failureMessages: ['wrong', 'wrong'] },
  ]
  const report = {
    ...REPORT,
    testResults: [{ name: '/house/a.test.ts', message: '', assertionResults: results }],
  }
  expect(secondTries(report, '/house')).toEqual(['a.test.ts > waits: too late'])
})
