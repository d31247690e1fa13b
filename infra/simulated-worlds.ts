import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { captureTool, ROOT } from './run.ts'

/** Worlds that CI lives through: within three minutes on two processors. */
const WORLDS = 25

/** What they came to. */
export interface WorldsResult {
  readonly count: number
  /** What was said of each that did not hold. */
  readonly failed: readonly string[]
  readonly output: string
}

/** Lives through the worlds of the first seeds, several at a time. */
export async function runWorlds(): Promise<WorldsResult> {
  const { exitCode, output } = await captureTool(process.execPath, [
    '--disable-warning=ExperimentalWarning',
    join(ROOT, 'test', 'simulate', 'main.ts'),
    `--seeds=${WORLDS}`,
    // Each waits for its servers half of the time.
    `--jobs=${Math.max(4, availableParallelism())}`,
  ])
  return { count: WORLDS, failed: failedWorlds(output, exitCode), output }
}

/** A line for each world that failed, with what it fails for; where none is named, for the run itself. */
export function failedWorlds(output: string, exitCode: number): readonly string[] {
  const failed = [...output.matchAll(/^(seed \d+) on \w+: FAILED[^\n]*\n +([^\n]*)/gm)].map(
    ([, seed, why]) => `${seed}: ${why}`,
  )
  return failed.length > 0 || exitCode === 0 ? failed : ['the simulation broke']
}
