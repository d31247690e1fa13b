import { importsOf, readSource, sourceFiles } from './import-graph.ts'
import { runTool } from './run.ts'

/** Modules that only tests with a full size, or with more backends, import. */
const SOAK = [
  '@plumbline/testkit/soak',
  '@plumbline/testkit/crash-harness',
  '@plumbline/testkit/one-backend',
]

// Runs the tests that have a full size at that size, and those that `npm test` runs on one backend on
// all of them.
const soaks = sourceFiles().filter(
  (file) =>
    file.endsWith('.test.ts') &&
    importsOf(file, readSource(file)).some(({ specifier }) => SOAK.includes(specifier)),
)
process.exitCode = await runTool('vitest', ['run', ...soaks, ...process.argv.slice(2)], {
  SOAK: 'true',
})
