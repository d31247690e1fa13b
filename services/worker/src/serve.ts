import type { Engine } from '@plumbline/ports/engine'
import { closeTogether } from './close-together.ts'
import type { Check } from '@plumbline/contract/products'
import { serveBatches } from './batch-worker.ts'
import type { WorkerContext } from './context.ts'
import { countQueueSeconds, serveCheck } from './check-worker.ts'
import { createAnswerCounter } from './count-answers.ts'
import { reportHealth, type HealthSource } from './health-report.ts'
import { serveWebhooks } from './webhook-worker.ts'

/**
 * Serves the checks of the engines, and batches where `batches` is set, and reports its health until disposed.
 * All of them end at the same moment: each may take as long as the others.
 */
export async function serve(
  context: WorkerContext,
  engines: readonly Engine<Check>[],
  { batches }: { readonly batches: boolean },
): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  const served: AsyncDisposable[] = []
  stack.defer(async () => await closeTogether(served))
  const sources: HealthSource[] = []
  const counted = createAnswerCounter(context.metrics)
  const queueSeconds = countQueueSeconds(context.metrics)
  for (const engine of engines) {
    served.push(await serveCheck(context, counted(engine), queueSeconds))
    sources.push({ kind: engine.check, health: () => engine.health() })
  }
  if (batches) {
    served.push(await serveBatches(context), serveWebhooks(context))
    sources.push({ kind: 'batch', health: async () => [] })
  }
  stack.use(reportHealth(context, sources))
  return stack.move()
}
