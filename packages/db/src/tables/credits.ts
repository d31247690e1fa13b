import type { LedgerKind } from '@plumbline/contract/ledger'
import type { Product } from '@plumbline/contract/products'
import type { UsageSource } from '@plumbline/contract/usage'
import type { Generated, GeneratedAlways } from 'kysely'

/** Credits, written by nobody but metering. */
export interface CreditTables {
  credit_accounts: CreditAccountRow
  credit_entries: CreditEntryRow
  credit_holds: CreditHoldRow
  credit_unanswered: CreditUnansweredRow
  credit_usage: CreditUsageRow
  credit_notices: CreditNoticeRow
}

/** What an account can spend now; equals the sum of its entries. */
export interface CreditAccountRow {
  account_id: string
  allowance: number
  packs: number
  /** Counted from 0 at the anchor. */
  period_no: number
  period_start: Date
  period_end: Date
  /** Local midnight of the first day, as a time without zone. */
  anchor: string
  /** The day that the account has; over where `day_end` is past. */
  day: string | null
  day_end: Generated<Date>
  /** Debits of that day less their refunds, and what its holds set aside. */
  spent: Generated<number>
  /** What may be spent in a day; null if only the balance bounds it. */
  daily_limit: number | null
  /** Below it the account is told; null if it is not. */
  low_mark: number | null
}

/** Which move an entry of the ledger records. */
export type EntryKind = LedgerKind

/** One line of the ledger; append-only. One operation of one kind takes effect once. */
export interface CreditEntryRow {
  id: GeneratedAlways<number>
  account_id: string
  op_key: string
  kind: EntryKind
  allowance_delta: number
  packs_delta: number
  held_delta: number
  period_no: number
  /** Name of the pack, reference of the hold, reason of the refund. */
  detail: string | null
  /** What it was for; null if that is not known. */
  product: Product | null
  source: UsageSource | null
  /** The day, by the account's calendar, on which usage counts it. */
  used_on: string | null
  created_at: Generated<Date>
}

/** Credits set aside for a batch; open while `closed_at` is null. */
export interface CreditHoldRow {
  account_id: string
  ref: string
  credits: number
  /** What is left of it, by where it came from. */
  allowance_left: number
  packs_left: number
  settled: number
  released: number
  /** The cycle whose allowance it took. */
  period_no: number
  product: Product | null
  /** The day on which it was made. */
  used_on: string | null
  created_at: Generated<Date>
  closed_at: Date | null
}

/** A debit whose caller has had no answer yet. */
export interface CreditUnansweredRow {
  account_id: string
  op_key: string
  created_at: Generated<Date>
}

/** What was used of a product on a day; of batches, one row for each. */
export interface CreditUsageRow {
  account_id: string
  day: string
  product: Product
  source: UsageSource
  /** Id of the batch; empty for calls. */
  ref: string
  operations: number
  credits: number
}

/** That an account went below its low-credit mark. */
export interface CreditNoticeRow {
  account_id: string
  day: string
  available: number
  low_mark: number
  noted_at: Generated<Date>
  told_at: Date | null
}
