import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CHECKS, type Check } from '@plumbline/contract/products'
import { createAccount } from '@plumbline/db/accounts'
import { openDatabase, type Db } from '@plumbline/db/database'
import { migrate } from '@plumbline/db/migrate'
import { reportWorker } from '@plumbline/db/workers'
import { grantGoodwill } from '@plumbline/metering/grant'
import { runDispatcher } from '@plumbline/pipeline/dispatch'
import { readStageJob, readTaskJob } from '@plumbline/pipeline/batch-jobs'
import { runFinish } from '@plumbline/pipeline/finish'
import { createInstallationKey } from '@plumbline/pipeline/installation-key'
import { runIntake } from '@plumbline/pipeline/intake-stage'
import { DEFAULT_LIMITS, type Pipeline } from '@plumbline/pipeline/pipeline'
import { runTask, type CheckRunner } from '@plumbline/pipeline/run-task'
import { openScorers } from '@plumbline/pipeline/scorers'
import { submitBatch } from '@plumbline/pipeline/submit'
import { runSweeps } from '@plumbline/pipeline/sweeps'
import { createTaskLeases } from '@plumbline/pipeline/task-lease'
import { DEFAULT_CAPACITY } from '@plumbline/pipeline/task-capacity'
import type { Job } from '@plumbline/queue/backend'
import { work } from '@plumbline/queue/jobs'
import { bulkQueueOf } from '@plumbline/queue/names'
import { migrateQueue } from '@plumbline/queue/postgres-queues'
import { createScorer } from '@plumbline/scoring/score'
import { packagedWeights } from '@plumbline/scoring/weights'
import { openStorage } from '@plumbline/storage/open'
import { instantEngine } from '@plumbline/testkit/instant-engines'
import { openPostgresTestQueue } from '@plumbline/testkit/queue'
import { createDatabase, startPostgres } from './servers.ts'
import { useShiftableClock } from './shifted-clock.ts'

/** The pipeline with its workers and sweeps in this process, on a real Postgres with a movable clock. */
export interface AgeingService extends AsyncDisposable {
  readonly db: Db
  readonly accounts: readonly string[]
  /** Logged errors. */
  readonly faults: readonly string[]
  submit(accountId: string, content: string): Promise<void>
  /** Runs the dispatcher until disposed; collects the duration of each round. */
  dispatch(): AsyncDisposable & { readonly roundsMs: readonly number[] }
}

/**
 * Default autovacuum without its delays: it runs each minute, and a day of this run takes some
 * seconds.
 */
const SETTINGS = { autovacuum_naptime: '1s', autovacuum_vacuum_cost_delay: '0' }

const ACCOUNTS = 10
const STAGES_AT_ONCE = 4
const SWEEP_MS = 500

/** Opens the service; its files are in a temporary folder. */
export async function openAgeingService(): Promise<AgeingService> {
  await using stack = new AsyncDisposableStack()
  const { dir, url: server } = stack.use(await startPostgres(SETTINGS))
  const url = await createDatabase(server, 'ageing')
  await useShiftableClock(url)
  const db = stack.use(openDatabase({ url, poolSize: 16, applicationName: 'bench' }))
  await migrate(db)
  await migrateQueue(url)
  const queue = stack.use(await openPostgresTestQueue(url))
  const files = pathToFileURL(join(dir, 'files')).href
  const faults: string[] = []
  const note = (fields: object, message: string): void => {
    faults.push(`${message} ${'err' in fields ? String(fields.err) : JSON.stringify(fields)}`)
  }
  const pipeline: Pipeline = {
    db,
    queue: queue.backend,
    storage: stack.use(await openStorage({ url: files, scratchDir: dir })),
    installationKey: createInstallationKey(randomUUID()),
    scorers: await openScorers(db, packagedWeights(), createScorer),
    scratchDir: dir,
    limits: { ...DEFAULT_LIMITS, unfinishedBatches: 1_000, accountFileBytes: 2 ** 40 },
    log: { debug: () => {}, info: () => {}, warn: note, error: note },
  }
  await reportCapacity(db)
  stack.use(await startWorkers(pipeline))
  stack.use(startSweeps(pipeline))
  const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => openAccount(db)))
  const owned = stack.move()
  return {
    db,
    accounts,
    faults,
    submit: async (accountId, content) => {
      const path = join(dir, `upload-${randomUUID()}`)
      await writeFile(path, content)
      await submitBatch(pipeline, { ...BATCH, accountId, path })
    },
    dispatch: () => {
      const roundsMs: number[] = []
      const stop = new AbortController()
      const ended = runDispatcher(pipeline, stop.signal, { onRound: (ms) => roundsMs.push(ms) })
      return {
        roundsMs,
        [Symbol.asyncDispose]: async () => {
          stop.abort()
          await ended
        },
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

const BATCH = {
  mode: 'live',
  product: 'email',
  name: 'of the day',
  fileName: 'list.csv',
  requested: {},
  defaultCountry: null,
  autoStart: true,
  maxCredits: null,
  retentionDays: 30,
  explain: false,
  chargeUnknown: true,
} as const

const CREDITS = 1_000_000_000

async function openAccount(db: Db): Promise<string> {
  const { id } = await createAccount(db, { email: 'bench@example.com', plan: 'pro' })
  await grantGoodwill(db, id, CREDITS, `bench:${id}`)
  return id
}

/** Registers a worker of each check for the duration of the run. */
async function reportCapacity(db: Db): Promise<void> {
  for (const kind of CHECKS) {
    await reportWorker(db, { name: 'bench', kind, health: [], capacity: DEFAULT_CAPACITY[kind] })
  }
  await db.pool.query("update workers set seen_at = now() + interval '1 year'")
}

async function startWorkers(pipeline: Pipeline): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  const onError = (error: unknown): void => pipeline.log.error({ err: error }, 'job failed')
  const staged = { concurrency: STAGES_AT_ONCE, onError }
  const { queue } = pipeline
  for (const [name, run] of [
    ['intake', runIntake],
    ['finish', runFinish],
  ] as const) {
    const handle = (job: Job): Promise<void> => run(pipeline, readStageJob(job.data), job.signal)
    stack.use(await work(queue, name, handle, staged))
  }
  const leases = stack.use(createTaskLeases(pipeline))
  const { slots, reserve } = DEFAULT_CAPACITY.email
  const runner = providersOf(instantEngine<Check>('email', { later: true }))
  const answer = (job: Job): Promise<void> =>
    runTask(pipeline, leases, () => runner, readTaskJob(job.data), job.signal)
  stack.use(
    await work(queue, bulkQueueOf('email'), answer, { concurrency: slots + reserve, onError }),
  )
  return stack.move()
}

/** Providers with subjects that must wait. */
const PROVIDERS = 200

/** An engine whose subjects wait for the provider of their domain. */
function providersOf(engine: CheckRunner): CheckRunner {
  return {
    run: async (request) => {
      const answers = await engine.run(request)
      return answers.map((answer, at) =>
        answer.kind === 'later'
          ? { ...answer, group: `mx:${providerOf(request.subjects[at] ?? '')}` }
          : answer,
      )
    },
  }
}

function providerOf(address: string): number {
  return Number(/\d+(?=\.example$)/.exec(address)?.[0] ?? 0) % PROVIDERS
}

function startSweeps(pipeline: Pipeline): AsyncDisposable {
  const stop = new AbortController()
  const times = { everyMs: SWEEP_MS, debitTimeoutSeconds: 120, strayFilesDays: 7 }
  const ended = runSweeps(pipeline, { ...times, onSwept: () => undefined }, stop.signal)
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      await ended
    },
  }
}
