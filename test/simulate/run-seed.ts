import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { planOf } from './plan.ts'
import { runWorld } from './world.ts'

// run-seed JSON: one world in a process of its own, whose clock is that world's. Prints its ending as JSON.

/** What the parent says. */
interface Asked {
  readonly seed: number
  readonly ownerUrl: string
  readonly servingUrl: string
  readonly redisUrl?: string
  readonly folder: string
}

/** How soon the end of the parent is noticed, by the time of this machine. */
const LOOK_MS = 1_000

const parent = process.ppid
setInterval(() => {
  if (process.ppid !== parent) process.exit(1)
}, LOOK_MS).unref()
// Safe because `main.ts` alone starts this.
const asked = JSON.parse(process.argv[2] ?? '{}') as Asked
const plan = planOf(asked.seed, asked.redisUrl !== undefined)
const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-simulate-'))
// What a lost connection leaves without a listener is a fault of the world and not of this process.
process.on('unhandledRejection', (error) => process.stderr.write(`unhandled: ${String(error)}\n`))
const ending = await runWorld({
  plan,
  ownerUrl: asked.ownerUrl,
  servingUrl: asked.servingUrl,
  redisUrl: plan.backend === 'redis' ? asked.redisUrl : undefined,
  dataDir,
  logPath: join(asked.folder, 'log.ndjson'),
  tracePath: join(asked.folder, 'trace.ndjson'),
})
await rm(dataDir, { recursive: true, force: true })
process.stdout.write(`${JSON.stringify(ending)}\n`, () => process.exit(0))
