import type { BatchView } from '@plumbline/contract/batch-view'
import { progressLine } from '@plumbline/client/progress'
import type { Shell } from './shell.ts'

/**
 * Shows the progress of a batch: one line that is redrawn on a terminal, elsewhere a line for each
 * state.
 */
export interface ProgressBar extends Disposable {
  show(batch: BatchView): void
}

/** Carriage return, then "erase in line" of ECMA-48. */
const REDRAW = '\r\u001b[2K'

/** Starts a bar on standard error; disposing of it leaves the last line. */
export function createProgressBar(shell: Shell): ProgressBar {
  let last: { readonly line: string; readonly status: string } | undefined
  return {
    show: (batch) => {
      const next = { line: progressLine(batch), status: batch.status }
      if (shell.redraws) {
        if (next.line !== last?.line) shell.tell(`${REDRAW}${next.line}`)
      } else if (next.status !== last?.status) {
        shell.tell(`${next.line}\n`)
      }
      last = next
    },
    [Symbol.dispose]: () => {
      if (shell.redraws && last !== undefined) shell.tell('\n')
    },
  }
}
