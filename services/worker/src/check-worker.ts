import type { Engine } from '@plumbline/ports/engine'
import type { Outcome } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import { createTaskLeases } from '@plumbline/pipeline/task-lease'
import { runTask, type CheckRunner } from '@plumbline/pipeline/run-task'
import { work } from '@plumbline/queue/jobs'
import { serveLive, type LiveRequest } from '@plumbline/queue/live-server'
import { bulkQueueOf } from '@plumbline/queue/names'
import type { WorkerContext } from './context.ts'
import { createMagicRunner } from './magic-runner.ts'
import { liveLimitsOf } from './settings.ts'

/** Serves single calls and tasks of batches of one check, each from a queue of its own, until disposed. */
export async function serveCheck<C extends Check>(
  context: WorkerContext,
  engine: Engine<C>,
): Promise<AsyncDisposable> {
  const { pipeline, settings, log } = context
  const { slots, reserve } = pipeline.limits
  const onError = (error: unknown): void =>
    log.error({ err: error, check: engine.check }, 'job failed')
  const magic = createMagicRunner(engine.check)
  await using stack = new AsyncDisposableStack()
  const leases = stack.use(createTaskLeases(pipeline))
  stack.use(
    await serveLive(
      context.connections.queue,
      engine.check,
      (request) => answerLive(engine, request),
      { limits: liveLimitsOf(settings), graceMs: 5_000, onError },
    ),
  )
  stack.use(
    await work(
      context.connections.queue,
      bulkQueueOf(engine.check),
      async ({ data, signal }) => {
        const runnerOf = (_: Check, mode: 'live' | 'test'): CheckRunner =>
          mode === 'test' ? magic : runnerFor(engine)
        await runTask(pipeline, leases, runnerOf, taskIn(data), signal)
      },
      { concurrency: slots[engine.check] + reserve, graceMs: 5_000, onError },
    ),
  )
  return stack.move()
}

/** Safe because a queue of one check brings only tasks of that check. */
function runnerFor<C extends Check>(engine: Engine<C>): CheckRunner {
  return engine as unknown as CheckRunner
}

function taskIn(data: Readonly<Record<string, unknown>>): { taskId: number; lease: number } {
  const { taskId, lease } = data
  if (typeof taskId !== 'number' || typeof lease !== 'number') {
    throw new TypeError('a job of a batch names no task')
  }
  return { taskId, lease }
}

/** Asks the engine about one subject. */
async function answerLive<C extends Check>(
  engine: Engine<C>,
  { subject, depth, tenant, signal, heard }: LiveRequest,
): Promise<Outcome<C> | undefined> {
  const subjects = [subject]
  const [answer] = await engine.run({ subjects, depth, lane: 'live', tenant, signal, heard })
  if (answer?.kind === 'later') throw new Error(`${engine.check} put off a single call`)
  return answer
}
