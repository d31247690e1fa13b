import type { Db, Tx } from '@plumbline/db/database'
import { openGroupCommit, type GroupCommit, type RETRY } from './group-commit.ts'
import { assertCredits, assertKey, runWithoutRepeats, type Operation } from './operation.ts'
import { runStatement } from './statement.ts'

/** The final state of a debit. */
export interface ClosedDebit {
  /** `answered`: the debit is final, less `given`; `unknown`: there is no such debit. */
  readonly state: 'answered' | 'refunded' | 'unknown'
  /** Credits returned. */
  readonly given: number
}

/** A debit whose call was answered. */
export interface FinalizeRequest extends Operation {
  /** Credits to refund although the call was answered; at most what was debited. */
  readonly giveBack?: number
}

/** A debit whose call was not answered. */
export interface RefundRequest extends Operation {
  /** Stored in the ledger. */
  readonly reason: string
}

/** Input of the SQL function `credit_close` for one debit. */
export interface DebitClosing extends Operation {
  readonly gives: number
  readonly kind: 'give_back' | 'refund'
  readonly detail: string | null
}

const MAX_ITEMS = 256
const MAX_RUNS = 2

/** These wait a little for others: their commits would delay debits, for which callers wait. */
const PLAIN = { maxItems: 1_024, maxRuns: 1, pauseMs: 20 } as const

/** Opens a group commit that closes debits. */
export function openClosings(db: Db): GroupCommit<DebitClosing, ClosedDebit> {
  return openGroupCommit<DebitClosing, ClosedDebit>({
    maxItems: MAX_ITEMS,
    maxRuns: MAX_RUNS,
    orderKeyOf: (closing) => closing.accountId,
    run: (closings) => runClosings(db, closings),
  })
}

/**
 * As `openClosings`, for debits closed without refund after the response: no caller waits for them.
 */
export function openPlainClosings(db: Db): GroupCommit<DebitClosing, ClosedDebit> {
  return openGroupCommit<DebitClosing, ClosedDebit>({
    ...PLAIN,
    orderKeyOf: (closing) => closing.accountId,
    run: (closings) => runPlainClosings(db, closings),
  })
}

async function runPlainClosings(
  db: Db,
  closings: readonly DebitClosing[],
): Promise<readonly (ClosedDebit | typeof RETRY)[]> {
  const [row] = await runStatement<{ ended: number }>(db, {
    name: 'metering.answered',
    text: 'select credit_answered($1, $2) as ended',
    values: [closings.map((one) => one.accountId), closings.map((one) => one.opKey)],
  })
  if (row?.ended === closings.length) return closings.map(() => ({ state: 'answered', given: 0 }))
  // Some were closed before: a repeat returns their state.
  return runClosings(db, closings)
}

async function runClosings(
  db: Db,
  closings: readonly DebitClosing[],
): Promise<readonly (ClosedDebit | typeof RETRY)[]> {
  return await runWithoutRepeats(closings, (distinct) => close(db, distinct))
}

async function close(
  db: Db | Tx,
  closings: readonly DebitClosing[],
): Promise<readonly ClosedDebit[]> {
  return runStatement<ClosedDebit>(db, {
    name: 'metering.close',
    text: 'select state, given from credit_close($1, $2, $3, $4, $5)',
    values: [
      closings.map((one) => one.accountId),
      closings.map((one) => one.opKey),
      closings.map((one) => one.gives),
      closings.map((one) => one.kind),
      closings.map((one) => one.detail),
    ],
  })
}

/** The row that closes a debit whose call was answered. */
export function finalClosing(request: FinalizeRequest): DebitClosing {
  assertKey('opKey', request.opKey)
  assertCredits(request.giveBack ?? 0, 0)
  return {
    accountId: request.accountId,
    opKey: request.opKey,
    gives: request.giveBack ?? 0,
    kind: 'give_back',
    detail: null,
  }
}

/** The row that refunds a whole debit. */
export function refundClosing(request: RefundRequest): DebitClosing {
  assertKey('opKey', request.opKey)
  return {
    accountId: request.accountId,
    opKey: request.opKey,
    // More than any debit: the amount of the debit is the limit.
    gives: Number.MAX_SAFE_INTEGER,
    kind: 'refund',
    detail: request.reason,
  }
}

/** Closes one debit in the caller's transaction. */
export async function closeIn(tx: Tx, closing: DebitClosing): Promise<ClosedDebit> {
  const [ended] = await close(tx, [closing])
  if (ended === undefined) throw new Error(`credit_close returned no row for ${closing.opKey}`)
  return ended
}
