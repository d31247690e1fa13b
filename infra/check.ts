import { runTool } from './run.ts'
import { staticFaults } from './static-checks.ts'

// Types, lint, format, unused code, then the unit tests: needs no database.
const failed = [...(await staticFaults())]
process.stdout.write('\n== unit tests\n')
if ((await runTool('vitest', ['run', '--project', 'unit'])) !== 0) failed.push('unit tests')
if (failed.length > 0) process.stdout.write(`\nfailed: ${failed.join(', ')}\n`)
process.exitCode = failed.length === 0 ? 0 : 1
