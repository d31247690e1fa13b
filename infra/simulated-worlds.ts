import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { captureTool, ROOT } from './run.ts'

/** Number of worlds in CI: within three minutes on two processors. */
const WORLDS = 25

/** Results of the worlds. */
export interface WorldsResult {
  readonly count: number
  /** Messages of worlds that failed. */
  readonly failed: readonly string[]
  /** Messages of worlds that passed only when run again. */
  readonly again: readonly string[]
  readonly output: string
}

/** A failed world. */
export interface FailedWorld {
  readonly seed: number
  /** The first violated condition. */
  readonly why: string
}

/** Runs the worlds of the first seeds, several at a time; a failed world is run again, as failed tests are. */
export async function runWorlds(): Promise<WorldsResult> {
  // A world waits for its servers and its clock for two thirds of its time.
  const jobs = Math.max(6, availableParallelism())
  const first = await simulate([`--seeds=${WORLDS}`, `--jobs=${jobs}`])
  const outputs = [first.output]
  const failed: string[] = first.hasBroken ? ['the simulation broke'] : []
  const again: string[] = []
  for (const { seed, why } of first.failed) {
    const second = await simulate([`--seed=${seed}`])
    outputs.push(second.output)
    const hasFailed = second.hasBroken || second.failed.length > 0
    ;(hasFailed ? failed : again).push(`world ${seed}: ${why}`)
  }
  return { count: WORLDS, failed, again, output: outputs.join('\n') }
}

interface Simulated {
  readonly failed: readonly FailedWorld[]
  /** Whether the simulation failed without naming a world. */
  readonly hasBroken: boolean
  readonly output: string
}

async function simulate(args: readonly string[]): Promise<Simulated> {
  const { exitCode, output } = await captureTool(process.execPath, [
    '--disable-warning=ExperimentalWarning',
    join(ROOT, 'test', 'simulate', 'main.ts'),
    ...args,
  ])
  const failed = failedWorlds(output)
  return { failed, hasBroken: exitCode !== 0 && failed.length === 0, output }
}

/** The worlds that failed, from the output of the simulation. */
export function failedWorlds(output: string): readonly FailedWorld[] {
  return [...output.matchAll(/^seed (\d+) on \w+: FAILED[^\n]*\n +([^\n]*)/gm)].map(
    ([, seed, why = '']) => ({ seed: Number(seed), why }),
  )
}
