import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openDatabase } from '@plumbline/db/database'
import { startEmbeddedPostgres } from '@plumbline/db/embedded'
import { migrate } from '@plumbline/db/migrate'
import { grantServing } from '@plumbline/db/serving-role'
import { migrateQueue } from '@plumbline/queue/postgres-queues'
import { startRedis } from '@plumbline/testkit/redis'
import { goByClock, prepareTemplate } from './database-time.ts'
import { AWAY_MS, planOf } from './plan.ts'
import { PUT_BACK } from './put-back.ts'
import type { Lived } from './run-seed.ts'
import { openRunner, type Runner } from './runner.ts'

// npm run simulate -- [--seed N] [--seeds K] [--jobs J] [--plan]: lives through the worlds of K
// seeds from N on, J at a time, and judges each. A seed that fails prints its plan and keeps its
// trace and log under `.reports`. --away says for how many seconds the workers are away where all of
// them are killed. With --put-back NAME (or all) a fault of `put-back.ts` is in the
// sources, and one of the seeds must find it.

const USAGE = `simulate: expected whole numbers from 1 for --seed, --seeds, --jobs and --away, and for --put-back all or one of ${PUT_BACK.map(({ name }) => name).join(', ')}`
const TEMPLATE = 'simulation_template'
const REPORTS = join(
  dirname(dirname(dirname(fileURLToPath(import.meta.url)))),
  '.reports',
  'simulate',
)

/** Databases of one Redis as it comes, the first of which is nobody's. */
const MOST_JOBS = 15

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '2' },
    plan: { type: 'boolean', default: false },
    away: { type: 'string', default: String(AWAY_MS / 1_000) },
    'put-back': { type: 'string' },
  },
})
const [first, count, jobs, away] = [values.seed, values.seeds, values.jobs, values.away].map(Number)
const asked = values['put-back']
const putBack = PUT_BACK.filter(({ name }) => asked === 'all' || asked === name)
const awayMs = Number(away) * 1_000
const isSound = [first, count, jobs, away].every(
  (number) => Number.isSafeInteger(number) && Number(number) >= 1,
)
if (!isSound || (asked !== undefined && putBack.length === 0)) {
  console.error(USAGE)
  process.exit(2)
}
const seeds = Array.from({ length: count ?? 1 }, (_, at) => (first ?? 1) + at)

// The servers end with this process, and each world finds that it is gone.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
await using stack = new AsyncDisposableStack()
const dataDir = await mkdtemp(join(tmpdir(), 'plumbline-simulate-'))
stack.defer(() => rm(dataDir, { recursive: true, force: true }))
const postgres = await startEmbeddedPostgres({
  dataDir,
  settings: {
    fsync: 'off',
    full_page_writes: 'off',
    max_connections: '600',
    // Time goes on while locks are waited for: a deadlock that stands for a second would take
    // minutes of it.
    deadlock_timeout: '20ms',
  },
})
stack.defer(() => postgres.stop())
const redis = await startRedis()
if (redis === null) console.error('redis-server is not installed: every world is on Postgres alone')
else stack.defer(() => redis.stop())
const admin = stack.use(
  openDatabase({ url: postgres.url, poolSize: 2, applicationName: 'simulate' }),
)
const templateUrl = urlOf(TEMPLATE)
await admin.pool.query(`create database ${TEMPLATE}`)
await makeTemplate()

if (asked === undefined) {
  const failed = await runSeeds(async (runner, seed, job) => await runSeed(runner, seed, job))
  console.log(`${seeds.length - failed} of ${seeds.length} seeds held`)
  process.exitCode = failed === 0 ? 0 : 1
}
for (const fault of putBack) {
  console.log(`${fault.name}: ${fault.what}`)
  let isFound = false
  await runSeeds(async (runner, seed, job) => {
    if (isFound) return true
    const { ending } = await live(runner, seed, job)
    const [met] = ending.faults
    if (met === undefined) return true
    isFound = true
    console.log(`  found by seed ${seed}: ${met.split('\n', 1)[0]?.slice(0, 200)}`)
    return false
  }, fault.name)
  if (isFound) continue
  console.log(`  NOT FOUND by ${seeds.length} seeds from ${first} on`)
  process.exitCode = 1
}

/** Has every seed lived through, several at a time; returns how many did not hold. */
async function runSeeds(
  run: (runner: Runner, seed: number, job: number) => Promise<boolean>,
  fault?: string,
): Promise<number> {
  const waiting = [...seeds]
  let failedCount = 0
  await Promise.all(
    Array.from({ length: Math.min(MOST_JOBS, jobs ?? 1) }, async (_, at) => {
      await using runner = openRunner(fault)
      for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
        if (!(await run(runner, seed, at + 1))) failedCount += 1
      }
    }),
  )
  return failedCount
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

/** Lives through one seed on a database of its own. */
async function live(runner: Runner, seed: number, job: number): Promise<Lived> {
  const folder = folderOf(seed)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const name = `simulation_${seed}`
  await admin.pool.query(`create database ${name} template ${TEMPLATE}`)
  await admin.pool.query(goByClock(name))
  const lived = await runner.run({
    seed,
    awayMs,
    folder,
    ownerUrl: urlOf(name),
    servingUrl: urlOf(name, true),
    ...(redis === null ? {} : { redisUrl: `${redis.url}/${job}` }),
  })
  await admin.pool.query(`drop database ${name} with (force)`)
  return lived
}

function folderOf(seed: number): string {
  return join(REPORTS, `seed-${seed}`)
}

/** Lives through one seed and tells how it ended; returns whether all held. */
async function runSeed(runner: Runner, seed: number, job: number): Promise<boolean> {
  const began = Date.now()
  const { ending, cpuMs } = await live(runner, seed, job)
  const folder = folderOf(seed)
  const plan = planOf(seed, redis !== null, awayMs)
  const holds = ending.faults.length === 0
  const { lastedMs, batchCount, callCount, fullest } = ending
  console.log(
    `seed ${seed} on ${plan.backend}: ${holds ? 'held' : 'FAILED'}, ${batchCount} batches, ${callCount} calls, ` +
      `${plan.faults.length} faults, ${Math.round(lastedMs / 1_000)} s in ${seconds(Date.now() - began)} s, ` +
      `${seconds(cpuMs)} of a processor, ` +
      `at most ${fullest.jobs} jobs where ${fullest.bound} tasks may be in flight`,
  )
  if (holds && !values.plan) {
    await rm(folder, { recursive: true, force: true })
    return true
  }
  for (const fault of ending.faults) console.log(`  ${fault}`)
  const text = JSON.stringify(plan, undefined, 1)
  await writeFile(join(folder, 'plan.json'), text)
  await writeFile(join(folder, 'ending.json'), JSON.stringify(ending, undefined, 1))
  console.log(values.plan ? text : JSON.stringify(plan.faults))
  console.log(`  ${folder}`)
  return holds
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1)
}

function urlOf(database: string, serving = false): string {
  const url = new URL(postgres.url)
  url.pathname = `/${database}`
  if (serving) {
    // The role that is granted its rights again where the queue is lost.
    url.username = 'test_serving'
    url.password = 'a password of tests'
  }
  return url.href
}
