import { quantile } from '../bench/figure.ts'
import type { RunResult } from './run-scenario.ts'

/**
 * Longest permitted time from the end of a fault until calls are answered and records are settled
 * again, in milliseconds.
 */
const RECOVER_MS = 20_000

/** The head of the table, in Markdown. */
export const TABLE_HEAD: readonly string[] = [
  '| what breaks | queue | lasted | recovered | p99 of calls | refused | dead rows | connections | wrong | lost |',
  '|---|---|---|---|---|---|---|---|---|---|',
]

/**
 * The row of a scenario: p95 of the recovery times (of fewer than twenty runs, the longest), p99 over the
 * calls of all runs, wrong charges and lost records summed over all runs, and the maximum of the rest.
 */
export function rowOf(what: string, backend: string, runs: readonly RunResult[]): string {
  const most = (of: (run: RunResult) => number): number => Math.max(...runs.map(of))
  const all = (of: (run: RunResult) => number): number =>
    runs.reduce((sum, run) => sum + of(run), 0)
  const recoverMs = recoverP95(runs)
  const callsMs = runs.flatMap((run) => run.callsMs)
  const cells = [
    `${(most(({ lastedMs }) => lastedMs) / 1_000).toFixed(1)} s`,
    Number.isFinite(recoverMs) ? `${(recoverMs / 1_000).toFixed(1)} s` : 'never',
    `${Math.round(quantile(callsMs, 0.99))} ms`,
    most(({ refused }) => refused),
    most(({ deadRows }) => deadRows),
    most(({ connections }) => connections),
    all(({ wrongCharges }) => wrongCharges.length),
    all(({ lostRecords }) => lostRecords),
  ]
  return `| ${[what, backend, ...cells].join(' | ')} |`
}

/** Whether no run has a violation, wrong charge or lost record, and p95 of the recovery times is within the limit. */
export function passes(runs: readonly RunResult[]): boolean {
  return (
    recoverP95(runs) <= RECOVER_MS &&
    runs.every(
      ({ wrongCharges, lostRecords, own }) =>
        wrongCharges.length === 0 && lostRecords === 0 && own.violations.length === 0,
    )
  )
}

/** p95 by nearest rank. */
function recoverP95(runs: readonly RunResult[]): number {
  const sorted = runs.map(({ recoverMs }) => recoverMs).toSorted((one, other) => one - other)
  return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? Number.NaN
}
