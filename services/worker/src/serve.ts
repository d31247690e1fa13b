import type { Engine } from '@plumbline/ports/engine'
import { closeTogether } from './close-together.ts'
import type { Check } from '@plumbline/contract/products'
import { serveBatches } from './batch-worker.ts'
import { createBulkPace } from './bulk-pace.ts'
import type { WorkerContext } from './context.ts'
import { serveCheck } from './check-worker.ts'
import { createAnswerCounter } from './count-answers.ts'
import { createWaitCounter } from './count-waits.ts'
import { reportHealth, type HealthSource } from './health-report.ts'
import type { ListUpdates } from './list-updates.ts'
import { openListUpdates } from './open-list-updates.ts'
import { taskCapacityOf } from './settings.ts'
import { traceEngine } from './trace-engine.ts'
import { serveWebhooks } from './webhook-worker.ts'

/**
 * Serves the checks of the engines, and batches if `batches` is set, and reports its health until
 * disposed. All of them are closed concurrently.
 */
export async function serve(
  context: WorkerContext,
  engines: readonly Engine<Check>[],
  { batches }: { readonly batches: boolean },
): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  // Registered until its last task has ended: tasks that it returns wait for other workers while
  // its capacity is counted.
  const listUpdates = batches ? openListUpdates(context) : undefined
  stack.use(reportHealth(context, sourcesOf(context, engines, listUpdates)))
  const served: AsyncDisposable[] = []
  stack.defer(async () => await closeTogether(served))
  const counted = createAnswerCounter(context.metrics)
  const waits = createWaitCounter(context.metrics)
  const pace = stack.use(createBulkPace())
  for (const engine of engines) {
    const traced = traceEngine(context.tracer, counted(engine))
    served.push(await serveCheck(context, traced, waits, pace))
  }
  if (listUpdates !== undefined) {
    served.push(await serveBatches(context, listUpdates), serveWebhooks(context))
  }
  return stack.move()
}

function sourcesOf(
  { settings }: WorkerContext,
  engines: readonly Engine<Check>[],
  listUpdates: ListUpdates | undefined,
): readonly HealthSource[] {
  const checks = engines.map((engine): HealthSource => ({
    kind: engine.check,
    capacity: taskCapacityOf(settings, engine.check),
    health: () => engine.health(),
  }))
  return listUpdates === undefined
    ? checks
    : [...checks, { kind: 'batch', health: () => listUpdates.health() }]
}
