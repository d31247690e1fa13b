import { loadWeights } from '@plumbline/scoring/weights'
import { createScorer } from '@plumbline/scoring/score'
import { createBatchCreditCounter } from './count-batch-credits.ts'
import { openConnections, type Connections } from '@plumbline/pipeline/connections'
import { createInstallationKey } from '@plumbline/pipeline/installation-key'
import { uploadLimits } from '@plumbline/intake/limits'
import { DEFAULT_LIMITS, type Pipeline } from '@plumbline/pipeline/pipeline'
import { refuseForeignStore } from '@plumbline/pipeline/sweep-store'
import { readInstallationKey } from '@plumbline/runtime/installation-key'
import { newInstanceName } from '@plumbline/runtime/instance-name'
import { createMetrics, type Metrics } from '@plumbline/runtime/metrics'
import { openScorers } from '@plumbline/pipeline/scorers'
import { openTracing } from '@plumbline/runtime/tracing'
import type { Tracer } from '@plumbline/ports/tracer'
import type { Log } from '@plumbline/ports/log'
import { openScratch } from '@plumbline/runtime/scratch'
import { openFiles } from '@plumbline/storage/open'
import type { WorkerSettings } from './settings.ts'

/** The dependencies of a worker process; opened once, closed in reverse order. */
export interface WorkerContext extends AsyncDisposable {
  /** The name of this run of the process, in its reports and traces. */
  readonly instance: string
  readonly connections: Connections
  readonly pipeline: Pipeline
  readonly settings: WorkerSettings
  readonly log: Log
  readonly metrics: Metrics
  readonly tracer: Tracer
}

/** Opens the dependencies of a worker of any kind. */
export async function openContext(
  settings: WorkerSettings,
  log: Log,
  name: string,
): Promise<WorkerContext> {
  await using stack = new AsyncDisposableStack()
  const metrics = createMetrics()
  const instance = newInstanceName()
  const traced = { program: 'worker', instance, registry: metrics.registry, log }
  const { tracer } = stack.use(await openTracing(settings, traced))
  const installationKey = createInstallationKey(await readInstallationKey(settings))
  const connections = stack.use(
    await openConnections({
      databaseUrl: settings.DATABASE_URL,
      databaseDirectUrl: settings.DATABASE_DIRECT_URL,
      redisUrl: settings.REDIS_URL,
      redisPrefix: settings.REDIS_PREFIX,
      installationKey,
      poolSize: settings.DATABASE_POOL_SIZE,
      name,
      log,
      tracer,
    }),
  )
  const { DATA_DIR: dataDir, FILES_URL: url } = settings
  const onError = (error: unknown): void =>
    log.warn({ err: error }, 'scratch files could not be removed')
  const { dir: scratchDir } = stack.use(await openScratch(dataDir, onError))
  const storage = stack.use(await openFiles({ url, dataDir, scratchDir }))
  const weights = await loadWeights(settings.SCORE_WEIGHTS_FILE)
  const pipeline: Pipeline = {
    db: connections.db,
    queue: connections.queue,
    storage,
    installationKey,
    scorers: await openScorers(connections.db, weights, createScorer),
    scratchDir,
    limits: limitsOf(settings),
    log,
    countCredits: createBatchCreditCounter(metrics),
  }
  await refuseForeignStore(pipeline)
  const owned = stack.move()
  return {
    instance,
    connections,
    pipeline,
    settings,
    log,
    metrics,
    tracer,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function limitsOf(settings: WorkerSettings): Pipeline['limits'] {
  return {
    ...DEFAULT_LIMITS,
    ...uploadLimits(settings),
    unpaidRowsPerDay: settings.UNPAID_ROWS_PER_DAY,
    chunkRecords: settings.CHUNK_RECORDS,
    leaseMs: settings.LEASE_SECONDS * 1000,
    saveMs: settings.SAVE_SECONDS * 1000,
  }
}
