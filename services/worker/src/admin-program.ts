import { checkStores } from '@plumbline/pipeline/readiness-check'
import { observeStores } from '@plumbline/storage/observe-disks'
import type { AdminProgram } from '@plumbline/runtime/admin-server'
import type { WorkerContext } from './context.ts'

/**
 * Pages of a worker's admin port: its metrics, and whether it reaches database and queue.
 *
 * @param kinds the kinds of work that the worker does
 */
export function adminProgram(context: WorkerContext, kinds: readonly string[]): AdminProgram {
  const { connections, log, metrics, settings } = context
  observeStores(metrics, settings)
  return {
    registry: metrics.registry,
    onError: (error) => log.error({ err: error }, 'a page of the admin port failed'),
    readiness: async () => {
      const checks = await checkStores(connections)
      return { ready: checks.every(({ ok }) => ok), detail: { kinds, checks } }
    },
  }
}
