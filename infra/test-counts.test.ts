import { expect, test } from 'vitest'
import {
  countsOf,
  failedTests,
  filesToRepeat,
  retriedTests,
  withRepeated,
  type TestReport,
} from './test-counts.ts'

const REPORT = {
  numPassedTests: 10,
  numFailedTests: 0,
  numPendingTests: 2,
  numTodoTests: 1,
  testResults: [],
}
const CHECKS = { count: 4, failed: 0 }

test('static checks count as tests; pending and todo tests count as skipped', () => {
  expect(countsOf(REPORT, 0, CHECKS)).toEqual({ passed: 14, failed: 0, skipped: 3 })
  expect(countsOf(REPORT, 0, { count: 4, failed: 1 })).toEqual({
    passed: 13,
    failed: 1,
    skipped: 3,
  })
})

test('a run with a bad exit code or without a report fails, even if no test failed', () => {
  expect(countsOf(REPORT, 1, CHECKS)).toMatchObject({ failed: 1 })
  expect(countsOf({ ...REPORT, numFailedTests: 2 }, 1, CHECKS)).toMatchObject({ failed: 2 })
  expect(countsOf(null, 0, CHECKS)).toEqual({ passed: 4, failed: 1, skipped: 0 })
})

test('each failed test is named in one line, and so is a file that could not be run', () => {
  const failing = { fullName: 'debit refuses', status: 'failed', failureMessages: ['402\nat x.ts'] }
  const report = {
    ...REPORT,
    testResults: [
      {
        name: '/project/a.test.ts',
        message: '',
        assertionResults: [{ fullName: 'holds', status: 'passed', failureMessages: [] }, failing],
      },
      { name: '/project/b.test.ts', message: 'no such module\nat b.ts', assertionResults: [] },
    ],
  }
  expect(failedTests(report, '/project')).toEqual([
    'a.test.ts > debit refuses: 402',
    'b.test.ts: no such module',
  ])
  expect(failedTests(null, '/project')).toEqual([])
})

test('a test that passed only when run again is named with why it failed first', () => {
  const runOf = (statuses: readonly string[]): TestReport => {
    const [holds = '', waits = '', breaks = ''] = statuses
    const results = [
      { fullName: 'holds', status: holds, failureMessages: [] },
      { fullName: 'waits', status: waits, failureMessages: ['too late\nat a.ts'] },
      { fullName: 'breaks', status: breaks, failureMessages: ['wrong'] },
    ]
    return {
      ...REPORT,
      testResults: [{ name: '/project/a.test.ts', message: '', assertionResults: results }],
    }
  }
  const first = runOf(['passed', 'failed', 'failed'])
  const last = runOf(['passed', 'passed', 'failed'])
  expect(retriedTests(first, last, '/project')).toEqual(['a.test.ts > waits: too late'])
  expect(retriedTests(first, first, '/project')).toEqual([])
})

test('a file that was run again counts with its second run', () => {
  const passed = { fullName: 'holds', status: 'passed', failureMessages: [] }
  const failed = { fullName: 'waits', status: 'failed', failureMessages: ['too late'] }
  const skipped = { fullName: 'follows', status: 'skipped', failureMessages: [] }
  const first = {
    numPassedTests: 2,
    numFailedTests: 1,
    numPendingTests: 1,
    numTodoTests: 0,
    testResults: [
      { name: '/project/a.test.ts', message: '', assertionResults: [passed, failed, skipped] },
      { name: '/project/b.test.ts', message: '', assertionResults: [passed] },
    ],
  }
  expect(filesToRepeat(first)).toEqual(['/project/a.test.ts'])
  const three = [passed, { ...failed, status: 'passed' }, { ...skipped, status: 'passed' }]
  const second = {
    ...first,
    testResults: [{ name: '/project/a.test.ts', message: '', assertionResults: three }],
  }
  const both = withRepeated(first, second)
  expect(both).toMatchObject({ numPassedTests: 4, numFailedTests: 0, numPendingTests: 0 })
  expect(filesToRepeat(both)).toEqual([])
  const broken = { name: '/project/c.test.ts', message: 'no such module', assertionResults: [] }
  expect(filesToRepeat({ ...first, testResults: [broken] })).toEqual(['/project/c.test.ts'])
})
