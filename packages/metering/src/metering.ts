import type { Db, Tx } from '@plumbline/db/database'
import {
  closeIn,
  finalClosing,
  refundClosing,
  openClosings,
  openPlainClosings,
  type FinalizeRequest,
  type ClosedDebit,
  type RefundRequest,
} from './debit-closing.ts'
import { readBalance, readRemaining, type Balance } from './balance.ts'
import { openDebits, type DebitResult, type DebitRequest } from './debit.ts'

/**
 * Credits of single calls. Moves without `tx` are durable when they resolve; those that wait
 * at the same moment are committed together.
 */
export interface Metering extends AsyncDisposable {
  /** Takes credits for a single call before its work; the caller must finalize or refund it. */
  debit(request: DebitRequest): Promise<DebitResult>
  /**
   * Closes a debit whose call was answered, and refunds `giveBack` credits of it. Without a refund
   * it waits a little, to share a commit with others.
   */
  finalize(request: FinalizeRequest): Promise<ClosedDebit>
  /** As `finalize`, within the transaction that stores the response. */
  finalizeIn(tx: Tx, request: FinalizeRequest): Promise<ClosedDebit>
  /** Refunds a whole debit; does nothing if it was answered before. */
  refund(request: RefundRequest): Promise<ClosedDebit>
  balance(accountId: string): Promise<Balance | undefined>
  remaining(accountId: string): Promise<number | undefined>
}

/** Opens metering over a database; disposing of it waits for pending moves and refuses new ones. */
export function createMetering(db: Db): Metering {
  const debits = openDebits(db)
  const closings = openClosings(db)
  const plainClosings = openPlainClosings(db)
  return {
    debit: (request) => debits.submit(request),
    finalize: async (request) => {
      const closing = finalClosing(request)
      return closing.gives > 0 ? closings.submit(closing) : plainClosings.submit(closing)
    },
    finalizeIn: async (tx, request) => closeIn(tx, finalClosing(request)),
    refund: async (request) => closings.submit(refundClosing(request)),
    balance: (accountId) => readBalance(db, accountId),
    remaining: (accountId) => readRemaining(db, accountId),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(
        [debits, closings, plainClosings].map((commit) => commit[Symbol.asyncDispose]()),
      )
    },
  }
}
