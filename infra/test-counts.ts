/** What of vitest's JSON report is counted. */
export interface TestReport {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
}

export interface TestCounts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/**
 * What a run came to, static checks counted as tests. A run that fails without a failed test (an error
 * that no test caught, a file that cannot be loaded, no test at all) counts as one failure.
 * @param report null where the run left none
 * @param exitCode of vitest
 */
export function countsOf(
  report: TestReport | null,
  exitCode: number,
  checks: { readonly count: number; readonly failed: number },
): TestCounts {
  const failedTests = report?.numFailedTests ?? 0
  const brokeOff = failedTests === 0 && (exitCode !== 0 || report === null)
  return {
    passed: (report?.numPassedTests ?? 0) + checks.count - checks.failed,
    failed: failedTests + checks.failed + (brokeOff ? 1 : 0),
    skipped: (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0),
  }
}
