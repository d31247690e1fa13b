import { captureTool } from './run.ts'

/** What is checked without running anything: name, tool and its arguments. */
export const STATIC_CHECKS: readonly (readonly [name: string, tool: string, ...args: string[]])[] =
  [
    ['types', 'tsc', '-p', '.'],
    ['types of the web app', 'tsc', '-p', 'services/web'],
    ['lint', 'oxlint', '--type-aware', '--max-warnings=0'],
    ['format', 'oxfmt', '--check'],
    ['unused code', 'knip'],
  ]

/** What the static checks came to. */
export interface StaticResult {
  /** Names of those that failed. */
  readonly failed: readonly string[]
  /** What all of them printed, each under its name. */
  readonly output: string
}

/** Runs them all, one after the other; quietly, since they run beside the tests. */
export async function runStaticChecks(): Promise<StaticResult> {
  const failed: string[] = []
  let output = ''
  for (const [name, tool, ...args] of STATIC_CHECKS) {
    const ran = await captureTool(tool, args)
    output += `\n== ${name}\n${ran.output}`
    if (ran.exitCode !== 0) failed.push(name)
  }
  return { failed, output }
}
