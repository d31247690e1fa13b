/** The part of vitest's JSON report that is used. */
export interface TestReport {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly testResults: readonly {
    /** Path of the test file. */
    readonly name: string
    /** Why the file could not be run; empty if it was. */
    readonly message: string
    readonly assertionResults: readonly {
      readonly fullName: string
      readonly status: string
      readonly failureMessages: readonly string[] | null
    }[]
  }[]
}

export interface TestCounts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/**
 * The counts of a run; static checks count as tests. A run that fails without a failed test (an
 * uncaught error, a file that cannot be loaded, no test at all) counts as one failure.
 * @param report null if the run wrote none
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

/** A failed test, or a file that could not be run. */
interface Failure {
  /** The file's path, and the test's name if the file could be run. */
  readonly title: string
  /** First line of the error. */
  readonly why: string
}

function failuresIn(report: TestReport | null, root: string): readonly Failure[] {
  return (report?.testResults ?? []).flatMap(({ name, message, assertionResults }) => {
    const file = pathFrom(root, name)
    const failed = assertionResults.filter(({ status }) => status === 'failed')
    if (failed.length === 0) return message === '' ? [] : [{ title: file, why: firstLine(message) }]
    return failed.map(({ fullName, failureMessages }) => ({
      title: `${file} > ${fullName}`,
      why: firstLine(failureMessages?.[0] ?? ''),
    }))
  })
}

/**
 * One line for each failed test and each file that could not be run: its file, its name, and the
 * first line of the error.
 * @param root folder to which the paths are relative
 */
export function failedTests(report: TestReport | null, root: string): readonly string[] {
  return failuresIn(report, root).map(lineOf)
}

/**
 * One such line for each that failed in the first run and not in the last.
 * @param root folder to which the paths are relative
 */
export function retriedTests(
  first: TestReport | null,
  last: TestReport | null,
  root: string,
): readonly string[] {
  const failing = new Set(failuresIn(last, root).map(({ title }) => title))
  return failuresIn(first, root)
    .filter(({ title }) => !failing.has(title))
    .map(lineOf)
}

function lineOf({ title, why }: Failure): string {
  return `${title}: ${why}`
}

/** Paths of the files in which a test failed, or that could not be run. */
export function filesToRepeat(report: TestReport | null): readonly string[] {
  return (report?.testResults ?? []).flatMap((file) =>
    file.message !== '' || file.assertionResults.some(({ status }) => status === 'failed')
      ? [file.name]
      : [],
  )
}

/** A report in which files that were run again have the results of their second run. */
export function withRepeated(first: TestReport, second: TestReport): TestReport {
  const repeated = new Map(second.testResults.map((file) => [file.name, file]))
  const testResults = first.testResults.map((file) => repeated.get(file.name) ?? file)
  const statuses = testResults.flatMap(({ assertionResults }) =>
    assertionResults.map(({ status }) => status),
  )
  const count = (wanted: readonly string[]): number =>
    statuses.filter((status) => wanted.includes(status)).length
  return {
    numPassedTests: count(['passed']),
    numFailedTests: count(['failed']),
    numPendingTests: count(['pending', 'skipped']),
    numTodoTests: count(['todo']),
    testResults,
  }
}

function pathFrom(root: string, path: string): string {
  return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path
}

function firstLine(text: string): string {
  return (text.split('\n', 1)[0] ?? '').slice(0, 300)
}
