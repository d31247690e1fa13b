import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BatchView } from '@plumbline/contract/batch-view'
import { CHECKS, type Check } from '@plumbline/contract/products'
import type { Weights } from '@plumbline/contract/score'
import { createAccount } from '@plumbline/db/accounts'
import type { BatchOwner } from '@plumbline/db/batches/rows'
import { leaseStages, type Stage } from '@plumbline/db/batches/stages'
import { leaseTasks } from '@plumbline/db/batches/lease-tasks'
import { openDatabase } from '@plumbline/db/database'
import { reportWorker, type TaskCapacity } from '@plumbline/db/workers'
import { createInstallationKey } from '@plumbline/pipeline/installation-key'
import { runFinish } from '@plumbline/pipeline/finish'
import { createScorer } from '@plumbline/scoring/score'
import { packagedWeights } from '@plumbline/scoring/weights'
import { createTaskLeases } from '@plumbline/pipeline/task-lease'
import { runIntake } from '@plumbline/pipeline/intake-stage'
import { DEFAULT_LIMITS, type Pipeline } from '@plumbline/pipeline/pipeline'
import { getBatch } from '@plumbline/pipeline/read'
import { keepQueuedStages } from '@plumbline/pipeline/recall'
import { runTask } from '@plumbline/pipeline/run-task'
import { openScorers } from '@plumbline/pipeline/scorers'
import { makeTasks } from '@plumbline/pipeline/start'
import { DEFAULT_CAPACITY } from '@plumbline/pipeline/task-capacity'
import { submitBatch, type Submission } from '@plumbline/pipeline/submit'
import { openStorage } from '@plumbline/storage/open'
import { instantEngine } from './instant-engines.ts'
import { createTestDatabase } from './postgres.ts'
import { openPostgresTestQueue, openRedisTestQueue } from './queue.ts'

/** The pipeline in this process, with its own database and files. */
export interface TestPipeline extends AsyncDisposable {
  readonly databaseUrl: string
  readonly pipeline: Pipeline
  readonly owner: BatchOwner
  /** Folder of the stored files. */
  readonly files: string
  /** Submits a batch, as an upload named `list.csv` by default. */
  submit(content: string | Uint8Array, options?: Partial<Submission>): Promise<BatchView>
  /** Submits a batch and runs its intake, so that it is `ready`, or `running` with `autoStart`. */
  read(content: string | Uint8Array, options?: Partial<Submission>): Promise<BatchView>
  /** Answers up to this many tasks of running batches with instant engines. */
  answer(mostTasks?: number): Promise<void>
  /** Runs the open stages of all batches once. */
  workStages(): Promise<void>
}

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** Opens a pipeline; the queue is on Postgres unless `redis` has a server and a key prefix. */
export async function openTestPipeline(
  options: {
    limits?: Partial<Pipeline['limits']>
    redis?: { url: string; prefix: string }
    /** Capacity of the workers by check; default one worker of each. */
    capacity?: Readonly<Record<Check, TaskCapacity>>
    weights?: Weights
    countCredits?: NonNullable<Pipeline['countCredits']>
  } = {},
): Promise<TestPipeline> {
  const { limits = {}, redis } = options
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase())
  const dir = stack.use(await mkdtempDisposable(join(tmpdir(), 'plumbline-pipeline-'))).path
  const db = stack.use(openDatabase({ url: database.url, poolSize: 8, applicationName: 'test' }))
  const files = join(dir, 'files')
  const storage = await openStorage({ url: pathToFileURL(files).href, scratchDir: dir })
  const queue = stack.use(
    redis === undefined
      ? await openPostgresTestQueue(database.url)
      : await openRedisTestQueue(redis.url, redis.prefix),
  )
  const pipeline: Pipeline = {
    db,
    queue: queue.backend,
    storage: stack.use(storage),
    installationKey: createInstallationKey('the key of a test, which hides nothing'),
    scorers: await openScorers(db, options.weights ?? packagedWeights(), createScorer),
    scratchDir: dir,
    limits: { ...DEFAULT_LIMITS, ...limits },
    log,
    ...(options.countCredits === undefined ? {} : { countCredits: options.countCredits }),
  }
  await reportCapacity(db, options.capacity ?? DEFAULT_CAPACITY)
  const account = await createAccount(db, { email: 'ada@example.com', plan: 'pro' })
  const owner: BatchOwner = { accountId: account.id, mode: 'live' }
  let uploads = 0
  const submit = async (
    content: string | Uint8Array,
    wanted: Partial<Submission> = {},
  ): Promise<BatchView> => {
    const path = join(dir, `upload-${uploads++}`)
    await writeFile(path, content)
    return await submitBatch(pipeline, { ...PLAIN, ...owner, path, ...wanted })
  }
  const owned = stack.move()
  return {
    databaseUrl: database.url,
    pipeline,
    owner,
    files,
    submit,
    read: async (content, wanted) => {
      const { id } = await submit(content, wanted)
      await runIntake(pipeline, { batchId: id, lease: 1 }, new AbortController().signal)
      while (await makeTasks(db)) {
        // One step after the other.
      }
      return await getBatch(pipeline, owner, id)
    },
    answer: async (mostTasks = Infinity) => {
      using leases = createTaskLeases(pipeline)
      const { leaseMs } = pipeline.limits
      for (let left = mostTasks; left > 0;) {
        const most = Math.min(left, TASKS_A_ROUND)
        const one = { email: most, phone: most, ip: most, domain: most }
        let tasks = await leaseTasks(db, { slots: one, reserve: 0, leaseMs })
        // The first call makes waiting tasks that are due ready, the second leases them.
        if (tasks.length === 0) tasks = await leaseTasks(db, { slots: one, reserve: 0, leaseMs })
        if (tasks.length === 0) return
        for (const task of tasks) {
          const { signal } = new AbortController()
          await runTask(pipeline, leases, (check) => instantEngine<Check>(check), task, signal)
        }
        left -= tasks.length
      }
    },
    workStages: async () => {
      const { signal } = new AbortController()
      for (const { batchId, stage, lease } of await leaseDueStages(pipeline)) {
        const run = stage === 'intake' ? runIntake : runFinish
        await run(pipeline, { batchId, lease }, signal)
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

const TASKS_A_ROUND = 16

/** Leases the open stages as a round of the dispatcher does, those whose lease ran out among them. */
export async function leaseDueStages(
  pipeline: Pipeline,
  leaseMs = 60_000,
): Promise<readonly Stage[]> {
  await keepQueuedStages({ ...pipeline, limits: { ...pipeline.limits, leaseMs } })
  return await leaseStages(pipeline.db, leaseMs)
}

/** Registers a worker of each check for the duration of a test; none of them takes tasks. */
async function reportCapacity(
  db: Pipeline['db'],
  capacity: Readonly<Record<Check, TaskCapacity>>,
): Promise<void> {
  for (const kind of CHECKS)
    await reportWorker(db, { name: 'test', kind, health: [], capacity: capacity[kind] })
  await db.pool.query(`update workers set seen_at = now() + interval '1 day' where name = 'test'`)
}

const PLAIN = {
  product: 'email',
  name: null,
  fileName: 'list.csv',
  requested: {},
  defaultCountry: null,
  autoStart: true,
  maxCredits: null,
  retentionDays: 30,
  explain: false,
  chargeUnknown: true,
} as const
