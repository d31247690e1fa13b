import type { Engine } from '@plumbline/ports/engine'
import type { Check } from '@plumbline/contract/products'
import { serveBatches } from './batch-worker.ts'
import type { WorkerContext } from './context.ts'
import { serveCheck } from './check-worker.ts'
import { reportHealth, type Reporter } from './report.ts'

/** Serves the checks of the engines, and lists where `lists` is set, and reports how it does until disposed. */
export async function serve(
  context: WorkerContext,
  engines: readonly Engine<Check>[],
  { lists }: { readonly lists: boolean },
): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  const reporters: Reporter[] = []
  for (const engine of engines) {
    stack.use(await serveCheck(context, engine))
    reporters.push({ kind: engine.check, health: () => engine.health() })
  }
  if (lists) {
    stack.use(await serveBatches(context))
    reporters.push({ kind: 'batch', health: async () => [] })
  }
  stack.use(reportHealth(context, reporters))
  const owned = stack.move()
  return { [Symbol.asyncDispose]: () => owned.disposeAsync() }
}
