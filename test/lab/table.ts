import { quantile } from '../bench/figure.ts'
import type { Seen } from './run-scenario.ts'

/**
 * Longest time from the end of a fault until calls are answered and records are settled again, in
 * milliseconds.
 */
const RECOVER_MS = 20_000

/** The head of the table, in Markdown. */
export const TABLE_HEAD: readonly string[] = [
  '| what breaks | queue | lasted | recovered | p99 of calls | refused | dead rows | connections | wrong | lost |',
  '|---|---|---|---|---|---|---|---|---|---|',
]

/**
 * The row of a scenario: p95 of its recoveries (the longest, of fewer than twenty), p99 of the calls
 * of all runs, what is wrong and lost in all of them, and of the rest the most in one.
 */
export function rowOf(what: string, backend: string, runs: readonly Seen[]): string {
  const most = (of: (seen: Seen) => number): number => Math.max(...runs.map(of))
  const all = (of: (seen: Seen) => number): number => runs.reduce((sum, seen) => sum + of(seen), 0)
  const recoverMs = recoverP95(runs)
  const callsMs = runs.flatMap((seen) => seen.callsMs)
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

/** Whether nothing is wrong or lost, and the service recovers in time. */
export function isWell(runs: readonly Seen[]): boolean {
  return (
    recoverP95(runs) <= RECOVER_MS &&
    runs.every(
      ({ wrongCharges, lostRecords, own }) =>
        wrongCharges.length === 0 && lostRecords === 0 && own.wrong.length === 0,
    )
  )
}

/** By nearest rank. */
function recoverP95(runs: readonly Seen[]): number {
  const sorted = runs.map(({ recoverMs }) => recoverMs).toSorted((one, other) => one - other)
  return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? Number.NaN
}
