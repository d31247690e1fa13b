import { closeTogether } from './close-together.ts'
import { WakeUp } from '@plumbline/concurrency/wake-up'
import { readStageJob } from '@plumbline/pipeline/batch-jobs'
import { runDispatcher } from '@plumbline/pipeline/dispatch'
import { runEarlyFinishes } from '@plumbline/pipeline/early-finish'
import { runFinish } from '@plumbline/pipeline/finish'
import { runIntake } from '@plumbline/pipeline/intake-stage'
import { createLongStageLimit, LONG_STAGES } from '@plumbline/pipeline/long-stage-limit'
import { runSweeps } from '@plumbline/pipeline/sweeps'
import { runErasures } from '@plumbline/pipeline/work-erasures'
import type { Job } from '@plumbline/queue/backend'
import { work } from '@plumbline/queue/jobs'
import type { WorkerContext } from './context.ts'
import type { ListUpdates } from './list-updates.ts'
import { createSweptDebitCounter } from './count-swept-debits.ts'
import { graceOf, jobLockOf } from './settings.ts'
import { factNames } from './fact-names.ts'

/** Files read at once, and result files written at once, by one worker: half of them may be long. */
const STAGE_CONCURRENCY = 2 * LONG_STAGES

/** Histogram buckets of a dispatcher round, in seconds; a round should take at most 0.02. */
const ROUND_SECONDS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1, 5]

/**
 * Serves batches until disposed: reads their files, dispatches their tasks, writes their results,
 * runs the sweeps, and updates the reference lists.
 */
export async function serveBatches(
  context: WorkerContext,
  listUpdates: ListUpdates,
): Promise<AsyncDisposable> {
  const { pipeline, settings, log, metrics } = context
  const { queue, memory, durable } = context.connections
  const stop = new AbortController()
  const started = new WakeUp()
  const onError = (error: unknown): void => log.error({ err: error }, 'stage failed')
  const options = {
    concurrency: STAGE_CONCURRENCY,
    ...jobLockOf(settings),
    graceMs: graceOf(settings),
    onError,
  }
  const rounds = metrics.histogram(
    'dispatch_round_seconds',
    'Time that a round of the dispatcher took, in the process that dispatches.',
    [],
    ROUND_SECONDS,
  )
  await using stack = new AsyncDisposableStack()
  const loops = Promise.all([
    runDispatcher(pipeline, stop.signal, {
      onRound: (ms) => rounds.observe(ms / 1_000),
      onStarting: () => started.wake(),
    }),
    runEarlyFinishes(pipeline, started, stop.signal),
    runSweeps(
      pipeline,
      {
        everyMs: settings.SWEEP_SECONDS * 1000,
        debitTimeoutSeconds: settings.DEBIT_TIMEOUT_SECONDS,
        strayFilesDays: settings.STRAY_FILES_DAYS,
        onSwept: createSweptDebitCounter(metrics),
      },
      stop.signal,
    ),
    runErasures({ pipeline, facts: { memory, durable, namesOf: factNames } }, stop.signal),
    listUpdates.run(stop.signal),
  ])
  const limit = createLongStageLimit(pipeline.db)
  const ifLimitAllows = async (job: Job, run: typeof runIntake): Promise<void> => {
    const stage = readStageJob(job.data)
    await limit(stage, () => run(pipeline, stage, job.signal))
  }
  const served: AsyncDisposable[] = []
  stack.defer(async () => {
    stop.abort()
    await Promise.all([loops, closeTogether(served)])
  })
  served.push(await work(queue, 'intake', (job) => ifLimitAllows(job, runIntake), options))
  served.push(await work(queue, 'finish', (job) => ifLimitAllows(job, runFinish), options))
  return stack.move()
}
