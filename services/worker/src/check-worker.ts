import type { Engine } from '@plumbline/ports/engine'
import type { Outcome } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import { readTaskJob } from '@plumbline/pipeline/batch-jobs'
import { createTaskLeases } from '@plumbline/pipeline/task-lease'
import { runTask, type CheckRunner } from '@plumbline/pipeline/run-task'
import { work } from '@plumbline/queue/jobs'
import { serveLive, type LiveRequest } from '@plumbline/queue/live-server'
import { bulkQueueOf } from '@plumbline/queue/names'
import type { BulkPace } from './bulk-pace.ts'
import { closeTogether } from './close-together.ts'
import type { WorkerContext } from './context.ts'
import type { WaitCounter } from './count-waits.ts'
import { createMagicRunner } from './magic-runner.ts'
import { graceOf, jobLockOf, liveLimitsOf, taskCapacityOf } from './settings.ts'

/**
 * Serves single calls and tasks of batches of one check, each from a queue of its own, until
 * disposed.
 */
export async function serveCheck<C extends Check>(
  context: WorkerContext,
  engine: Engine<C>,
  waits: WaitCounter,
  pace: BulkPace,
): Promise<AsyncDisposable> {
  const { pipeline, settings, log } = context
  const { queue } = context.connections
  const { slots, reserve } = taskCapacityOf(settings, engine.check)
  const onError = (error: unknown): void =>
    log.error({ err: error, check: engine.check }, 'job failed')
  const runners = { live: runnerFor(engine, pace), test: createMagicRunner(engine.check) }
  const runnerOf = (_: Check, mode: keyof typeof runners): CheckRunner => runners[mode]
  await using stack = new AsyncDisposableStack()
  const leases = stack.use(createTaskLeases(pipeline))
  const served: AsyncDisposable[] = []
  stack.defer(async () => await closeTogether(served))
  const graceMs = graceOf(settings)
  served.push(
    await serveLive(queue, engine.check, (request) => answerLive(engine, request), {
      limits: liveLimitsOf(settings),
      graceMs,
      onError,
      onBegin: (ms) => {
        pace.noteCall()
        waits.live(engine.check, ms)
      },
    }),
  )
  served.push(
    await work(
      queue,
      bulkQueueOf(engine.check),
      async ({ data, signal }) => {
        const task = readTaskJob(data)
        if (task.queuedMs !== undefined) {
          waits.bulk(engine.check, Math.max(0, queue.clock.nowMs() - task.queuedMs))
        }
        await runTask(pipeline, leases, runnerOf, task, signal)
      },
      { concurrency: slots + reserve, ...jobLockOf(settings), graceMs, onError },
    ),
  )
  return stack.move()
}

/** Maximum number of subjects of a task that no other task delays. */
const SHORT_TASK = 100

/** The engine of a check, at the pace of the process. */
function runnerFor<C extends Check>(engine: Engine<C>, pace: BulkPace): CheckRunner {
  // Safe because the queue of a check only holds tasks of that check.
  const runner = engine as unknown as CheckRunner
  return {
    async run(request) {
      if (request.subjects.length <= SHORT_TASK) return await runner.run(request)
      const end = await pace.enter(request.signal)
      try {
        return await runner.run(request)
      } finally {
        end()
      }
    },
  }
}

/** Passes one question to the engine; `refused` if the engine could not ask about it. */
async function answerLive<C extends Check>(
  engine: Engine<C>,
  { subject, depth, account, signal, heard }: LiveRequest,
): Promise<Outcome<C> | 'refused' | undefined> {
  const subjects = [subject]
  const [answer] = await engine.run({ subjects, depth, lane: 'live', account, signal, heard })
  return answer?.kind === 'later' ? 'refused' : answer
}
