import { runTool } from './run.ts'
import { runStaticChecks } from './static-checks.ts'

// Runs the unit tests and the static checks (types, lint, format, unused code); needs no database.
const [statics, exitCode] = await Promise.all([
  runStaticChecks(),
  runTool('vitest', ['run', '--project', 'unit']),
])
const failed = [...statics.failed, ...(exitCode === 0 ? [] : ['unit tests'])]
process.stdout.write(statics.output)
if (failed.length > 0) process.stdout.write(`\nfailed: ${failed.join(', ')}\n`)
process.exitCode = failed.length === 0 ? 0 : 1
