import { spawnSync } from 'node:child_process'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { processEnvironment } from '@plumbline/runtime/settings'
import { ROOT, runTool } from './run.ts'
import { runWorlds, type WorldsResult } from './simulated-worlds.ts'
import { runStaticChecks, STATIC_CHECKS } from './static-checks.ts'
import { countsOf, failedTests, retriedTests, type TestReport } from './test-counts.ts'

// Runs everything: the static checks at the same time as the unit, database and whole-process tests on
// both queue backends; in CI then the simulated worlds.
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

const report = join(ROOT, '.reports', 'tests.json')
await mkdir(join(ROOT, '.reports'), { recursive: true })
await rm(report, { force: true })
const [statics, exitCode] = await Promise.all([
  runStaticChecks(),
  runTool('vitest', [
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...process.argv.slice(2),
  ]),
])
process.stdout.write(statics.output)
const parsed = await readReport(report)
const worlds = await worldsOfCi()
process.stdout.write(worlds.output)
const counts = countsOf(parsed, exitCode, {
  count: STATIC_CHECKS.length + worlds.count,
  failed: statics.failed.length + worlds.failed.length,
})

const missing = SERVERS.filter((name) => !isInstalled(name))
if (missing.length > 0) {
  process.stdout.write(`\nnot installed, so their tests were skipped: ${missing.join(', ')}\n`)
}
const again = [...retriedTests(parsed, ROOT), ...worlds.again]
if (again.length > 0) process.stdout.write(`\npassed only when run again:\n${again.join('\n')}\n`)
const failures = failedTests(parsed, ROOT)
if (failures.length > 0) {
  process.stdout.write(`\nfailed tests (report in .reports/tests.json):\n${failures.join('\n')}\n`)
}
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

/** Runs the simulated worlds in CI, unless arguments select tests; they take minutes. */
async function worldsOfCi(): Promise<WorldsResult> {
  const isAsked = processEnvironment()['CI'] !== undefined && process.argv.length === 2
  return isAsked ? await runWorlds() : { count: 0, failed: [], again: [], output: '' }
}

async function readReport(path: string): Promise<TestReport | null> {
  try {
    // Safe because vitest writes it in its documented form.
    return JSON.parse(await readFile(path, 'utf8')) as TestReport
  } catch {
    return null
  }
}

function isInstalled(binary: string): boolean {
  // Daemons are in folders that a user's PATH does not have.
  const PATH = `${processEnvironment()['PATH'] ?? ''}:/usr/sbin:/sbin`
  return spawnSync('sh', ['-c', `command -v ${binary}`], { env: { PATH } }).status === 0
}
