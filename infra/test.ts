import { spawnSync } from 'node:child_process'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { processEnvironment } from '@plumbline/runtime/settings'
import { ROOT, runTool } from './run.ts'
import { runWorlds, type WorldsResult } from './simulated-worlds.ts'
import { runStaticChecks, STATIC_CHECKS } from './static-checks.ts'
import {
  countsOf,
  failedTests,
  filesToRepeat,
  retriedTests,
  withRepeated,
  type TestReport,
} from './test-counts.ts'
import { UNCAUGHT_PATH } from './uncaught-reporter.ts'

// Runs everything: the static checks at the same time as the unit, database and whole-process tests on
// both queue backends; in CI then failed tests once more, and the simulated worlds.
// A failed run lists the failures at its end and keeps its report in `.reports`. The last line has the
// counts, static checks included.

/** Programs that some tests run against; if one is missing, its tests are skipped. */
const SERVERS = [
  'redis-server',
  'named',
  'nsd',
  'knotd',
  'unbound',
  'postfix',
  'postgrey',
  'ip',
  'soffice',
  'chromium',
  'pgbouncer',
  'promtool',
]

/** One run of tests. */
interface TestRun {
  /** Null if the run wrote none. */
  readonly report: TestReport | null
  readonly exitCode: number
  /** Messages of errors that no test caught. */
  readonly uncaught: readonly string[]
}

/** With more failed files than this, the code is broken, not the machine busy. */
const MAX_REPEATED_FILES = 12

await mkdir(join(ROOT, '.reports'), { recursive: true })
const [statics, first] = await Promise.all([
  runStaticChecks(),
  runTests('tests.json', process.argv.slice(2)),
])
process.stdout.write(statics.output)
const { report, exitCode, uncaught } = await repeatFailed(first)
const worlds = await worldsOfCi()
process.stdout.write(worlds.output)
const counts = countsOf(report, exitCode, {
  count: STATIC_CHECKS.length + worlds.count,
  failed: statics.failed.length + worlds.failed.length,
})

const missing = SERVERS.filter((name) => !isInstalled(name))
if (missing.length > 0) {
  process.stdout.write(`\nnot installed, so their tests were skipped: ${missing.join(', ')}\n`)
}
const again = [...retriedTests(first.report, report, ROOT), ...worlds.again]
if (again.length > 0) process.stdout.write(`\npassed only when run again:\n${again.join('\n')}\n`)
const failures = failedTests(report, ROOT)
if (failures.length > 0) {
  process.stdout.write(`\nfailed tests (report in .reports/tests.json):\n${failures.join('\n')}\n`)
}
if (uncaught.length > 0) process.stdout.write(`\nuncaught errors:\n${uncaught.join('\n')}\n`)
if (statics.failed.length > 0) {
  process.stdout.write(`\nfailed checks: ${statics.failed.join(', ')}\n`)
}
if (worlds.failed.length > 0) {
  process.stdout.write(
    `\nfailed worlds (traces in .reports/simulate):\n${worlds.failed.join('\n')}\n`,
  )
}
const { passed, failed, skipped } = counts
process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped} skipped\n`)
process.exitCode = failed === 0 ? 0 : 1

/** Runs tests; their report is written to `.reports`. */
async function runTests(
  reportName: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<TestRun> {
  const path = join(ROOT, '.reports', reportName)
  for (const stale of [path, UNCAUGHT_PATH]) await rm(stale, { force: true })
  const reporters = [
    '--reporter=default',
    '--reporter=json',
    '--reporter=./infra/uncaught-reporter.ts',
  ]
  const options = [...reporters, `--outputFile.json=${path}`]
  const exitCode = await runTool('vitest', ['run', ...options, ...args], env)
  // Safe because vitest and `UncaughtReporter` write them in these forms.
  const report = (await readJson(path)) as TestReport | null
  const uncaught = (await readJson(UNCAUGHT_PATH)) as readonly string[] | null
  return { report, exitCode, uncaught: uncaught ?? [] }
}

/**
 * Runs the files of failed tests in CI once more, one at a time: many tests that start whole
 * processes at once may keep a shared machine so busy that one is too late. A run with an error that
 * no test caught has failed whatever its tests do when run again.
 */
async function repeatFailed(first: TestRun): Promise<TestRun> {
  const { report, uncaught } = first
  const files = filesToRepeat(report)
  const isFew = files.length > 0 && files.length <= MAX_REPEATED_FILES
  if (processEnvironment()['CI'] === undefined || uncaught.length > 0) return first
  if (report === null || !isFew) return first
  const second = await runTests('tests-again.json', files, { VITEST_MAX_WORKERS: '1' })
  if (second.report === null) return first
  return { ...second, report: withRepeated(report, second.report) }
}

/** Runs the simulated worlds in CI, unless arguments select tests; they take minutes. */
async function worldsOfCi(): Promise<WorldsResult> {
  const isAsked = processEnvironment()['CI'] !== undefined && process.argv.length === 2
  return isAsked ? await runWorlds() : { count: 0, failed: [], again: [], output: '' }
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch {
    return null
  }
}

function isInstalled(binary: string): boolean {
  // Daemons are in folders that a user's PATH does not have.
  const PATH = `${processEnvironment()['PATH'] ?? ''}:/usr/sbin:/sbin`
  return spawnSync('sh', ['-c', `command -v ${binary}`], { env: { PATH } }).status === 0
}
