import type { Db, Tx } from '@plumbline/db/database'
import {
  closeIn,
  closingOfAnswer,
  closingOfRefund,
  openClosings,
  openPlainClosings,
  type AnswerAsk,
  type Ended,
  type RefundAsk,
} from './answer.ts'
import { readBalance, readRemaining, type Balance } from './balance.ts'
import { openDebits, type DebitAnswer, type DebitAsk } from './debit.ts'

/**
 * Credits of single calls. Moves without `tx` are durable when they resolve; debits, answers and
 * refunds that wait at the same moment are committed together.
 */
export interface Metering extends AsyncDisposable {
  /**
   * Takes credits for a single call before its work; the caller must close the debit by an answer
   * or a refund.
   */
  debit(ask: DebitAsk): Promise<DebitAnswer>
  /**
   * Closes a debit whose call was answered, and refunds `giveBack` credits of it. Without a refund
   * it waits a little, to share a commit with others.
   */
  answered(ask: AnswerAsk): Promise<Ended>
  /** As `answered`, within the transaction that stores the response. */
  answer(tx: Tx, ask: AnswerAsk): Promise<Ended>
  /** Refunds a whole debit; does nothing if it was answered before. */
  refund(ask: RefundAsk): Promise<Ended>
  balance(accountId: string): Promise<Balance | undefined>
  remaining(accountId: string): Promise<number | undefined>
}

/** Opens metering over a database; disposing of it waits for pending moves and refuses new ones. */
export function createMetering(db: Db): Metering {
  const debits = openDebits(db)
  const closings = openClosings(db)
  const plainClosings = openPlainClosings(db)
  return {
    debit: (ask) => debits.ask(ask),
    answered: async (ask) => {
      const closing = closingOfAnswer(ask)
      return closing.gives > 0 ? closings.ask(closing) : plainClosings.ask(closing)
    },
    answer: async (tx, ask) => closeIn(tx, closingOfAnswer(ask)),
    refund: async (ask) => closings.ask(closingOfRefund(ask)),
    balance: (accountId) => readBalance(db, accountId),
    remaining: (accountId) => readRemaining(db, accountId),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(
        [debits, closings, plainClosings].map((commit) => commit[Symbol.asyncDispose]()),
      )
    },
  }
}
