import type { BatchView } from '@plumbline/contract/batch-view'

const WIDTH = 32

/** One line with the progress of a batch: bar, share, rows, state and time left. */
export function progressLine(batch: BatchView): string {
  const { progress, rows, status } = batch
  const filled = Math.round(progress * WIDTH)
  const bar = `${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}`
  const share = `${Math.floor(progress * 100)}`.padStart(3)
  const eta = batch.eta_seconds === null ? '' : `  about ${batch.eta_seconds} s left`
  return `[${bar}] ${share} %  ${rows.done}/${rows.total} rows  ${status}${eta}`
}
