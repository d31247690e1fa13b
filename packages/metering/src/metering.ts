import type { Pack, Plan } from '@plumbline/contract/plans'
import type { Db, Tx } from '@plumbline/db/database'
import {
  closeIn,
  closingOfAnswer,
  closingOfRefund,
  openEndings,
  openNotes,
  type AnswerAsk,
  type Ended,
  type RefundAsk,
} from './answer.ts'
import { readBalance, readPacks, readRemaining, type Balance, type PackLeft } from './balance.ts'
import { openDebits, type DebitAnswer, type DebitAsk } from './debit.ts'
import { changePlan, grantGoodwill, grantPack, type PlanChange } from './grant.ts'
import {
  hold,
  release,
  settle,
  type HoldAnswer,
  type HoldAsk,
  type ReleaseAsk,
  type SettleAsk,
} from './hold.ts'
import type { Operation } from './operation.ts'
import { rollDue, sweepUnanswered } from './sweep.ts'

/**
 * The moves of credits. Those without `tx` are durable when they settle; debits, answers and refunds
 * that wait at the same moment are committed together. Those with `tx` are the caller's transaction's;
 * in one transaction settle before release, and release or hold after everything that may wait.
 */
export interface Metering extends AsyncDisposable {
  /** Takes credits for a single call before its work; the caller must end it by an answer or a refund. */
  debit(ask: DebitAsk): Promise<DebitAnswer>
  /**
   * Ends a debit whose caller has its answer, giving back `giveBack` credits of it. Where nothing goes
   * back it takes its time, to share a commit with others.
   */
  answered(ask: AnswerAsk): Promise<Ended>
  /** The same within the transaction that keeps the answer. */
  answer(tx: Tx, ask: AnswerAsk): Promise<Ended>
  /** Gives a debit back whole; does nothing where it was answered before. */
  refund(ask: RefundAsk): Promise<Ended>
  sweepUnanswered(olderThanSeconds: number): Promise<readonly Operation[]>
  hold(tx: Tx, ask: HoldAsk): Promise<HoldAnswer>
  settle(tx: Tx, ask: SettleAsk): Promise<boolean>
  release(tx: Tx, ask: ReleaseAsk): Promise<number | undefined>
  balance(accountId: string): Promise<Balance | undefined>
  packs(accountId: string): Promise<readonly PackLeft[]>
  remaining(accountId: string): Promise<number | undefined>
  grantPack(accountId: string, pack: Pack, sourceRef: string): Promise<boolean>
  grantGoodwill(accountId: string, credits: number, sourceRef: string): Promise<boolean>
  changePlan(accountId: string, plan: Plan): Promise<PlanChange>
  rollDue(): Promise<number>
}

/** Metering over a database; disposing of it waits for what is under way and refuses what comes after. */
export function createMetering(db: Db): Metering {
  const debits = openDebits(db)
  const endings = openEndings(db)
  const notes = openNotes(db)
  return {
    debit: (ask) => debits.ask(ask),
    answered: async (ask) => {
      const closing = closingOfAnswer(ask)
      return closing.gives > 0 ? endings.ask(closing) : notes.ask(closing)
    },
    answer: async (tx, ask) => closeIn(tx, closingOfAnswer(ask)),
    refund: async (ask) => endings.ask(closingOfRefund(ask)),
    sweepUnanswered: (olderThanSeconds) => sweepUnanswered(db, olderThanSeconds),
    hold,
    settle,
    release,
    balance: (accountId) => readBalance(db, accountId),
    packs: (accountId) => readPacks(db, accountId),
    remaining: (accountId) => readRemaining(db, accountId),
    grantPack: (accountId, pack, sourceRef) => grantPack(db, accountId, pack, sourceRef),
    grantGoodwill: (accountId, credits, ref) => grantGoodwill(db, accountId, credits, ref),
    changePlan: (accountId, plan) => changePlan(db, accountId, plan),
    rollDue: () => rollDue(db),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([debits, endings, notes].map((lanes) => lanes[Symbol.asyncDispose]()))
    },
  }
}
