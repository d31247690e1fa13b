import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runTool } from './run.ts'
import { STATIC_CHECKS, staticFaults } from './static-checks.ts'

// Everything: the static checks, then unit, database and whole-process tests on both backends.
// Ends with one plain line of counts, the static checks among them.

interface Counts {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly numFailedTestSuites: number
}

const faults = await staticFaults()
const folder = await mkdtemp(join(tmpdir(), 'tests-'))
const report = join(folder, 'report.json')
process.stdout.write('\n== tests\n')
const exitCode = await runTool('vitest', [
  'run',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${report}`,
  ...process.argv.slice(2),
])
const counts = await readCounts(report)
await rm(folder, { recursive: true, force: true })

if (spawnSync('redis-server', ['--version']).error !== undefined) {
  process.stdout.write('\nredis-server is not installed: the tests on Redis were skipped.\n')
}
if (faults.length > 0) process.stdout.write(`\nfailed checks: ${faults.join(', ')}\n`)
// A suite that cannot start, or a run that dies, fails without a failed test.
const broken = exitCode !== 0 && counts.numFailedTests === 0 ? 1 : 0
const failed = counts.numFailedTests + faults.length + broken
const passed = counts.numPassedTests + STATIC_CHECKS.length - faults.length
const skipped = counts.numPendingTests + counts.numTodoTests
process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped} skipped\n`)
process.exitCode = failed === 0 ? 0 : 1

async function readCounts(path: string): Promise<Counts> {
  try {
    // Safe because vitest wrote it, in its documented form.
    return JSON.parse(await readFile(path, 'utf8')) as Counts
  } catch {
    return {
      numPassedTests: 0,
      numFailedTests: 0,
      numPendingTests: 0,
      numTodoTests: 0,
      numFailedTestSuites: 0,
    }
  }
}
