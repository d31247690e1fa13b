import type { Memory } from '@plumbline/ports/engine'
import type { Scorer } from '@plumbline/contract/score'
import type { Db } from '@plumbline/db/database'
import { isKeyHeld } from '@plumbline/db/idempotency'
import { createScorer } from '@plumbline/scoring/score'
import { loadWeights } from '@plumbline/scoring/weights'
import { createMetering, type Metering } from '@plumbline/metering/metering'
import { openConnections, type Connections } from '@plumbline/pipeline/connections'
import { createInstallationKey } from '@plumbline/pipeline/installation-key'
import { listLimits } from '@plumbline/pipeline/intake/limits'
import { DEFAULT_LIMITS, type Pipeline } from '@plumbline/pipeline/pipeline'
import { openScorers } from '@plumbline/pipeline/scorers'
import { refuseForeignStore } from '@plumbline/pipeline/sweep-store'
import { createLiveCaller, type LiveCaller } from '@plumbline/queue/live-caller'
import { createLocalLimiter } from '@plumbline/queue/local-limiter'
import { readInstallationKey } from '@plumbline/runtime/installation-key'
import type { Log } from '@plumbline/runtime/log'
import { createMetrics, type Metrics } from '@plumbline/runtime/metrics'
import { openScratch } from '@plumbline/runtime/scratch'
import { openFiles } from '@plumbline/storage/open'
import type { Gate } from './access.ts'
import { createBalances } from './balances.ts'
import { createFailedKeys } from './failed-keys.ts'
import { createKeyring } from './api-key-cache.ts'
import { keptKey, type OnceStore } from './idempotency.ts'
import { createRate, orOwn } from './rate.ts'
import { grantAhead } from './optimistic-limiter.ts'
import type { ApiSettings } from './settings.ts'
import { createStartUp, type StartUp } from './start-up.ts'

/** What the routes work with; built once, closed in reverse. */
export interface Context extends AsyncDisposable {
  readonly settings: ApiSettings
  readonly log: Log
  readonly metrics: Metrics
  readonly db: Db
  readonly metering: Metering
  readonly live: LiveCaller
  readonly pipeline: Pipeline
  /** What the workers know together. */
  readonly memory: Memory
  /** By the weights of this process, for single calls. */
  readonly scorer: Scorer
  readonly gate: Gate
  readonly once: OnceStore
  readonly startUp: StartUp
  /** Aborted when the program stops: event streams end, and readiness says no. */
  readonly stopping: AbortSignal
  /** Notes a fault that no caller waits for. */
  readonly onError: (error: unknown) => void
}

/** Opens all that the API needs. */
export async function openContext(
  settings: ApiSettings,
  log: Log,
  { stopping, found }: { readonly stopping: AbortSignal; readonly found: Promise<void> },
): Promise<Context> {
  await using stack = new AsyncDisposableStack()
  const onError = (error: unknown): void => log.error({ err: error }, 'fault in the background')
  const installationKey = createInstallationKey(await readInstallationKey(settings))
  const connections = stack.use(
    await openConnections({
      databaseUrl: settings.DATABASE_URL,
      redisUrl: settings.REDIS_URL,
      redisPrefix: settings.REDIS_PREFIX,
      installationKey,
      poolSize: settings.DATABASE_POOL_SIZE,
      name: 'api',
      log,
    }),
  )
  const { db, queue } = connections
  const weights = await loadWeights(settings.SCORE_WEIGHTS_FILE)
  const scorers = await openScorers(db, weights, createScorer)
  const { DATA_DIR: dataDir, FILES_URL: url } = settings
  const { dir: scratchDir } = stack.use(await openScratch(dataDir, onError))
  const storage = stack.use(await openFiles({ url, dataDir, scratchDir }))
  await refuseForeignStore({ db, storage, scratchDir, log })
  const metering = stack.use(createMetering(db))
  const live = stack.use(await createLiveCaller(queue, { onError }))
  const runMs = settings.DEBIT_TIMEOUT_SECONDS * 1_000
  const gate = openGate(settings, connections, metering, stack, {
    runMs,
    installationKey,
    onError,
  })
  const once = { db, runMs, installationKey, balances: gate.balances, onError }
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
  const metrics = createMetrics()
  const startUp = createStartUp({ db, found, waitSeconds: settings.WORKERS_WAIT_SECONDS })
  const owned = stack.move()
  return {
    settings,
    log,
    metrics,
    db,
    metering,
    live,
    pipeline,
    memory: connections.memory,
    scorer: scorers.current,
    gate,
    once,
    startUp,
    stopping,
    onError,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function openGate(
  settings: ApiSettings,
  connections: Connections,
  metering: Metering,
  stack: AsyncDisposableStack,
  { runMs, installationKey, onError }: Pick<OnceStore, 'runMs' | 'installationKey' | 'onError'>,
): Gate {
  // On Postgres a take would cost each call a transaction, so each process keeps the limit by itself.
  const own = createLocalLimiter()
  const onRedis = connections.queue.kind === 'redis'
  const limiter = onRedis ? orOwn(connections.limiter, own, onError) : own
  const keyring = stack.use(
    createKeyring({ db: connections.db, prefix: settings.KEY_PREFIX, onError }),
  )
  return {
    keyring,
    balances: createBalances(async (accountId) => (await metering.remaining(accountId)) ?? 0),
    isRepeat: (scope) => {
      const key = keptKey(installationKey, scope.key)
      return isKeyHeld(connections.db, { ...scope, key }, { runMs })
    },
    calls: createRate({
      name: 'calls',
      perSecond: settings.RATE_LIMIT_PER_SECOND,
      burst: settings.RATE_LIMIT_BURST,
      limiter: onRedis ? grantAhead(limiter, onError) : limiter,
    }),
    failedKeys: createFailedKeys({
      perMinute: settings.FAILED_KEYS_PER_MINUTE,
      rate: createRate({
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
    ...listLimits(settings),
    unfinishedLists: settings.UNFINISHED_BATCHES_LIMIT,
    accountFileBytes: settings.STORED_LIMIT_BYTES,
    unpaidRowsPerDay: settings.UNPAID_ROWS_PER_DAY,
  }
}
