import { runTool } from './run.ts'

/** What is checked without running anything: name, tool and its arguments. */
export const STATIC_CHECKS: readonly (readonly [name: string, tool: string, ...args: string[]])[] =
  [
    ['types', 'tsc', '-p', '.'],
    ['lint', 'oxlint', '--type-aware', '--max-warnings=0'],
    ['format', 'oxfmt', '--check'],
    ['unused code', 'knip'],
  ]

/** Runs them all, one after the other; answers the names of those that fail. */
export async function staticFaults(): Promise<readonly string[]> {
  const failed: string[] = []
  for (const [name, tool, ...args] of STATIC_CHECKS) {
    process.stdout.write(`\n== ${name}\n`)
    if ((await runTool(tool, args)) !== 0) failed.push(name)
  }
  return failed
}
