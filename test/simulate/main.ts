import { mkdir, mkdtempDisposable, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openDatabase } from '@plumbline/db/database'
import { startEmbeddedPostgres } from '@plumbline/db/embedded'
import { migrate } from '@plumbline/db/migrate'
import { grantServing } from '@plumbline/db/serving-role'
import { migrateQueue } from '@plumbline/queue/postgres-queues'
import { startRedis } from '@plumbline/testkit/redis'
import { useSimulatedClock, prepareTemplate } from './database-clock.ts'
import { parseOrExit } from '../parse-or-exit.ts'
import { AWAY_MS, planOf } from './plan.ts'
import { RESTORED_FAULTS, type RestoredFault } from './restored-faults.ts'
import type { SeedReply } from './run-seed.ts'
import { openRunner, type Runner } from './runner.ts'
import type { WorldResult } from './world.ts'

// npm run simulate -- [--seed N] [--seeds K] [--jobs J] [--plan]: runs the worlds of K seeds from N on,
// J concurrently, and judges each. A seed that fails prints its faults, and leaves its plan, trace and
// log under `.reports`. --away is the time in seconds until workers are restarted after all of them were
// killed. With --put-back NAME (or all) the sources run with a fault of `restored-faults.ts`, which one of the
// seeds must find. With --times T each seed is run T times, and failed runs are counted by violated
// condition; the seed that is known to find a fault must fail in nine of ten runs.

const USAGE = `simulate: expected whole numbers from 1 for --seed, --seeds, --jobs, --away and --times, and for --put-back all or one of ${RESTORED_FAULTS.map(({ name }) => name).join(', ')}`

/** Minimum share of runs in which the seed of a restored fault must violate the same condition. */
const FAILING_SHARE = 0.9
const TEMPLATE = 'simulation_template'
const REPORTS = join(
  dirname(dirname(dirname(fileURLToPath(import.meta.url)))),
  '.reports',
  'simulate',
)

/** Numbered databases of a Redis with default settings, without database 0: one for each concurrent world. */
const MOST_JOBS = 15

const { values } = parseOrExit(
  {
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string', default: '1' },
      jobs: { type: 'string', default: '2' },
      times: { type: 'string', default: '1' },
      plan: { type: 'boolean', default: false },
      away: { type: 'string', default: String(AWAY_MS / 1_000) },
      'put-back': { type: 'string' },
    },
  },
  USAGE,
)
const [first, count, jobs, away, times] = [
  Number(values.seed ?? 1),
  Number(values.seeds),
  Number(values.jobs),
  Number(values.away),
  Number(values.times),
]
const asked = values['put-back']
const restored = RESTORED_FAULTS.filter(({ name }) => asked === 'all' || asked === name)
const awayMs = away * 1_000
const isSound = [first, count, jobs, away, times].every(
  (number) => Number.isSafeInteger(number) && number >= 1,
)
if (!isSound || (asked !== undefined && restored.length === 0)) {
  console.error(USAGE)
  process.exit(2)
}
const seeds = Array.from({ length: count }, (_, at) => first + at)

// Servers and runners end with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
await using stack = new AsyncDisposableStack()
const dataDir = stack.use(await mkdtempDisposable(join(tmpdir(), 'plumbline-simulate-'))).path
const postgres = await startEmbeddedPostgres({
  dataDir,
  settings: {
    fsync: 'off',
    full_page_writes: 'off',
    max_connections: '600',
    // Simulated time passes while a statement waits for a lock: with the default of a second, a deadlock
    // would last for minutes of it.
    deadlock_timeout: '20ms',
  },
})
stack.defer(() => postgres.stop())
const redis = await startRedis()
if (redis === null)
  console.error('redis-server is not installed: every world has its queue on Postgres')
else stack.defer(() => redis.stop())
const admin = stack.use(
  openDatabase({ url: postgres.url, poolSize: 2, applicationName: 'simulate' }),
)
const templateUrl = urlOf(TEMPLATE)
await admin.pool.query(`create database ${TEMPLATE}`)
await makeTemplate()

if (times > 1 && asked === undefined) {
  for (const seed of seeds) await countFailed(seed)
} else if (times > 1) {
  for (const { name, what, seed } of restored) {
    console.log(`${name}: ${what}`)
    const failed = await countFailed(values.seed === undefined ? seed : first, name)
    if (failed < FAILING_SHARE * times) process.exitCode = 1
  }
} else if (asked === undefined) {
  let failedCount = 0
  await runAll(seeds.map(onceOf), async (runner, world) => {
    if (!(await runSeed(runner, world))) failedCount += 1
  })
  console.log(`${seeds.length - failedCount} of ${seeds.length} seeds passed`)
  process.exitCode = failedCount === 0 ? 0 : 1
} else {
  for (const fault of restored) await findFault(fault)
}

/** Runs the seeds with a restored fault until one of them fails. */
async function findFault({ name, what }: RestoredFault): Promise<void> {
  console.log(`${name}: ${what}`)
  let isFound = false
  await runAll(
    seeds.map(onceOf),
    async (runner, world) => {
      if (isFound) return
      const { result } = await runInDatabase(runner, world)
      const [firstFault] = result.faults
      if (firstFault === undefined) return
      isFound = true
      console.log(`  found by seed ${world.seed}: ${firstFault.split('\n', 1)[0]?.slice(0, 200)}`)
    },
    name,
  )
  if (isFound) return
  console.log(`  NOT FOUND by ${seeds.length} seeds from ${first} on`)
  process.exitCode = 1
}

/** Runs a seed repeatedly; returns how many runs violated the same condition. */
async function countFailed(seed: number, fault?: string): Promise<number> {
  const counts = new Map<string, number>()
  let failedCount = 0
  const worlds = Array.from({ length: times }, (_, at) => ({ seed, run: at + 1 }))
  await runAll(
    worlds,
    async (runner, world) => {
      const { result } = await runInDatabase(runner, world)
      if (result.faults.length === 0) {
        await rm(folderOf(world), { recursive: true, force: true })
        return
      }
      failedCount += 1
      await saveResult(world, result)
      for (const condition of new Set(result.faults.map(conditionOf))) {
        counts.set(condition, (counts.get(condition) ?? 0) + 1)
      }
    },
    fault,
  )
  console.log(`  seed ${seed}: ${failedCount} of ${times} runs failed`)
  for (const [condition, failed] of [...counts].toSorted(([, one], [, other]) => other - one)) {
    console.log(`    ${failed} times: ${condition}`)
  }
  return Math.max(0, ...counts.values())
}

/** A violated condition without the numbers and ids of one run. */
function conditionOf(fault: string): string {
  const [said = ''] = fault.split(/\n|[:,] [^,:]*\{/, 1)
  return said.replaceAll(/\b(?:acc|bat)_\w+|\b\w*\d[\w.]*/g, '#').slice(0, 200)
}

interface RunOfSeed {
  readonly seed: number
  /** Absent if the seed is run once. */
  readonly run?: number
}

function onceOf(seed: number): RunOfSeed {
  return { seed }
}

/** Runs worlds, several at a time. */
async function runAll(
  worlds: readonly RunOfSeed[],
  run: (runner: Runner, world: RunOfSeed & { readonly job: number }) => Promise<void>,
  fault?: string,
): Promise<void> {
  const waiting = [...worlds]
  await Promise.all(
    Array.from({ length: Math.min(MOST_JOBS, jobs) }, async (_, at) => {
      await using runner = openRunner(fault)
      for (let world = waiting.shift(); world !== undefined; world = waiting.shift()) {
        await run(runner, { ...world, job: at + 1 })
      }
    }),
  )
}

async function makeTemplate(): Promise<void> {
  {
    await using db = openDatabase({ url: templateUrl, poolSize: 1, applicationName: 'simulate' })
    await migrate(db)
    await migrateQueue(templateUrl)
    await grantServing(db, urlOf(TEMPLATE, true))
  }
  await prepareTemplate(templateUrl)
}

/** Runs the world of a seed on a database of its own. */
async function runInDatabase(
  runner: Runner,
  world: RunOfSeed & { readonly job: number },
): Promise<SeedReply> {
  const { seed, job } = world
  const folder = folderOf(world)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const name = `simulation_${seed}_${job}`
  await admin.pool.query(`create database ${name} template ${TEMPLATE}`)
  await admin.pool.query(useSimulatedClock(name))
  const reply = await runner.run({
    seed,
    awayMs,
    folder,
    ownerUrl: urlOf(name),
    servingUrl: urlOf(name, true),
    ...(redis === null ? {} : { redisUrl: `${redis.url}/${job}` }),
  })
  await admin.pool.query(`drop database ${name} with (force)`)
  return reply
}

function folderOf({ seed, run }: RunOfSeed): string {
  return join(REPORTS, run === undefined ? `seed-${seed}` : `seed-${seed}-${run}`)
}

/** Runs the world of a seed and prints its result; returns whether it passed. */
async function runSeed(
  runner: Runner,
  world: RunOfSeed & { readonly job: number },
): Promise<boolean> {
  const began = Date.now()
  const { result, cpuMs } = await runInDatabase(runner, world)
  const { seed } = world
  const folder = folderOf(world)
  const plan = planOf(seed, redis !== null, awayMs)
  const holds = result.faults.length === 0
  const { lastedMs, batchCount, callCount, fullest } = result
  console.log(
    `seed ${seed} on ${plan.backend}: ${holds ? 'passed' : 'FAILED'}, ${batchCount} batches, ${callCount} calls, ` +
      `${plan.faults.length} faults, ${Math.round(lastedMs / 1_000)} s in ${seconds(Date.now() - began)} s, ` +
      `${seconds(cpuMs)} s of processor time, ` +
      `at most ${fullest.jobs} jobs where ${fullest.bound} tasks may be in flight`,
  )
  if (holds && !values.plan) {
    await rm(folder, { recursive: true, force: true })
    return true
  }
  for (const fault of result.faults) console.log(`  ${fault}`)
  await saveResult(world, result)
  console.log(JSON.stringify(values.plan ? plan : plan.faults, undefined, values.plan ? 1 : 0))
  console.log(`  ${folder}`)
  return holds
}

/** Writes the plan and the result beside the trace and the log. */
async function saveResult(world: RunOfSeed, result: WorldResult): Promise<void> {
  const plan = planOf(world.seed, redis !== null, awayMs)
  const folder = folderOf(world)
  await writeFile(join(folder, 'plan.json'), JSON.stringify(plan, undefined, 1))
  await writeFile(join(folder, 'result.json'), JSON.stringify(result, undefined, 1))
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1)
}

function urlOf(database: string, serving = false): string {
  const url = new URL(postgres.url)
  url.pathname = `/${database}`
  if (serving) {
    // The role that `losePostgresQueue` grants its rights on the recreated queue.
    url.username = 'test_serving'
    url.password = 'a password of tests'
  }
  return url.href
}
