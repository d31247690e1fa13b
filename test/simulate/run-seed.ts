import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { planOf } from './plan.ts'
import { installVirtualTime } from './virtual-time.ts'
import { runWorld, type WorldResult } from './world.ts'

// Runs one world after another on simulated time, as the parent process requests. The simulated
// processes of finished worlds are dead; a new process for each world would take longer to load the
// programs than to run the world.

/** The parent's request to run a world. */
export interface SeedRequest {
  readonly seed: number
  /** See `planOf`. */
  readonly awayMs: number
  readonly ownerUrl: string
  readonly servingUrl: string
  readonly redisUrl?: string
  readonly folder: string
}

/** The reply to the parent. */
export interface SeedReply {
  readonly result: WorldResult
  /** Processor time of the world in this process, without its servers. */
  readonly cpuMs: number
}

const time = installVirtualTime()
process.once('disconnect', () => process.exit(1))
// A promise that nobody awaits any more, of a connection that was lost, must not end this process.
process.on('unhandledRejection', (error) => process.stderr.write(`unhandled: ${String(error)}\n`))
// Safe because `main.ts` alone starts this.
process.on('message', (asked: SeedRequest) => void answer(asked))

async function answer(asked: SeedRequest): Promise<void> {
  const begun = process.cpuUsage()
  const plan = planOf(asked.seed, asked.redisUrl !== undefined, asked.awayMs)
  const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-simulate-'))
  try {
    const servers = {
      plan,
      ownerUrl: asked.ownerUrl,
      servingUrl: asked.servingUrl,
      redisUrl: plan.backend === 'redis' ? asked.redisUrl : undefined,
      dataDir,
      logPath: join(asked.folder, 'log.ndjson'),
      tracePath: join(asked.folder, 'trace.ndjson'),
    }
    const result = await runWorld(servers, time)
    // Before the reply, after which the parent may end this process.
    await rm(dataDir, { recursive: true, force: true })
    const { user, system } = process.cpuUsage(begun)
    process.send?.({ result, cpuMs: (user + system) / 1_000 } satisfies SeedReply)
  } catch (error) {
    const said = error instanceof Error ? (error.stack ?? error.message) : String(error)
    process.stderr.write(said, () => process.exit(1))
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
}
