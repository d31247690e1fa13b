import type { Memory } from '@plumbline/ports/memory'
import type { Scorer } from '@plumbline/contract/score'
import type { Db } from '@plumbline/db/database'
import { createScorer } from '@plumbline/scoring/score'
import { loadWeights } from '@plumbline/scoring/weights'
import { createMetering, type Metering } from '@plumbline/metering/metering'
import { openConnections, type Connections } from '@plumbline/pipeline/connections'
import { createInstallationKey } from '@plumbline/pipeline/installation-key'
import { uploadLimits } from '@plumbline/intake/limits'
import { DEFAULT_LIMITS, type Pipeline } from '@plumbline/pipeline/pipeline'
import { openScorers } from '@plumbline/pipeline/scorers'
import { refuseForeignStore } from '@plumbline/pipeline/sweep-store'
import { createLiveCaller, type LiveCaller } from '@plumbline/queue/live-caller'
import { createLocalLimiter } from '@plumbline/queue/local-limiter'
import type { People } from '@plumbline/people/people'
import { readInstallationKey } from '@plumbline/runtime/installation-key'
import { newInstanceName } from '@plumbline/runtime/instance-name'
import { openTracing } from '@plumbline/runtime/tracing'
import type { Tracer } from '@plumbline/ports/tracer'
import type { Log } from '@plumbline/ports/log'
import { createMetrics, type Metrics } from '@plumbline/runtime/metrics'
import { openScratch } from '@plumbline/runtime/scratch'
import { openFiles } from '@plumbline/storage/open'
import type { Access } from './access.ts'
import { createBackgroundWork, type BackgroundWork } from './background-work.ts'
import { createBalanceCache } from './balance-cache.ts'
import { createCallLimit, type CallLimit } from './call-limit.ts'
import { createCreditCounter, type CreditCounter } from './count-credits.ts'
import { createRefusalCounter, type RefusalCounter } from './count-refusals.ts'
import { createDatabaseTimeLimit, type DatabaseTimeLimit } from './database-time-limit.ts'
import { createFailedKeyLimit } from './failed-key-limit.ts'
import { createApiKeyCache } from './api-key-cache.ts'
import { isRepeat, type IdempotencyStore } from './idempotency.ts'
import { withLocalFallback } from './local-fallback.ts'
import { openPeople } from './people.ts'
import { createRateLimit } from './rate-limit.ts'
import { createRequestLimit } from './request-limit.ts'
import { createSessionCache } from './session-cache.ts'
import { createOptimisticLimiter } from './optimistic-limiter.ts'
import type { ApiSettings } from './settings.ts'
import { createStartUp, type StartUp } from './start-up.ts'

/** Dependencies of all routes; opened once, closed in reverse order. */
export interface Context extends AsyncDisposable {
  readonly settings: ApiSettings
  readonly log: Log
  readonly metrics: Metrics
  readonly tracer: Tracer
  /** Counts the credits of single calls. */
  readonly countCredits: CreditCounter
  readonly countRefusal: RefusalCounter
  readonly db: Db
  /** For the statements that single calls wait for: they do not wait for those of `db`. */
  readonly callDb: Db
  readonly metering: Metering
  readonly live: LiveCaller
  /** Limits how long calls wait for the database. */
  readonly database: DatabaseTimeLimit
  /** Limits concurrent single calls. */
  readonly calls: CallLimit
  readonly pipeline: Pipeline
  /** State that all workers share. */
  readonly memory: Memory
  /** Scores single calls, by the weights of this process. */
  readonly scorer: Scorer
  readonly access: Access
  readonly idempotency: IdempotencyStore
  readonly people: People
  readonly startUp: StartUp
  /** Work that a stop waits for, though no call does. */
  readonly background: BackgroundWork
  /** Aborted when the program stops: event streams end, and readiness says no. */
  readonly stopping: AbortSignal
  /** Reports an error that no caller waits for. */
  readonly onError: (error: unknown) => void
}

/**
 * Connections to Postgres that only single calls use, so that they wait for no other request's
 * statements: one for debits, and one for what comes before and after them.
 */
const CALL_CONNECTIONS = 2

/** Opens the dependencies of the API. */
export async function openContext(
  settings: ApiSettings,
  log: Log,
  { stopping, found }: { readonly stopping: AbortSignal; readonly found: Promise<void> },
): Promise<Context> {
  await using stack = new AsyncDisposableStack()
  const onError = (error: unknown): void => log.error({ err: error }, 'background error')
  const metrics = createMetrics()
  const instance = newInstanceName()
  const traced = { program: 'api', instance, registry: metrics.registry, log }
  const { tracer } = stack.use(await openTracing(settings, traced))
  const installationKey = createInstallationKey(await readInstallationKey(settings))
  const connections = stack.use(
    await openConnections({ ...storesOf(settings), installationKey, name: 'api', log, tracer }),
  )
  const { db, callDb, queue } = connections
  const weights = await loadWeights(settings.SCORE_WEIGHTS_FILE)
  const scorers = await openScorers(db, weights, createScorer)
  const { DATA_DIR: dataDir, FILES_URL: url } = settings
  const { dir: scratchDir } = stack.use(await openScratch(dataDir, onError))
  const storage = stack.use(await openFiles({ url, dataDir, scratchDir }))
  await refuseForeignStore({ db, storage, scratchDir, log })
  const metering = stack.use(createMetering(callDb))
  const live = stack.use(await createLiveCaller(queue, { onError }))
  const runMs = settings.DEBIT_TIMEOUT_SECONDS * 1_000
  const kept = { runMs, installationKey, onError }
  const access = openAccess(settings, connections, metering, stack, kept)
  const database = createDatabaseTimeLimit(connections.receivedBytes)
  const { balances, unpaidResponses } = access
  const idempotency = { database, db: callDb, ...kept, balances, unpaidResponses }
  const pipeline: Pipeline = {
    db,
    queue,
    storage,
    installationKey,
    scorers,
    scratchDir,
    limits: limitsOf(settings),
    log,
  }
  const startUp = createStartUp({ db: callDb, found, waitSeconds: settings.WORKERS_WAIT_SECONDS })
  const people = openPeople(settings, { connections, installationKey, log, stack })
  const background = stack.use(createBackgroundWork())
  const owned = stack.move()
  return {
    settings,
    people,
    log,
    metrics,
    tracer,
    countCredits: createCreditCounter(metrics),
    countRefusal: createRefusalCounter(metrics),
    db,
    callDb,
    metering,
    live,
    database,
    calls: createCallLimit(settings),
    pipeline,
    memory: connections.memory,
    scorer: scorers.current,
    access,
    idempotency,
    startUp,
    background,
    stopping,
    onError,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function storesOf(settings: ApiSettings) {
  return {
    databaseUrl: settings.DATABASE_URL,
    databaseDirectUrl: settings.DATABASE_DIRECT_URL,
    redisUrl: settings.REDIS_URL,
    redisPrefix: settings.REDIS_PREFIX,
    poolSize: settings.DATABASE_POOL_SIZE,
    reserved: CALL_CONNECTIONS,
  }
}

const DAY_SECONDS = 86_400

function openAccess(
  settings: ApiSettings,
  connections: Connections,
  metering: Metering,
  stack: AsyncDisposableStack,
  {
    runMs,
    installationKey,
    onError,
  }: Pick<IdempotencyStore, 'runMs' | 'installationKey' | 'onError'>,
): Access {
  // On Postgres the limiter would cost each call a transaction, so each process keeps the limit by
  // itself.
  const own = createLocalLimiter()
  const onRedis = connections.queue.kind === 'redis'
  const limiter = onRedis ? withLocalFallback(connections.limiter, own, onError) : own
  const ofAccount = onRedis ? createOptimisticLimiter(limiter, onError) : limiter
  const apiKeys = stack.use(
    createApiKeyCache({ db: connections.callDb, prefix: settings.KEY_PREFIX, onError }),
  )
  const sessions = stack.use(createSessionCache({ db: connections.callDb, onError }))
  return {
    apiKeys,
    sessions,
    publicUrl: settings.PUBLIC_URL,
    balances: createBalanceCache(async (accountId) => (await metering.remaining(accountId)) ?? 0),
    isRepeat: (scope) => isRepeat({ db: connections.callDb, runMs, installationKey }, scope),
    calls: createRateLimit({
      name: 'calls',
      perSecond: settings.RATE_LIMIT_PER_SECOND,
      burst: settings.RATE_LIMIT_BURST,
      limiter: ofAccount,
    }),
    unpaidResponses: createRateLimit({
      name: 'unpaid-responses',
      perSecond: settings.UNPAID_RESPONSES_PER_DAY / DAY_SECONDS,
      burst: settings.UNPAID_RESPONSES_PER_DAY,
      limiter: ofAccount,
    }),
    requests: createRequestLimit(settings),
    failedKeys: createFailedKeyLimit({
      perMinute: settings.FAILED_KEYS_PER_MINUTE,
      rate: createRateLimit({
        name: 'failed-keys',
        perSecond: settings.FAILED_KEYS_PER_MINUTE / 60,
        burst: settings.FAILED_KEYS_PER_MINUTE,
        limiter,
      }),
    }),
  }
}

function limitsOf(settings: ApiSettings): Pipeline['limits'] {
  return {
    ...DEFAULT_LIMITS,
    ...uploadLimits(settings),
    unfinishedBatches: settings.UNFINISHED_BATCHES_LIMIT,
    accountFileBytes: settings.STORED_LIMIT_BYTES,
    unpaidRowsPerDay: settings.UNPAID_ROWS_PER_DAY,
  }
}
