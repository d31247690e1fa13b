import type { Db } from '@plumbline/db/database'
import type { Operation } from './operation.ts'
import { runStatement } from './statement.ts'

const SWEEP_LIMIT = 500

/**
 * Refunds debits that have been unanswered for longer than `olderThanSeconds` of database time;
 * those that another process is closing are skipped. Source: decision 12.
 *
 * @returns the refunded operations, whose idempotency keys are free again
 */
export async function sweepUnanswered(
  db: Db,
  olderThanSeconds: number,
): Promise<readonly Operation[]> {
  const swept: Operation[] = []
  for (;;) {
    const rows = await runStatement<{ account: string; op: string }>(db, {
      name: 'metering.sweep',
      text: 'select account, op from credit_sweep(make_interval(secs => $1), $2)',
      values: [olderThanSeconds, SWEEP_LIMIT],
    })
    swept.push(...rows.map((row) => ({ accountId: row.account, opKey: row.op })))
    if (rows.length < SWEEP_LIMIT) return swept
  }
}

/**
 * Starts the next billing cycle of every account whose cycle is over, so that plans and balances
 * are current even if they are not read; returns the number of accounts. Source: decision 14.
 */
export async function startDueCycles(db: Db): Promise<number> {
  let total = 0
  for (;;) {
    const rows = await runStatement<{ rolled: number }>(db, {
      name: 'metering.roll-due',
      text: 'select credit_roll_due($1) as rolled',
      values: [SWEEP_LIMIT],
    })
    const rolled = rows[0]?.rolled ?? 0
    total += rolled
    if (rolled < SWEEP_LIMIT) return total
  }
}
