import type { Product } from '@plumbline/contract/products'
import type { Db } from '@plumbline/db/database'
import type { Operation } from './operation.ts'
import { runStatement } from './statement.ts'

const SWEEP_LIMIT = 500

/** A debit that the sweep has refunded. */
export interface SweptDebit extends Operation {
  /** Null if it was made without one. */
  readonly product: Product | null
  /** Credits returned: less than the debit if allowance of an ended cycle was among them. */
  readonly given: number
}

/**
 * Refunds debits that have been unanswered for longer than `olderThanSeconds` of database time;
 * those that another process is closing are skipped. Source: decision 12.
 *
 * @returns the refunded debits, the idempotency keys of whose calls are free again
 */
export async function sweepUnanswered(
  db: Db,
  olderThanSeconds: number,
): Promise<readonly SweptDebit[]> {
  const swept: SweptDebit[] = []
  for (;;) {
    const rows = await runStatement<{ account: string; op: string }>(db, {
      name: 'metering.sweep',
      text: 'select account, op from credit_sweep(make_interval(secs => $1), $2)',
      values: [olderThanSeconds, SWEEP_LIMIT],
    })
    if (rows.length > 0) swept.push(...(await refundsOf(db, rows)))
    if (rows.length < SWEEP_LIMIT) return swept
  }
}

/** In a statement of its own, as the one that made the refunds does not see them. */
async function refundsOf(
  db: Db,
  debits: readonly { readonly account: string; readonly op: string }[],
): Promise<readonly SweptDebit[]> {
  return await runStatement<SweptDebit>(db, {
    name: 'metering.swept',
    text: `select d.account as "accountId", d.op as "opKey", e.product,
        coalesce(e.allowance_delta + e.packs_delta, 0)::bigint as given
      from unnest($1::text[], $2::text[]) with ordinality as d (account, op, n)
      left join credit_entries e
        on e.account_id = d.account and e.op_key = d.op and e.kind = 'refund'
      order by d.n`,
    values: [debits.map((one) => one.account), debits.map((one) => one.op)],
  })
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
