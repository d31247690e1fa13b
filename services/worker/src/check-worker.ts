import type { Answer, Engine } from '@plumbline/ports/engine'
import type { Check, Depth } from '@plumbline/contract/products'
import { createTaskLeases } from '@plumbline/pipeline/task-lease'
import { runTask, type CheckRunner } from '@plumbline/pipeline/run-task'
import { work } from '@plumbline/queue/jobs'
import { serveLive, type LiveRequest } from '@plumbline/queue/live-server'
import { bulkQueueOf } from '@plumbline/queue/names'
import type { WorkerContext } from './context.ts'
import { createMagicRunner } from './magic-runner.ts'

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
      { concurrency: settings.LIVE_CONCURRENCY, onError },
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

/** Asks the engine once for each depth and account among the questions, all at the same time. */
async function answerLive<C extends Check>(
  engine: Engine<C>,
  request: LiveRequest<C>,
): Promise<void> {
  const groups = new Map<string, { depth: Depth; tenant: string; indexes: number[] }>()
  for (const [index, { depth, tenant }] of request.questions.entries()) {
    const key = `${depth} ${tenant}`
    const group = groups.get(key) ?? { depth, tenant, indexes: [] }
    group.indexes.push(index)
    groups.set(key, group)
  }
  const runs = [...groups.values()].map(async ({ depth, tenant, indexes }) => {
    const report = (subjectNo: number, answer: Answer<C>): void => {
      const index = indexes[subjectNo]
      if (index === undefined) return
      if (answer.kind === 'later') throw new Error(`${engine.check} put off a single call`)
      request.answered(index, answer)
    }
    const answers = await engine.run({
      subjects: indexes.map((index) => request.questions[index]?.subject ?? ''),
      depth,
      lane: 'live',
      tenant,
      signal: request.signal,
      answered: report,
    })
    for (const [subjectNo, answer] of answers.entries()) report(subjectNo, answer)
  })
  await Promise.all(runs)
}
