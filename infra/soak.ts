import { importsOf, readSource, sourceFiles } from './import-graph.ts'
import { runTool } from './run.ts'

/** Modules that only tests with a full size import. */
const SOAK = ['@plumbline/testkit/soak', '@plumbline/testkit/crash-harness']

// Runs the tests that have a full size at that size; `npm test` runs them smaller.
const soaks = sourceFiles().filter(
  (file) =>
    file.endsWith('.test.ts') &&
    importsOf(file, readSource(file)).some(({ specifier }) => SOAK.includes(specifier)),
)
process.exitCode = await runTool('vitest', ['run', ...soaks, ...process.argv.slice(2)], {
  SOAK: 'true',
})
