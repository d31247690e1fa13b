import { observeDisks } from '@plumbline/runtime/disk-space'
import { filesFolder } from '@plumbline/runtime/files-url'
import type { Metrics } from '@plumbline/runtime/metrics'

/**
 * Exposes the free disk space of a program as metrics: that of its data, and that of batch files
 * unless they are in a remote store.
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
