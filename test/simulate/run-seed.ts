import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { planOf } from './plan.ts'
import { installVirtualTime } from './virtual-time.ts'
import { runWorld, type Ending } from './world.ts'

// Lives through one world after another, as its parent asks, by a clock that is theirs. What each
// leaves is dead: a process for each would spend more on loading the programs than the world does.

/** Message of the parent process. */
export interface AskedSeed {
  readonly seed: number
  /** See `planOf`. */
  readonly awayMs: number
  readonly ownerUrl: string
  readonly servingUrl: string
  readonly redisUrl?: string
  readonly folder: string
}

/** The reply. */
export interface Lived {
  readonly ending: Ending
  /** Processor time of the world in this process, without its servers. */
  readonly cpuMs: number
}

const time = installVirtualTime()
process.once('disconnect', () => process.exit(1))
// What a lost connection leaves without a listener is a fault of the world and not of this process.
process.on('unhandledRejection', (error) => process.stderr.write(`unhandled: ${String(error)}\n`))
// Safe because `main.ts` alone starts this.
process.on('message', (asked: AskedSeed) => void answer(asked))

async function answer(asked: AskedSeed): Promise<void> {
  const begun = process.cpuUsage()
  const plan = planOf(asked.seed, asked.redisUrl !== undefined, asked.awayMs)
  const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-simulate-'))
  try {
    const ground = {
      plan,
      ownerUrl: asked.ownerUrl,
      servingUrl: asked.servingUrl,
      redisUrl: plan.backend === 'redis' ? asked.redisUrl : undefined,
      dataDir,
      logPath: join(asked.folder, 'log.ndjson'),
      tracePath: join(asked.folder, 'trace.ndjson'),
    }
    const ending = await runWorld(ground, time)
    const { user, system } = process.cpuUsage(begun)
    process.send?.({ ending, cpuMs: (user + system) / 1_000 } satisfies Lived)
  } catch (error) {
    const said = error instanceof Error ? (error.stack ?? error.message) : String(error)
    process.stderr.write(said, () => process.exit(1))
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
}
