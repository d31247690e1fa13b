import { importsOf, readSource, sourceFiles } from './import-graph.ts'
import { runTool } from './run.ts'

/** What a test imports that has a full size: one of its own, or that of the crash tests. */
const SOAK = ['@plumbline/testkit/soak', '@plumbline/testkit/crash-harness']

// The tests that have a full size, at that size; `npm test` runs them smaller.
const soaks = sourceFiles().filter(
  (file) =>
    file.endsWith('.test.ts') &&
    importsOf(file, readSource(file)).some(({ specifier }) => SOAK.includes(specifier)),
)
process.exitCode = await runTool('vitest', ['run', ...soaks, ...process.argv.slice(2)], {
  SOAK: 'true',
})
