import { captureTool } from './run.ts'

/**
 * The static checks: name, tool and its arguments. Types on one thread, since several check what they
 * share again, with half as much processor time more, and the tests use every processor.
 */
export const STATIC_CHECKS: readonly (readonly [name: string, tool: string, ...args: string[]])[] =
  [
    ['types', 'tsc', '-p', '.', '--singleThreaded'],
    ['types of the web app', 'tsc', '-p', 'services/web', '--singleThreaded'],
    ['lint', 'oxlint', '--type-aware', '--max-warnings=0'],
    ['format', 'oxfmt', '--check'],
    ['unused code', 'knip'],
  ]

/** Result of the static checks. */
export interface StaticResult {
  /** Names of those that failed. */
  readonly failed: readonly string[]
  /** The output of all of them, each under its name. */
  readonly output: string
}

/** Runs the static checks one by one; captures their output, since the tests run at the same time. */
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
