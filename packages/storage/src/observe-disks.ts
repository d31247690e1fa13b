import { observeDisks } from '@plumbline/runtime/disk-space'
import type { Metrics } from '@plumbline/runtime/metrics'
import { filesFolder } from './open.ts'

/**
 * Shows how much room is left on the disks of a program: where its data lies, and where files of
 * batches lie, unless those are in a store elsewhere.
 */
export function observeStores(
  metrics: Metrics,
  {
    DATA_DIR: data,
    FILES_URL,
  }: { readonly DATA_DIR: string; readonly FILES_URL?: string | undefined },
): void {
  const files = filesFolder(FILES_URL, data)
  observeDisks(metrics, files === null ? { data } : { data, files })
}
