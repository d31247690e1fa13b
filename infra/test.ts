import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { processEnvironment } from '@plumbline/runtime/settings'
import { runTool } from './run.ts'
import { STATIC_CHECKS, staticFaults } from './static-checks.ts'
import { countsOf, type TestReport } from './test-counts.ts'

// Everything: the static checks, then unit, database and whole-process tests on both backends.
// Ends with one plain line of counts, the static checks among them.

/** Servers that some tests run against; where one is missing, those are left out. */
const SERVERS = ['redis-server', 'named', 'nsd', 'knotd', 'unbound', 'postfix', 'postgrey', 'ip']

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
const counts = countsOf(await readReport(report), exitCode, {
  count: STATIC_CHECKS.length,
  failed: faults.length,
})
await rm(folder, { recursive: true, force: true })

const missing = SERVERS.filter((name) => !isInstalled(name))
if (missing.length > 0) {
  process.stdout.write(`\nnot installed, and their tests left out: ${missing.join(', ')}\n`)
}
if (faults.length > 0) process.stdout.write(`\nfailed checks: ${faults.join(', ')}\n`)
const { passed, failed, skipped } = counts
process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped} skipped\n`)
process.exitCode = failed === 0 ? 0 : 1

async function readReport(path: string): Promise<TestReport | null> {
  try {
    // Safe because vitest wrote it, in its documented form.
    return JSON.parse(await readFile(path, 'utf8')) as TestReport
  } catch {
    return null
  }
}

function isInstalled(binary: string): boolean {
  // Daemons lie where a user's own path does not lead.
  const PATH = `${processEnvironment()['PATH'] ?? ''}:/usr/sbin:/sbin`
  return spawnSync('sh', ['-c', `command -v ${binary}`], { env: { PATH } }).status === 0
}
